import Foundation
import SheafBytes
import SheafDocument
import SheafTestSupport
import Testing

/// Sequential encoding of instances, compared with `ValueEncoder`.
@Suite struct SequentialEncodingTests {
    private let stamp = Stamp(
        HybridTime(milliseconds: 1_700_000_000_000, counter: 3), Site(rawValue: 0xABCD))
    private let names = NameTable(["a", "b", "", "f", "café", "make", "owners"]) ?? NameTable()

    /// Returns the state of an instance by way of its value; nil if it is no object.
    private func expected(_ source: some Encodable) throws -> [UInt8]? {
        guard case .object(var object) = try ValueEncoder().encode(source) else { return nil }
        object["_id"] = nil
        return try Insertion.document(object, at: stamp, names)
    }

    /// Expects the same document as by way of a value.
    private func check(_ source: some Encodable, _ comment: Comment? = nil) throws {
        var encoder = NewDocumentEncoder()
        let found = encoder.document(encoding: source, ValueCoding(), names)
        let document = try #require(found, comment)
        #expect(document.state(at: stamp).bytes == (try expected(source)), comment)
        let value = try ValueEncoder().encode(source)
        #expect(Value.object(document.decoded()).json == value.json, comment)
        #expect(document.id == value["_id"], comment)
    }

    /// Whether an instance needs `ValueEncoder`.
    private func needsValueEncoding(_ source: some Encodable) -> Bool {
        var encoder = NewDocumentEncoder()
        return encoder.document(encoding: source, ValueCoding(), names) == nil
    }

    // MARK: Instances of any shape

