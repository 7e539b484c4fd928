import SheafBytes
import SheafDocument
import Testing

/// Documents that no encoder writes, made byte by byte.
@Suite struct CraftedDocumentTests {
    /// A container that has containers of its kind; `prefix` precedes each one within.
    private struct Container {
        let prefix: [UInt8]
        let suffix: [UInt8]
        let empty: [UInt8]

        /// A map without a mark; the name of its field is spelled out.
        static let bareMap = Container(
            prefix: [15, 1, k], suffix: [1, 0, 0x09], empty: [15, 0, 0])
        /// A map with a mark of the first site.
        static let map = Container(
            prefix: [0x8E, 0, 1, k], suffix: [1, 0, 0x49], empty: [0x8E, 0, 0, 0])
        static let object = Container(
            prefix: [12, 1, k], suffix: [1, 0, 0x09], empty: [12, 0, 0])
        static let array = Container(prefix: [11], suffix: [1, 0x01], empty: [11, 0, 0])

        private static let k = UInt8(ascii: "k")

        /// The number of bytes of the prefix that belong to the content, as the name of a field.
        var nameLength: Int { prefix.last == Self.k ? 2 : 0 }

        /// Returns an entry with this number of levels, each with the next one as its only content.
        func nested(_ levels: Int) -> [UInt8] {
            var entry = empty
            for _ in 1..<levels {
                let end = nameLength + entry.count
                let ends = [UInt8(end & 0xFF), UInt8(end >> 8)]
                entry = prefix + entry + ends + suffix
            }
            return entry
        }
    }

    /// Offset of the field in a document of one site.
    private static let fieldStart = 19 + 2 + 2

    /// Returns a document with one field.
    private func document(_ field: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.write([0, 19, 1])
        writer.write(UInt64(7))
        writer.write(UInt64(10))
        writer.write([0x8E, 0, 1, UInt8(ascii: "k")])
        writer.write(field)
        writer.write(UInt16(2 + field.count))
        writer.write([1, 0, 0x49])
        return writer.bytes
    }

    /// Returns the outcome of reading the field of a document.
    private func read(
        _ document: [UInt8], _ hasValue: (EncodedEntry) throws(Malformed) -> Bool
    ) -> Result<Bool, Malformed> {
        document.withUnsafeBytes { bytes -> Result<Bool, Malformed> in
            do throws(Malformed) {
                guard let fields = try EncodedDocument(bytes).fields() else {
                    return .success(false)
                }
                return .success(try hasValue(try fields.entry(0)))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test func `an invisible map is searched for content down to the maximum depth`() {
        let container = Container.bareMap
        let shows = { (entry: EncodedEntry) throws(Malformed) -> Bool in try entry.shown() != nil }
        for levels in [1, 2, 63] {
            #expect(read(document(container.nested(levels)), shows) == .success(false))
        }
        let offset = Self.fieldStart + 63 * container.prefix.count
        for levels in [64, 65] {
            #expect(
                read(document(container.nested(levels)), shows)
                    == .failure(.tooDeep(at: offset, limit: 64)))
        }
    }

    @Test func `a value is read down to the maximum depth`() {
        let hasValue = { (entry: EncodedEntry) throws(Malformed) -> Bool in
            try entry.value(NameTable()) != nil
        }
        for container in [Container.map, .object, .array] {
            for levels in [1, 2, 64] {
                #expect(read(document(container.nested(levels)), hasValue) == .success(true))
            }
            let offset = Self.fieldStart + 64 * container.prefix.count
            for levels in [65, 66] {
                #expect(
                    read(document(container.nested(levels)), hasValue)
                        == .failure(.tooDeep(at: offset, limit: 64)))
            }
        }
    }

    /// Returns a document of two sites with the map `k.m`, whose only field refers to a stamp.
    ///
    /// The last byte of the map shows whether it has references; if not, a join copies it as it is.
    private func document(reference: UInt8, isAnnounced: Bool) -> [UInt8] {
        var writer = ByteWriter()
        writer.write([0, 35, 2])
        for (site, time) in [(1, 10), (2, 20)] as [(UInt64, UInt64)] {
            writer.write(site)
            writer.write(time)
        }
        let inner: [UInt8] = [1, UInt8(ascii: "x"), 0x84, reference, 5]
        let middle = field("m", [15] + inner + ends(of: inner, flags: isAnnounced ? 0x48 : 0x08))
        let outer = field("k", [15] + middle + ends(of: middle, flags: 0x48))
        writer.write([0x8E, 0])
        writer.write(outer)
        writer.write(ends(of: outer, flags: 0x48))
        return writer.bytes
    }

    private func field(_ name: Unicode.Scalar, _ entry: [UInt8]) -> [UInt8] {
        [1, UInt8(ascii: name)] + entry
    }

    /// Returns the bytes after the content of a map of one field.
    private func ends(of content: [UInt8], flags: UInt8) -> [UInt8] {
        [UInt8(content.count), 1, 0, flags]
    }

    /// A delta of a third site, with a number at `k`.
    private var delta: [UInt8] {
        var writer = ByteWriter()
        writer.write([1, 19, 1])
        writer.write(UInt64(3))
        writer.write(UInt64(30))
        writer.write([15, 1, UInt8(ascii: "k"), 0x84, 0, 7, 5, 1, 0, 0x68])
        return writer.bytes
    }

    @Test func `a join refuses a reference to a missing stamp in a map that hides it`() {
        for isAnnounced in [true, false] {
            #expect(joinError(document(reference: 1, isAnnounced: isAnnounced), delta) == nil)
        }
        // The joined document has three sites and no older stamps.
        let error = joinError(document(reference: 200, isAnnounced: false), delta)
        #expect(error == .malformed(.tooLong(at: 0, length: 200, limit: 3)))
    }

    private func joinError(_ left: [UInt8], _ right: [UInt8]) -> DocumentError? {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right -> DocumentError? in
                do throws(DocumentError) {
                    _ = try Join.join(left, right, NameTable(), base: nil)
                    return nil
                } catch {
                    return error
                }
            }
        }
    }
}
