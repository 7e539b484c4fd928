import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Tests of the containers of encoders and decoders, type by type.
@Suite struct ContainerTests {
    private func stamp(_ time: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: 7))
    }

    // MARK: Decoding

    @Test func `all containers of a document return what those of its value return`() throws {
        var random = RandomValue(seed: 71, "containers")
        let guess = NameGuess()
        for round in 0..<25 {
            let count = random.random.below(RandomValue.strings.count + 1)
            let numbered = RandomValue.strings.shuffled(using: &random.random).prefix(count)
            let table = try #require(NameTable(Array(numbered)))
            var document = BytesDocument(nil, table)
            document.insert(random.object(depth: 2), stamp: stamp(5))
            // Counters and attachments, also beside a value.
            document.apply(
                [
                    .increment(path: [random.string()], by: .integer(2)),
                    .set(path: [random.string()], to: "token", as: .attachment),
                    .set(path: [random.string()], to: ["a", "b", "\u{E9}"]),
                ], stamp: stamp(6))
            guard case .object(var object)? = document.value else {
                Issue.record("The document exists.")
                return
            }
            let ids: [Value] = ["id", 7, ["a": 1], true]
            let id = ids[round % 4]
            let key = try DocumentID.key(of: id)
            let expected = try ValueDecoder().decode(DecodingProbe.self, from: .object(object))
            object["_id"] = id
            let whole = try ValueDecoder().decode(DecodingProbe.self, from: .object(object))
            try #require(document.bytes).withUnsafeBytes { bytes in
                let document = try EncodedDocument(bytes)
                let fields = try #require(try document.existingFields())
                let decoder = DocumentDecoder(table, guess: guess)
                let found = try decoder.decode(DecodingProbe.self, from: document)
                #expect(found.lines == expected.lines, "round \(round)")
                try key.withUnsafeBytes { key in
                    let found = try decoder.decode(DecodingProbe.self, from: fields, id: key)
                    #expect(found.lines == whole.lines, "round \(round)")
                    let value = try decoder.decode(Value.self, from: fields, id: key)
                    #expect(value == .object(object))
                }
            }
        }
    }

    /// Expects that an integer decodes exactly if it fits.
    private func checkLimits<T: FixedWidthInteger & Decodable>(_ type: T.Type) {
        let numbers: [Int64] = [
            0, 1, -1, 127, 128, -128, -129, 255, 256, 32_767, 32_768, -32_768, -32_769, 65_535,
            65_536, Int64(Int32.max), Int64(Int32.max) + 1, Int64(Int32.min), Int64(Int32.min) - 1,
            Int64(UInt32.max), Int64(UInt32.max) + 1, .max, .min,
        ]
        for number in numbers {
            do {
                let found = try ValueDecoder().decode([T].self, from: [.integer(number)])
                #expect(found.map { Int64(exactly: $0) } == [number])
                #expect(T(exactly: number) != nil, "\(number)")
            } catch DecodingError.dataCorrupted(let context) {
                #expect(T(exactly: number) == nil, "\(number)")
                #expect(context.debugDescription == "\(number) does not fit in \(type)")
                let path = context.codingPath.map(\.intValue)
                #expect(path == [0])
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    @Test func `an integer decodes as each type in which it fits`() {
        checkLimits(Int.self)
        checkLimits(Int8.self)
        checkLimits(Int16.self)
        checkLimits(Int32.self)
        checkLimits(Int64.self)
        checkLimits(UInt.self)
        checkLimits(UInt8.self)
        checkLimits(UInt16.self)
        checkLimits(UInt32.self)
        checkLimits(UInt64.self)
    }

    /// The parts of an array that a type reads in order.
    private struct Parts: Decodable, Equatable {
        var lines: [String]

        init(from decoder: any Decoder) throws {
            var array = try decoder.unkeyedContainer()
            lines = ["\(array.count ?? -1)"]
            let object = try array.nestedContainer(keyedBy: TextKey.self)
            let first = try object.decode(Int.self, forKey: TextKey("a"))
            var inner = try array.nestedUnkeyedContainer()
            let second = try inner.decode(Int.self)
            lines += ["\(first)", "\(second) \(inner.isAtEnd)"]
            let single = try array.superDecoder().singleValueContainer()
            let third = try single.decode(String.self)
            lines.append("\(third) at \(array.currentIndex)")
            let isNil = try array.decodeNil()
            lines.append("\(isNil) at \(array.currentIndex)")
            do {
                _ = try array.superDecoder()
            } catch DecodingError.valueNotFound(_, let context) {
                lines.append(context.debugDescription)
                lines += context.codingPath.map(\.stringValue)
            }
        }
    }

    @Test func `the parts of an array are read one after the other`() throws {
        let parts = try ValueDecoder().decode(
            [String: Parts].self, from: ["p": [["a": 1], [2], "three", .null]])
        #expect(
            parts["p"]?.lines == [
                "4", "1", "2 true", "three at 3", "true at 4", "the array has only 4 elements", "p",
                "Index 4",
            ])
    }

    // MARK: Encoding

    /// An instance with an optional field of each type.
    private struct Optionals: Encodable {
        var bool: Bool?
        var string: String?
        var double: Double?
        var float: Float?
        var int: Int?
        var int8: Int8?
        var int16: Int16?
        var int32: Int32?
        var int64: Int64?
        var uint: UInt?
        var uint8: UInt8?
        var uint16: UInt16?
        var uint32: UInt32?
        var uint64: UInt64?
        var array: [Int]?

        static let names = [
            "bool", "string", "double", "float", "int", "int8", "int16", "int32", "int64", "uint",
            "uint8", "uint16", "uint32", "uint64", "array",
        ]
        static let full = Optionals(
            bool: true, string: "s", double: 1.5, float: 0.25, int: -1, int8: -8, int16: -16,
            int32: -32, int64: -64, uint: 1, uint8: 8, uint16: 16, uint32: 32, uint64: 64,
            array: [1, 2])
        static let fullValue: Value = [
            "bool": true, "string": "s", "double": 1.5, "float": 0.25, "int": -1, "int8": -8,
            "int16": -16, "int32": -32, "int64": -64, "uint": 1, "uint8": 8, "uint16": 16,
            "uint32": 32, "uint64": 64, "array": [1, 2],
        ]
    }

    private struct Outer: Encodable {
        var inner = Optionals()
        var list = [Optionals()]
        var note: String?
    }

    @Test func `a field without a value is missing, or null if the encoder keeps it`() throws {
        let keeping = ValueEncoder(keepsNil: true)
        let nulls = Value.object(Object(Optionals.names.map { ($0, Value.null) }))
        #expect(try ValueEncoder().encode(Optionals()) == [:])
        #expect(try keeping.encode(Optionals()) == nulls)
        for encoder in [ValueEncoder(), keeping] {
            let value = try encoder.encode(Optionals.full)
            #expect(value.isIdentical(to: Optionals.fullValue))
        }
        // Only the fields of the outermost type are kept.
        #expect(try keeping.encode(Outer()) == ["inner": [:], "list": [[:]], "note": .null])
        #expect(try ValueEncoder().encode(Outer()) == ["inner": [:], "list": [[:]]])
    }

    /// An instance that encodes one scalar of each type into an array.
    private struct Scalars: Encodable {
        func encode(to encoder: any Encoder) throws {
            var array = encoder.unkeyedContainer()
            try array.encodeNil()
            try array.encode(true)
            try array.encode("s")
            try array.encode(1.5)
            try array.encode(0.25 as Float)
            try array.encode(-1 as Int)
            try array.encode(-8 as Int8)
            try array.encode(-16 as Int16)
            try array.encode(-32 as Int32)
            try array.encode(-64 as Int64)
            try array.encode(1 as UInt)
            try array.encode(8 as UInt8)
            try array.encode(16 as UInt16)
            try array.encode(32 as UInt32)
            try array.encode(64 as UInt64)
            try array.encode(Optionals.full.array)
            var inner = array.nestedUnkeyedContainer()
            try inner.encode(array.count)
            var object = array.nestedContainer(keyedBy: TextKey.self)
            try object.encode(false, forKey: TextKey("b"))
            try object.encode(array.count, forKey: TextKey("a"))
        }

        static let value: Value = [
            .null, true, "s", 1.5, 0.25, -1, -8, -16, -32, -64, 1, 8, 16, 32, 64, [1, 2], [17],
            ["a": 18, "b": false],
        ]
    }

    @Test func `scalars of each type are encoded alike by both encoders`() throws {
        let scalars = try ValueEncoder().encode(Scalars())
        #expect(scalars.isIdentical(to: Scalars.value))
        let names = try #require(NameTable(["int", "list"]))
        var encoder = NewDocumentEncoder()
        let first = encoder.document(encoding: Optionals.full, ValueCoding(), names)
        let fields = try #require(first)
        #expect(Value.object(fields.decoded()).isIdentical(to: Optionals.fullValue))
        let second = encoder.document(encoding: ["list": Scalars()], ValueCoding(), names)
        let list = try #require(second)
        #expect(Value.object(list.decoded()).isIdentical(to: ["list": Scalars.value]))
        let third = encoder.document(encoding: Outer(), ValueCoding(), names)
        let outer = try #require(third)
        #expect(Value.object(outer.decoded()).isIdentical(to: ["inner": [:], "list": [[:]]]))
    }
}