    @Test(arguments: [UInt64](1...8))
    func `random instances encode to the same bytes as their values`(_ seed: UInt64) throws {
        var random = RandomValue(seed: seed, "direct")
        var encoder = NewDocumentEncoder()
        for round in 0..<400 {
            let source = RandomShape(random.object(depth: 5), style: random.random.next())
            let expected = try expected(source)
            let found = encoder.document(encoding: source, ValueCoding(), names)
            // The encoder is used again after instances of other shapes.
            let value = try ValueEncoder().encode(source)
            #expect(
                found?.state(at: stamp).bytes == expected,
                "seed \(seed), round \(round): \(value.json)")
            #expect(found?.mayHaveTokens == false)
        }
    }

    @Test func `common types encode to the same bytes as their values`() throws {
        try check(CodableTests.Car())
        try check(["b": 1, "a": 2, "_id": 3])
        try check([String: Int]())
        try check(["dates": [Date(timeIntervalSince1970: 0.5)], "other": []])
        try check(["sum": Decimal(string: "12.50"), "none": nil])
        try check(["id": UUID(), "other": UUID()])
        try check(["bytes": [UInt8](0...9), "none": []])
        try check(["nested": [[1, nil], [], [3]]])
        try check(["map": [1: "a", 2: "b"]])
        try check(["a": Empty(), "b": Empty()])
        try check(["a": [Empty()]])
        try check(Value.object(["x": ["y": [1, ["z": .null]]], "_id": "v"]), "one value")
        try check(["value": Value.object(["x": ["y": 1]]), "array": .array([["x": 1]])])
    }

    @Test func `dates take the form of the coding`() throws {
        var encoder = NewDocumentEncoder()
        let coding = ValueCoding(dates: .secondsSince1970)
        let source = ["date": Date(timeIntervalSince1970: 2.5)]
        let document = encoder.document(encoding: source, coding, names)
        #expect(document?.decoded() == ["date": 2.5])
    }

    // MARK: Instances that need ValueEncoder

    private struct ClosureEncodable: Encodable {
        enum Key: String, CodingKey { case a, b }
        var action: (inout KeyedEncodingContainer<Key>) throws -> Void

        init(_ action: @escaping (inout KeyedEncodingContainer<Key>) throws -> Void) {
            self.action = action
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try action(&container)
        }
    }

    @Test func `an instance that returns to an ended container falls back to ValueEncoder`() throws
    {
        #expect(
            needsValueEncoding(
                ClosureEncodable {
                    var first = $0.nestedUnkeyedContainer(forKey: .a)
                    try first.encode(1)
                    try $0.encode(2, forKey: .b)
                    try first.encode(3)
                }))
        #expect(
            needsValueEncoding(
                ClosureEncodable {
                    try $0.encode(1, forKey: .a)
                    try $0.encode(2, forKey: .a)
                }))
        #expect(
            needsValueEncoding(
                ClosureEncodable {
                    var inner = $0.nestedContainer(keyedBy: Key.self, forKey: .a)
                    try inner.encode(1, forKey: .a)
                    var again = $0.nestedContainer(keyedBy: Key.self, forKey: .a)
                    try again.encode(2, forKey: .b)
                }))
        try check(
            ClosureEncodable {
                var inner = $0.nestedContainer(keyedBy: Key.self, forKey: .b)
                try inner.encode(1, forKey: .a)
                var array = inner.nestedUnkeyedContainer(forKey: .b)
                _ = array.nestedContainer(keyedBy: Key.self)
                try $0.encode(2, forKey: .a)
            })
    }

    private typealias Key = ClosureEncodable.Key

    @Test func `reading the coding path or using a superclass encoder falls back to ValueEncoder`()
    {
        #expect(
            needsValueEncoding(ClosureEncodable { try $0.encode($0.codingPath.count, forKey: .a) }))
        #expect(needsValueEncoding(ClosureEncodable { try "x".encode(to: $0.superEncoder()) }))
        #expect(
            needsValueEncoding(ClosureEncodable { try "x".encode(to: $0.superEncoder(forKey: .a)) })
        )
    }

    @Test func `an instance that cannot be encoded falls back to ValueEncoder`() {
        struct Endless: Encodable {
            enum Key: CodingKey { case a }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Endless(), forKey: .a)
            }
        }
        struct Wrapper: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(Wrapper())
            }
        }
        #expect(needsValueEncoding(["a": UInt64.max]))
        #expect(needsValueEncoding([1, 2]))
        #expect(needsValueEncoding("text"))
        #expect(needsValueEncoding(["_id": ["a": 1]]))
        #expect(needsValueEncoding(Endless()))
        #expect(needsValueEncoding(["a": Wrapper()]))
        #expect(needsValueEncoding(Wrapper()))
    }

    @Test func `a document deeper than the maximum is not encoded`() throws {
        for depth in Value.maximumDepth - 2...Value.maximumDepth + 1 {
            var value = Value.integer(1)
            for _ in 1..<depth { value = .object(["a": value]) }
            let source = ["a": value]
            let isValid = (try? Insertion.document(Object([("a", value)]), at: stamp, names)) != nil
            var encoder = NewDocumentEncoder()
            let found = encoder.document(encoding: source, ValueCoding(), names)
            // At the maximum depth, either way may be taken.
            #expect(found != nil || depth >= Value.maximumDepth - 1, "depth \(depth)")
            if let found { #expect(isValid && Value.object(found.decoded()) == ["a": value]) }
        }
    }

    @Test func `a possible attachment token is detected`() throws {
        var encoder = NewDocumentEncoder()
        let id = String(repeating: "a1", count: 32)
        let source = ["photo": Value.object(["id": .string(id), "len": 5])]
        let document = encoder.document(encoding: source, ValueCoding(), names)
        #expect(document?.mayHaveTokens == true)
        #expect((document?.decoded()).map { Value.object($0)["photo", "len"] } == 5)
    }

    @Test func `an instance that catches an error falls back to ValueEncoder`() {
        let many = Decimal(string: "12345678901234567890.123456789") ?? 0
        let date = Date(timeIntervalSince1970: .infinity)
        #expect(
            needsValueEncoding(
                ClosureEncodable {
                    try $0.encode(1, forKey: .b)
                    try? $0.encode(Failing(), forKey: .a)
                }))
        #expect(needsValueEncoding(ClosureEncodable { try? $0.encode(Failing(), forKey: .a) }))
        #expect(needsValueEncoding(ClosureEncodable { try? $0.encode(UInt64.max, forKey: .a) }))
        #expect(needsValueEncoding(ClosureEncodable { try? $0.encode(many, forKey: .a) }))
        #expect(needsValueEncoding(ClosureEncodable { try? $0.encode([date], forKey: .a) }))
        #expect(
            needsValueEncoding(
                ClosureEncodable {
                    var inner = $0.nestedContainer(keyedBy: Key.self, forKey: .a)
                    try inner.encode(1, forKey: .b)
                    try? inner.encode([Failing()], forKey: .a)
                    try $0.encode(2, forKey: .b)
                }))
        #expect(
            needsValueEncoding(
                ClosureEncodable {
                    var inner = $0.nestedUnkeyedContainer(forKey: .a)
                    try? inner.encode(Failing())
                    try inner.encode(1)
                }))
        struct Identified: Encodable {
            enum Key: String, CodingKey { case _id, a }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try? container.encode(["a": 1], forKey: ._id)
                try container.encode(1, forKey: .a)
            }
        }
        #expect(needsValueEncoding(Identified()))
    }

    /// An instance that encodes nothing.
    private struct Empty: Encodable {
        func encode(to encoder: any Encoder) {}
    }

    private struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws { throw CancellationError() }
    }

    @Test func `an encoder that an instance keeps writes into no other document`() throws {
        final class Keeper: Encodable {
            enum Key: String, CodingKey { case a }
            nonisolated(unsafe) static var kept: KeyedEncodingContainer<Key>?
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                Self.kept = container
                try container.encode(1, forKey: .a)
            }
        }
        var encoder = NewDocumentEncoder()
        let first = encoder.document(encoding: Keeper(), ValueCoding(), names)
        #expect(first?.decoded() == ["a": 1])
        let second = encoder.document(
            encoding: ClosureEncodable {
                try $0.encode(2, forKey: .b)
                try Keeper.kept?.encode(3, forKey: .a)
            }, ValueCoding(), names)
        #expect(second == nil)
        let third = encoder.document(encoding: ["b": 4], ValueCoding(), names)
        #expect(third?.decoded() == ["b": 4])
    }

    // MARK: Texts

    @Test(arguments: [UInt64](1...4))
    func `JSON texts encode to the same bytes as their values`(_ seed: UInt64) throws {
        var random = RandomValue(seed: seed, "texts")
        var encoder = NewDocumentEncoder()
        for round in 0..<300 {
            var object = random.object(depth: 4)
            if random.random.chance(1, in: 2) { object["_id"] = random.value(depth: 1) }
            let json = (random.random.chance(1, in: 4) ? " \n" : "") + Value.object(object).json
            guard case .object(var rest) = try Value(json: json) else { continue }
            let id = rest["_id"]
            rest["_id"] = nil
            let found = encoder.document(json: json, names)
            let document = try #require(found)
            #expect(document.id?.json == id?.json, "seed \(seed), round \(round)")
            #expect(
                document.state(at: stamp).bytes == (try Insertion.document(rest, at: stamp, names)),
                "seed \(seed), round \(round)")
        }
    }

    @Test func `invalid JSON, and JSON other than an object, is not encoded`() {
        var encoder = NewDocumentEncoder()
        for text in ["", " ", "[]", "[{}]", "1", "{", "{\"a\":1} x", "{\"a\":1,\"a\":2}", "{]"] {
            let isNone = encoder.document(json: text, names) == nil
            #expect(isNone, "\(text)")
        }
    }
}

