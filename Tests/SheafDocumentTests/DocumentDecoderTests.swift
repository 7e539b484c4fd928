import SheafDocument
import SheafDocumentModel
import Testing

/// Decoding of types from encoded documents, and filters on them.
@Suite struct DocumentDecoderTests {
    typealias Car = CodableTests.Car

    private static let site = Site(rawValue: 7)

    private static func stamp(_ milliseconds: UInt64) -> Stamp {
        Stamp(HybridTime(milliseconds: milliseconds), site)
    }

    private func decode<T: Decodable>(
        _ type: T.Type, _ bytes: [UInt8], _ names: NameTable = NameTable()
    ) throws -> T {
        try bytes.withUnsafeBytes {
            try DocumentDecoder(names).decode(type, from: EncodedDocument($0))
        }
    }

    private static func table(_ names: [String]) throws -> NameTable {
        try #require(NameTable(names))
    }

    @Test func `types decode from documents as from values`() throws {
        let car = Car()
        guard case .object(let object) = try ValueEncoder().encode(car) else { return }
        let names = object.map(\.name) + ["name", "born", "x", "y", "k"]
        let tables = [
            NameTable(), try Self.table(names), try Self.table(names.reversed()),
            try Self.table(names.filter { $0.count % 2 == 0 }),
        ]
        for table in tables {
            let bytes = try Insertion.document(object, at: Self.stamp(1), table)
            #expect(try decode(Car.self, bytes, table) == car)
            // An older document may spell a name that has a number in the table.
            let older = try Insertion.document(object, at: Self.stamp(1), NameTable())
            #expect(try decode(Car.self, older, table) == car)
            #expect(try decode(Value.self, bytes, table) == .object(object))
            #expect(try decode([String: Value].self, bytes, table).count == object.count)
        }
    }

    @Test func `counters, tokens and removed fields decode as their visible values`() throws {
        struct Shown: Decodable, Equatable {
            var visits: Int
            var photo: String
            var gone: Int?
            var empty: Bool?
        }
        var document = BytesDocument()
        document.apply(
            [
                .increment(path: ["visits"], by: .integer(2)),
                .set(path: ["photo"], to: "token", as: .attachment),
                .set(path: ["gone"], to: 1), .set(path: ["empty"], to: .null),
            ], stamp: Self.stamp(1))
        document.apply(
            [.increment(path: ["visits"], by: .integer(3)), .unset(path: ["gone"])],
            stamp: Self.stamp(2))
        let shown = try decode(Shown.self, document.bytes ?? [])
        #expect(shown == Shown(visits: 5, photo: "token", gone: nil, empty: nil))
    }

    @Test func `a decoding error has the path in the document`() throws {
        struct Outer: Decodable {
            struct Inner: Decodable { var count: Int }
            var inner: Inner
        }
        func path(_ inner: Value) throws -> [String] {
            let bytes = try Insertion.document(
                Object([("inner", inner)]), at: Self.stamp(1), NameTable())
            switch (Result { try decode(Outer.self, bytes) }) {
            case .success: return []
            case .failure(DecodingError.typeMismatch(_, let context)):
                return context.codingPath.map(\.stringValue)
            case .failure(DecodingError.keyNotFound(let key, let context)):
                return context.codingPath.map(\.stringValue) + ["no " + key.stringValue]
            case .failure(let error): throw error
            }
        }
        #expect(try path(["count": "x"]) == ["inner", "count"])
        #expect(try path([:]) == ["inner", "no count"])
        #expect(try path(1) == ["inner"])
        #expect(try path(["count": 1]).isEmpty)
    }

    /// A type that keeps its decoder.
    private struct Keeper: Decodable {
        private enum CodingKeys: String, CodingKey { case n }

        private let decoder: any Decoder

        init(from decoder: any Decoder) throws {
            self.decoder = decoder
            _ = try readField()
        }

        func readField() throws -> Int {
            try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .n)
        }
    }

    /// Decodes a type from a document, or from its fields and its id.
    ///
    /// With `isLate`, the decoder is used once more, while the bytes still exist.
    static func decodeKeeper(fromFields: Bool, isLate: Bool) throws {
        let bytes = try Insertion.document(["n": 1], at: stamp(1), NameTable())
        let id = try DocumentID.key(of: 5)
        try bytes.withUnsafeBytes { bytes in
            let document = try EncodedDocument(bytes)
            let fields = try #require(try document.existingFields())
            try id.withUnsafeBytes { id in
                let decoder = DocumentDecoder(NameTable())
                let keeper =
                    try fromFields
                    ? decoder.decode(Keeper.self, from: fields, id: id)
                    : decoder.decode(Keeper.self, from: document)
                if isLate { _ = try keeper.readField() }
            }
        }
    }

    @Test func `a decoder that a type keeps traps after the type is decoded`() async throws {
        try Self.decodeKeeper(fromFields: true, isLate: false)
        try Self.decodeKeeper(fromFields: false, isLate: false)
        await #expect(processExitsWith: .failure) {
            try DocumentDecoderTests.decodeKeeper(fromFields: true, isLate: true)
        }
        await #expect(processExitsWith: .failure) {
            try DocumentDecoderTests.decodeKeeper(fromFields: false, isLate: true)
        }
    }

    @Test func `decoding a corrupted document does not trap`() throws {
        guard case .object(let object) = try ValueEncoder().encode(Car()) else { return }
        let names = try Self.table(object.map(\.name))
        let whole = try Insertion.document(object, at: Self.stamp(1), names)
        for index in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[index] ^= 1 << UInt8(bit)
                _ = try? decode(Car.self, bytes, names)
            }
            _ = try? decode(Car.self, Array(whole[..<index]), names)
        }
    }

    @Test func `a filter accepts just the documents whose values satisfy its comparisons`() throws {
        let names = try Self.table(["mileage", "color"])
        for table in [names, NameTable()] {
            let test = FieldFilter.all([
                .compare(FieldPath(["color"], in: table), .equal, "blue", table),
                .compare(FieldPath(["mileage"], in: table), .greater, 5_000, table),
            ])
            let cars: [(Value, Value, Bool)] = [
                ("blue", 5_001, true), ("blue", 5_000, false), ("blues", 9_000, false),
                ("red", 9_000, false), ("blue", .float(5_000.5), true), ("blue", "9000", false),
                (.null, 9_000, false), ("blue", .integer(.min), false), ("blue", 100_000, true),
            ]
            for (color, mileage, expected) in cars {
                let bytes = try Insertion.document(
                    Object([("color", color), ("mileage", mileage)]), at: Self.stamp(1), table)
                #expect(try bytes.withUnsafeBytes { try test.accepts($0) } == expected)
            }
            let empty = try Insertion.document(Object(), at: Self.stamp(1), table)
            #expect(try !empty.withUnsafeBytes { try test.accepts($0) })
        }
    }
}
