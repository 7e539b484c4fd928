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

    @Test func `using a superclass encoder falls back to ValueEncoder`() {
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

    /// An instance that encodes the coding path of each of its encoders.
    private struct Paths: Encodable {
        var depth: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: TextKey.self)
            func text(_ path: [any CodingKey]) -> String {
                path.map { "\($0.stringValue),\($0.intValue ?? -1)" }.joined(separator: "/")
            }
            try container.encode(text(encoder.codingPath), forKey: TextKey("encoder"))
            try container.encode(text(container.codingPath), forKey: TextKey("object"))
            var array = container.nestedUnkeyedContainer(forKey: TextKey("array"))
            try array.encode(text(array.codingPath))
            var inner = array.nestedContainer(keyedBy: TextKey.self)
            try inner.encode(text(inner.codingPath), forKey: TextKey("inner"))
            guard depth > 0 else { return }
            try array.encode(Paths(depth: depth - 1))
            try container.encode([Paths(depth: depth - 1)], forKey: TextKey("elements"))
            try container.encode(Paths(depth: depth - 1), forKey: TextKey("part"))
        }
    }

    @Test func `coding paths are those of ValueEncoder`() throws {
        try check(Paths(depth: 2))
    }

    @Test func `a loop up to the count of an array ends after a fallback`() {
        let isLeft = needsValueEncoding(
            ClosureEncodable {
                var ended = $0.nestedUnkeyedContainer(forKey: .a)
                try $0.encode(1, forKey: .b)
                while ended.count < 5 { try ended.encode(0.5) }
                var array = $0.nestedUnkeyedContainer(forKey: .a)
                while array.count < 5 { try array.encode(Empty()) }
            })
        #expect(isLeft)
    }

    @Test func `types with a value of their own are no documents`() {
        #expect(needsValueEncoding(URL(filePath: "/a")))
        #expect(needsValueEncoding(Decimal(1)))
        #expect(needsValueEncoding(Date(timeIntervalSince1970: 0)))
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
        #expect(second?.decoded() == ["b": 2])
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