/// An instance that encodes an object in one of several ways, which its style determines.
private struct RandomShape: Encodable {
    private let value: Value
    private let style: UInt64

    init(_ object: Object, style: UInt64) {
        self.init(.object(object), style)
    }

    private init(_ value: Value, _ style: UInt64) {
        self.value = value
        self.style = style
    }

    private func part(_ value: Value, _ index: Int) -> RandomShape {
        RandomShape(value, style >> 3 ^ UInt64(index) &* 0x9E37_79B9)
    }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .object(let object):
            var container = encoder.container(keyedBy: TextKey.self)
            for (index, field) in object.enumerated() {
                try encode(field.value, as: TextKey(field.name), index, into: &container)
            }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for (index, element) in elements.enumerated() {
                if style & 1 == 0, case .object(let object) = element {
                    var inner = container.nestedContainer(keyedBy: TextKey.self)
                    for (index, field) in object.enumerated() {
                        try encode(field.value, as: TextKey(field.name), index, into: &inner)
                    }
                } else {
                    try container.encode(part(element, index))
                }
            }
        case .null, .bool, .integer, .float, .string, .bytes:
            var container = encoder.singleValueContainer()
            try encode(into: &container)
        }
    }

    private func encode(into container: inout any SingleValueEncodingContainer) throws {
        switch value {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .float(let float): try container.encode(float)
        case .string(let text): try container.encode(text)
        default: try container.encode(value)
        }
    }

    private func encode(
        _ value: Value, as key: TextKey, _ index: Int,
        into container: inout KeyedEncodingContainer<TextKey>
    ) throws {
        switch (value, style >> UInt64(index % 8) & 3) {
        case (.string(let text), 0): try container.encode(text, forKey: key)
        case (.integer(let integer), 0): try container.encode(integer, forKey: key)
        case (.integer(let integer), 1): try container.encode(Int(integer), forKey: key)
        case (.float(let float), 0): try container.encode(float, forKey: key)
        case (.bool(let bool), 0): try container.encodeIfPresent(bool, forKey: key)
        case (.null, 0): try container.encodeNil(forKey: key)
        case (.array(let elements), 0):
            var inner = container.nestedUnkeyedContainer(forKey: key)
            for (index, element) in elements.enumerated() {
                try inner.encode(part(element, index))
            }
        case (.object(let object), 0):
            var inner = container.nestedContainer(keyedBy: TextKey.self, forKey: key)
            for (index, field) in object.enumerated() {
                try encode(field.value, as: TextKey(field.name), index, into: &inner)
            }
        case (_, 1): try container.encode(value, forKey: key)
        default: try container.encode(part(value, index), forKey: key)
        }
    }
}

private struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
