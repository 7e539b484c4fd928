import SheafBytes
import SheafDocument
import Testing

/// Tests of the error and the offset for each violation of the format, in documents made by hand.
@Suite struct MalformedDocumentTests {
    private static let k = UInt8(ascii: "k")
    /// The root with the field `k`, which is 5.
    private static let root: [UInt8] = [0x8E, 0, 1, k, 4, 5, 4, 1, 0, 0x08]

    /// Returns a header with sites and their times, and the given bytes after the sites.
    private func header(
        _ flags: UInt8, _ sites: [(site: UInt64, time: UInt64)], _ more: [UInt8] = []
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.write([flags, UInt8(3 + 16 * sites.count + more.count), UInt8(sites.count)])
        for (site, time) in sites {
            writer.write(site)
            writer.write(time)
        }
        writer.write(more)
        return writer.bytes
    }

    /// Returns the bytes of a site index and a time.
    private func stamp(_ index: UInt16, _ time: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(index)
        writer.write(time)
        return writer.bytes
    }

    private func all(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

    private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    private func refusal(
        _ bytes: [UInt8], _ read: (EncodedDocument) throws -> Void
    ) -> Malformed? {
        do {
            try bytes.withUnsafeBytes { try read(EncodedDocument($0)) }
            return nil
        } catch {
            return error as? Malformed
        }
    }

    @Test func `the first bytes of a document are checked before it is read`() {
        let wide: [UInt8] = [0x08, 9, 0, 0, 0, 0, 0, 0, 0]
        let cases: [(bytes: [UInt8], error: Malformed?)] = [
            ([], .truncated(at: 0)), ([0, 3, 0], .truncated(at: 0)), ([0, 3, 0, 23], nil),
            ([0x40, 3, 0, 23], .unexpected(0x40, at: 0)),
            ([0x80, 3, 0, 23], .unexpected(0x80, at: 0)),
            ([0x30, 3, 0, 23], .unexpected(0x30, at: 0)), ([0x20, 3, 0, 23], nil),
            ([0, 2, 0, 23], .truncated(at: 1)), ([0, 4, 0, 23], .truncated(at: 1)),
            (wide, .truncated(at: 1)), (all(wide, [23]), nil),
            ([0x08, 10, 0, 0, 0, 0, 0, 0, 0, 23], .truncated(at: 1)),
            ([0x08, 2, 0, 0, 0, 0, 0, 0, 0, 23], .truncated(at: 1)),
        ]
        for (bytes, error) in cases {
            let found = refusal(bytes) { _ in }
            #expect(found == error, "\(bytes)")
        }
    }

    @Test func `a malformed header is refused at the offset of its first wrong entry`() {
        let one: [(site: UInt64, time: UInt64)] = [(7, 10)]
        let two: [(site: UInt64, time: UInt64)] = [(7, 10), (8, 20)]
        let notEarlier = "a base not earlier than its site's time"
        let uncovered = "a deletion not covered by the version vector"
        let notOlder = "a stamp that is not older, or a duplicate"
        let cases: [(header: [UInt8], error: Malformed?)] = [
            (header(0, one), nil), (header(0, two), nil),
            ([0, 3, 1], .truncated(at: 19)),
            (all([0, 18, 1], zeros(15)), .truncated(at: 19)),
            (header(0, one, [0]), .truncated(at: 19)),
            (header(0, [(0, 10)]), .invalid("a zero site", at: 3)),
            (header(0, [(7, 0)]), .invalid("a zero time", at: 11)),
            (header(0, [(7, 10), (8, 0)]), .invalid("a zero time", at: 27)),
            (header(0, [(7, 10), (7, 20)]), .invalid("a site out of order", at: 19)),
            (header(0, [(7, 10), (8, 20), (6, 30)]), .invalid("a site out of order", at: 35)),
            // The base: the number of its entries, then a site and a time for each.
            (header(2, one), .truncated(at: 19)),
            (header(2, one, [1]), .truncated(at: 30)),
            (header(2, one, all([1], stamp(0, 9))), nil),
            (header(2, one, all([1], stamp(0, 10))), .invalid(notEarlier, at: 20)),
            (header(2, one, all([1], stamp(1, 9))), .tooLong(at: 20, length: 1, limit: 1)),
            (header(2, two, all([2], stamp(0, 9), stamp(1, 0))), nil),
            (
                header(2, two, all([2], stamp(1, 19), stamp(0, 9))),
                .invalid(notEarlier, at: 46)
            ),
            (
                header(2, two, all([2], stamp(1, 19), stamp(1, 18))),
                .invalid(notEarlier, at: 46)
            ),
            // The stamp of a deletion.
            (header(4, one), .truncated(at: 29)),
            (header(4, one, stamp(0, 10)), nil), (header(4, one, stamp(0, 1)), nil),
            (header(4, one, stamp(0, 11)), .invalid(uncovered, at: 19)),
            (header(4, one, stamp(0, 0)), .invalid(uncovered, at: 19)),
            (header(4, two, stamp(2, 1)), .tooLong(at: 35, length: 2, limit: 2)),
            // Older stamps, which the entries refer to.
            (header(0, one, stamp(0, 10)), .invalid(notOlder, at: 19)),
            (header(0, one, stamp(0, 0)), .invalid(notOlder, at: 19)),
            (header(0, one, all(stamp(0, 4), stamp(0, 4))), .invalid(notOlder, at: 29)),
            (header(0, one, all(stamp(0, 4), stamp(1, 4))), .tooLong(at: 29, length: 1, limit: 1)),
        ]
        for (header, expected) in cases {
            let found = refusal(header + Self.root) { document in
                _ = try document.baseVector()
                _ = try document.deletion()
                // Without references to them, older stamps would be refused.
                if expected != nil { try document.validate(NameTable()) }
            }
            #expect(found == expected, "\(header)")
        }
    }

    @Test func `a document has at most 65,535 sites`() {
        func document(_ count: UInt32) -> [UInt8] {
            var writer = ByteWriter()
            writer.write(UInt8(0x08))
            writer.write(UInt32(9))
            writer.write(count)
            writer.write(UInt8(23))
            return writer.bytes
        }
        let read = { (document: EncodedDocument) throws in _ = try document.header() }
        #expect(refusal(document(0), read) == nil)
        #expect(refusal(document(65_535), read) == .truncated(at: 9 + 16 * 65_535))
        #expect(
            refusal(document(65_536), read) == .tooLong(at: 2, length: 65_536, limit: 65_535))
    }

