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
}
