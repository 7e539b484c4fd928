import SheafBytes
import SheafDocument
import SheafDocumentModel
import Testing

/// What validation takes, beyond what vectors and histories say of it.
@Suite struct ValidationTests {
    private func stamp(_ time: UInt64, _ site: UInt64 = 1) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: site))
    }

    @Test func `seeds may stand beside a map that is overridden, but not below it`() throws {
        var document = BytesDocument()
        document.insertInitial(.of(("b", 1)))
        var other = BytesDocument()
        other.insertInitial(.of(("b", ["x": 2])))
        document = document.joined(with: other)
        document.apply([.unset(path: ["b"], parts: .map)], stamp: stamp(2))
        #expect(document.mistake == nil)
        #expect(document.value == ["b": 1])
    }

    @Test func `arrays as deep as the limit get other names, too`() throws {
        // The root is one level, and so is each array.
        let deepest = (1..<Value.maximumDepth).reduce(Value.integer(1)) { value, _ in
            .array([value])
        }
        var document = BytesDocument()
        document.apply([.set(path: ["a"], to: deepest)], stamp: stamp(1))
        #expect(document.mistake == nil)
        let names = try #require(NameTable(["a"]))
        let renamed = document.read { try $0?.renamed(from: NameTable(), to: names) }
        #expect(BytesDocument(renamed, names).value == document.value)
    }

    /// Who makes documents by hand may give one counter as many sums as there can be sites.
    @Test(.timeLimit(.minutes(1)))
    func `a counter with the sums of many sites takes no longer than each of them`() throws {
        let bytes = counter(siteCount: 8_000)
        let document = BytesDocument(bytes)
        #expect(document.mistake == nil)
        #expect(document.value == ["k": 7_999])
        #expect(document.joined(with: document) == document)
        var edited = document
        edited.apply([.increment(path: ["k"], by: .integer(1))], stamp: stamp(11, 3))
        #expect(edited.value == ["k": 8_000] && edited.joined(with: document) == edited)
    }

    /// A document with one counter, to which all sites but the first have added 1.
    private func counter(siteCount: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(UInt8(0x18))
        writer.write(UInt32(9 + 16 * siteCount))
        writer.write(UInt32(siteCount))
        for site in 1...siteCount {
            writer.write(UInt64(site))
            writer.write(UInt64(10))
        }
        writer.write([0x8E, 0, 0])
        let start = writer.count
        writer.write([1, UInt8(ascii: "k"), 20])
        for index in (1..<siteCount).reversed() {
            writer.write([7, 18 | 0x80])
            writer.write(UInt16(index))
            writer.write([0xFF, 0xFF, 4, 1])
        }
        let length = writer.count - start
        if length > 0xFFFF { writer.write(UInt32(length)) } else { writer.write(UInt16(length)) }
        writer.write([1, 0, length > 0xFFFF ? 0x4A : 0x49])
        return writer.bytes
    }
}