    @Test func `a root that is no map is refused where it begins`() {
        let cases: [(root: [UInt8], error: Malformed)] = [
            ([4, 5], .unexpected(4, at: 19)), ([12, 0, 0], .unexpected(12, at: 19)),
            ([24, 0], .unexpected(24, at: 19)), ([20, 1, 4], .unexpected(20, at: 19)),
            ([20, 1, 16, 0], .unexpected(20, at: 19)), ([20], .unexpected(20, at: 19)),
            ([0x8E], .truncated(at: 19)), ([0x8E, 0], .truncated(at: 21)),
            ([15], .truncated(at: 20)), ([15, 0], .truncated(at: 21)),
        ]
        for (root, error) in cases {
            let found = refusal(header(0, [(7, 10)]) + root) { _ = try $0.fields() }
            #expect(found == error, "\(root)")
        }
        let none = refusal(header(0, [(7, 10)]) + [23]) { _ = try $0.fields() }
        #expect(none == nil)
        // The mark of the root refers to a stamp.
        let missing = header(0, [(7, 10)]) + [0x8E, 5] + Self.root.dropFirst(2)
        let error = refusal(missing) { try $0.validate(NameTable()) }
        #expect(error == .tooLong(at: 19, length: 5, limit: 1))
    }

    /// The fields of the root begin at offset 21.
    @Test func `a malformed object is refused where its bytes end, or at its wrong field`() {
        let field: [UInt8] = [1, Self.k, 4, 5]
        let cases: [(fields: [UInt8], error: Malformed?)] = [
            ([0x08], .truncated(at: 22)), ([0, 0x08], .truncated(at: 23)),
            (all(field, [4, 1, 0, 0x08]), nil),
            (all(field, [4, 1, 0, 0x88]), .unexpected(0x88, at: 28)),
            (all(field, [4, 1, 0, 0x0B]), .unexpected(0x0B, at: 28)),
            // Counts of four bytes.
            (all(zeros(7), [0x18]), .truncated(at: 29)),
            (all(zeros(8), [0x18]), nil),
            (all(zeros(3), [0x10]), .truncated(at: 25)),
            (all(zeros(4), [0x10]), nil),
            (all(field, [4, 1, 0, 0, 0, 0, 0, 0, 0, 0x18]), nil),
            (all(field, [4, 1, 0, 0, 1, 0, 0, 0, 0, 0x18]), .truncated(at: 35)),
            // More fields than bytes for their ends.
            (all(field, [4, 6, 0, 0x08]), .truncated(at: 29)),
            (all(field, [4, 5, 0, 0x08]), .truncated(at: 21)),
            // Ends that leave a field empty, or exceed the contents.
            (all(field, [0, 1, 0, 0x08]), .truncated(at: 21)),
            (all(field, [5, 1, 0, 0x08]), .truncated(at: 21)),
            (all(field, field, [4, 4, 2, 0, 0x08]), .truncated(at: 25)),
            (all(field, field, [4, 9, 2, 0, 0x08]), .truncated(at: 25)),
            // Ends of two and four bytes.
            (all(field, [4, 0, 1, 0, 0x09]), nil),
            (all(field, [4, 1, 1, 0, 0x09]), .truncated(at: 21)),
            (all(field, [4, 0, 0, 0, 1, 0, 0x0A]), nil),
            (all(field, [4, 0, 1, 0, 1, 0, 0x0A]), .truncated(at: 21)),
            // Names that are longer than their field, or fill it.
            ([3, Self.k, 4, 5, 4, 1, 0, 0x08], .truncated(at: 25)),
            ([4, Self.k, 4, 5, 4, 1, 0, 0x08], .truncated(at: 21)),
            ([1, 0xFF, 4, 5, 4, 1, 0, 0x08], .notText(at: 21)),
            ([0x80, 0, 4, 5, 4, 1, 0, 0x08], .varint(at: 21)),
        ]
        for (fields, error) in cases {
            let bytes = header(0, [(7, 10)]) + [0x8E, 0] + fields
            let found = refusal(bytes) { _ = try $0.value(NameTable()) }
            #expect(found == error, "\(fields)")
        }
    }

