import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Validation of documents, in addition to the vectors and histories.
@Suite struct ValidationTests {
    private func stamp(_ time: UInt64, _ site: UInt64 = 1) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: site))
    }

    @Test func `a seed survives the removal of the map at its name, in a valid document`() throws {
        var document = BytesDocument()
        document.insertInitial(.of(("b", 1)))
        var other = BytesDocument()
        other.insertInitial(.of(("b", ["x": 2])))
        document = document.joined(with: other)
        document.apply([.unset(path: ["b"], parts: .map)], stamp: stamp(2))
        #expect(document.mistake == nil)
        #expect(document.value == ["b": 1])
    }

    @Test func `names are translated in a document with arrays of the maximum depth`() throws {
        // The root and each array count as one level.
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

    /// A crafted document may have a counter with as many sums as sites.
    @Test func `a counter with 8,000 sums is read, joined and edited in a minute of CPU`() throws {
        let start = ThreadTime.microseconds()
        let bytes = counter(siteCount: 8_000)
        let document = BytesDocument(bytes)
        #expect(document.mistake == nil)
        #expect(document.value == ["k": 7_999])
        #expect(document.joined(with: document) == document)
        var edited = document
        edited.apply([.increment(path: ["k"], by: .integer(1))], stamp: stamp(11, 3))
        #expect(edited.value == ["k": 8_000] && edited.joined(with: document) == edited)
        #expect(ThreadTime.microseconds() - start < 60_000_000)
    }

    /// Returns a document with one counter, to which all sites but the first have added 1.
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

    /// The encoder refuses a document that is too long, so a value of a valid document is extended.
    @Test func `a valid document has at most the maximum length`() throws {
        var object = Object()
        object["k"] = .bytes([UInt8](repeating: 7, count: 1 << 17))
        let short = try Insertion.document(object, at: stamp(1), NameTable())
        // The end of the field, in four bytes, precedes two counts and the flags.
        let endAt = short.count - 7
        let end = short[endAt..<endAt + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        let limit = EncodedDocument.maximumLength
        for length in [limit, limit + 1] {
            let added = length - short.count
            var bytes = Array(short[..<endAt])
            bytes += [UInt8](repeating: 7, count: added)
            bytes += short[endAt...]
            for index in 0..<4 {
                let byte = UInt8(truncatingIfNeeded: (end + added) >> (8 * index))
                bytes[endAt + added + index] = byte
            }
            let found = refusal(of: bytes)
            let expected: Malformed? =
                length == limit
                ? nil : .tooLong(at: 0, length: UInt64(length), limit: UInt64(limit))
            #expect(found == expected)
        }
    }

    /// Returns the error with which a document is refused; nil if it is valid.
    private func refusal(of bytes: [UInt8]) -> Malformed? {
        bytes.withUnsafeBytes { bytes -> Malformed? in
            do throws(Malformed) {
                try EncodedDocument(bytes).validate(NameTable())
                return nil
            } catch {
                return error
            }
        }
    }

    /// Most documents take the fast path, which must not accept more than the full validation.
    @Test func `the fast path of validation agrees with the full validation`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("fast path of validation, seed \(seed)")
        var random = SeededRandom(seed: seed, "short validation")
        var valid = 0
        for _ in 0..<2_000 {
            var object = Object()
            for _ in 0..<random.below(12) {
                let name = [
                    "a", "b", "\u{E9}", "a long name of a field", "n\(random.below(300))", "",
                ]
                object[name[random.below(name.count)]] = plainValue(&random, depth: 1)
            }
            let names =
                random.chance(1, in: 2)
                ? NameTable() : try #require(NameTable(["a", "n7", "n200", "f0", "f1", "", "b"]))
            var bytes = try Insertion.document(
                object, at: stamp(UInt64(1 + random.below(9))), names)
            for edit in 0..<random.below(4) {
                let path = [["a"], ["n7"], ["n200", "f1"], ["b"]][random.below(4)]
                let value = plainValue(&random, depth: 2)
                let time = stamp(UInt64(20 + edit), UInt64(1 + random.below(3)))
                bytes = try edited(bytes, .set(path: path, to: value), at: time, names)
            }
            for round in 0..<8 {
                var bytes = bytes
                for _ in 0..<round {
                    bytes[random.below(bytes.count)] = UInt8(random.below(256))
                }
                let (short, long) = bytes.withUnsafeBytes { bytes in
                    (
                        (try? EncodedDocument(bytes).validate(names)) != nil,
                        (try? EncodedDocument(bytes).validateThoroughly(names)) != nil
                    )
                }
                #expect(short == long, "\(bytes)")
                if long { valid += 1 }
            }
        }
        #expect(valid > 2_000)
    }

    /// Returns a state with an edit applied.
    private func edited(
        _ bytes: [UInt8], _ edit: Edit, at stamp: Stamp, _ names: NameTable
    ) throws -> [UInt8] {
        let joined = try bytes.withUnsafeBytes { bytes -> [UInt8]? in
            let document = try EncodedDocument(bytes)
            let delta = try DocumentEditor.delta(of: [edit], in: document, at: stamp, names)
            return try delta?.bytes.withUnsafeBytes { delta in
                try Join.join(document, try EncodedDocument(delta), names)
            }
        }
        return try (joined ?? bytes).withUnsafeBytes {
            try EncodedDocument($0).settingBase(nil)
        }
    }

    private func plainValue(_ random: inout SeededRandom, depth: Int) -> Value {
        switch random.below(depth > 3 ? 8 : 11) {
        case 0: return .null
        case 1: return .bool(random.chance(1, in: 2))
        case 2: return .integer(Int64(random.below(300)) - 150)
        case 3:
            return .integer(Int64(truncatingIfNeeded: random.next() >> UInt64(random.below(64))))
        case 4: return .float(Double(random.below(1_000)) / 8)
        case 5: return .string(String(repeating: "text", count: random.below(100)))
        case 6: return .string(["", "\u{E9}\u{1F600}", "a\0b"][random.below(3)])
        case 7: return .bytes(Array(repeating: 200, count: random.below(300)))
        case 8: return .array([plainValue(&random, depth: depth + 1)])
        default:
            var object = Object()
            for number in 0..<random.below(4) {
                object["f\(number)"] = plainValue(&random, depth: depth + 1)
            }
            return .object(object)
        }
    }
}