    /// The name at offset 21 has one letter, so the entry begins at offset 23.
    @Test func `a malformed entry is refused at its tag, or where its payload ends`() {
        let cases: [(entry: [UInt8], error: Malformed?)] = [
            ([24], .unexpected(24, at: 23)), ([0x7F, 0], .unexpected(0x7F, at: 23)),
            ([1], nil), ([4], .truncated(at: 23)), ([4, 1, 1], .truncated(at: 23)),
            ([5, 1], .truncated(at: 23)), ([5, 1, 1], nil), ([6, 1, 1], .truncated(at: 23)),
            ([7, 1, 1, 1, 1], .truncated(at: 23)), ([8, 1, 1, 1, 1], .truncated(at: 23)),
            ([9], nil), ([9, 0xFF], .notText(at: 23)), ([10, 0xFF], nil),
            // The reference of an entry.
            ([0x84], .truncated(at: 23)), ([0x84, 0], .truncated(at: 23)), ([0x84, 0, 5], nil),
            // Arrays: elements, their ends, their number, and the width of the ends.
            ([11, 0], .truncated(at: 25)), ([11, 0, 0], nil), ([11, 0, 4], .unexpected(4, at: 25)),
            ([11, 0, 3], .unexpected(3, at: 25)), ([11, 0, 0x10], .truncated(at: 26)),
            ([11, 0, 0, 0, 0, 0x10], nil), ([11, 1, 0], .truncated(at: 26)),
            ([11, 0, 1, 0], .truncated(at: 24)), ([11, 4, 5, 2, 1, 0], nil),
            ([11, 4, 5, 3, 1, 0], .truncated(at: 24)),
            ([11, 4, 5, 4, 6, 2, 2, 2, 0], .truncated(at: 26)),
            ([11, 4, 5, 4, 6, 2, 5, 2, 0], .truncated(at: 26)),
            ([11, 4, 5, 4, 6, 2, 4, 2, 0], nil), ([11, 4, 5, 2, 0, 1, 1], nil),
            ([11, 4, 5, 2, 0, 0, 0, 1, 2], nil),
            ([11, 4, 5, 2, 0, 1, 0, 1, 2], .truncated(at: 24)),
            ([11, 13, 1, 2, 1, 0], .unexpected(13, at: 24)),
            // Objects and tokens.
            ([12, 0], .truncated(at: 25)), ([12, 0, 0], nil), ([13], .truncated(at: 24)),
            ([13, 9, 0x61], nil), ([13, 13], .unexpected(13, at: 24)),
            // Several entries, each after its length.
            ([20, 0], .truncated(at: 24)), ([20, 2, 4], .truncated(at: 24)),
            ([20, 2, 4, 5, 0], nil), ([20, 2, 21, 1, 2, 4, 5], nil),
            ([20, 2, 21, 1, 0], .truncated(at: 27)), ([20, 0x80], .truncated(at: 24)),
        ]
        for (entry, error) in cases {
            let fields = [1, Self.k] + entry + [UInt8(2 + entry.count), 1, 0, 0x08]
            let bytes = header(0, [(7, 10)]) + [0x8E, 0] + fields
            let found = refusal(bytes) { _ = try $0.value(NameTable()) }
            #expect(found == error, "\(entry)")
        }
    }

    @Test func `a number that no name has is refused with the count of the names`() throws {
        let bytes = header(0, [(7, 10)]) + [0x8E, 0, 4, 5, 2, 3, 1, 0]
        for count in 0...4 {
            let names = try #require(NameTable((0..<count).map { "name \($0)" }))
            let found = refusal(bytes) { _ = try $0.value(names) }
            let expected = Malformed.tooLong(at: 24, length: 3, limit: UInt64(count))
            #expect(found == (count < 4 ? expected : nil))
        }
    }
}
