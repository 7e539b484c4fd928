import DittoNames
import Foundation
import Sheaf
import Testing

struct BridgingTests {
    private let ditto: Ditto

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    /// What a value becomes on its way through a statement.
    private func echo(_ value: Any?) async throws -> Any? {
        let result = try await ditto.store.execute(
            query: "SELECT :v AS v FROM system:dual", arguments: ["v": value])
        return try #require(result.items.first).value["v"] ?? nil
    }

    /// The JSON of what a value becomes: it tells booleans, integers and floats apart.
    private func json(_ value: Any?) async throws -> String {
        let result = try await ditto.store.execute(
            query: "SELECT :v AS v FROM system:dual", arguments: ["v": value])
        return String(try #require(result.items.first).jsonString().dropFirst(5).dropLast())
    }

    @Test func `a number can be cast to every type that it fits`() async throws {
        let small = try #require(try await echo(5))
        #expect(small as? Int == 5)
        #expect(small as? Int64 == 5)
        #expect(small as? Int32 == 5)
        #expect(small as? UInt8 == 5)
        #expect(small as? Double == 5)
        #expect(small as? NSNumber == 5)
        #expect(small as? Bool == nil)
        #expect(small as? String == nil)
        #expect(try await echo(300) as? UInt8 == nil)
        #expect(try await echo(Int64.min) as? Int64 == .min)
        #expect(try await echo(2.5) as? Double == 2.5)
        #expect(try await echo(2.5) as? Int == nil)
    }

    @Test func `booleans come back as booleans, and zero and one as numbers`() async throws {
        #expect(try await echo(true) as? Bool == true)
        #expect(try await echo(NSNumber(value: false)) as? Bool == false)
        #expect(try await json(true) == "true")
        #expect(try await json(NSNumber(value: true)) == "true")
        #expect(try await json(NSNumber(value: 1)) == "1")
        #expect(try await json(NSNumber(value: Int8(1))) == "1")
        #expect(try await json(NSNumber(value: UInt8(0))) == "0")
        #expect(try await json(1) == "1")
        let parsed = try JSONSerialization.jsonObject(with: Data("[true,1,1.5,0,false,null]".utf8))
        #expect(try await json(parsed) == "[true,1,1.5,0,false,null]")
    }

    @Test func `what Foundation and the standard library have becomes a value`() async throws {
        let bytes = Data([0, 1, 255])
        let cases: [(Any?, String)] = [
            (nil, "null"), (NSNull(), "null"), (Optional<Int>.none as Any, "null"),
            (Optional("a") as Any, #""a""#), ([1, nil] as [Int?], "[1,null]"),
            (Int8(-1), "-1"), (UInt16(7), "7"), (UInt64(9), "9"), (Int64.max, "\(Int64.max)"),
            (Float(1.5), "1.5"), (CGFloat(2.5), "2.5"), (NSNumber(value: 2.0), "2.0"), (2.0, "2.0"),
            (NSNumber(value: UInt64(3)), "3"), (NSString(string: "né"), #""né""#),
            ("text"[...].dropFirst(), #""ext""#), (bytes, #""AAH/""#),
            (NSData(data: bytes), #""AAH/""#), ([] as [Any], "[]"), ([:] as [String: Any], "{}"),
            (["b": 1, "a": ["c"]] as [String: Any], #"{"a":["c"],"b":1}"#),
            (["a": nil, "b": 2] as [String: Int?], #"{"a":null,"b":2}"#),
            (NSArray(array: [1, NSNull(), "x"]), #"[1,null,"x"]"#),
            (NSDictionary(dictionary: ["k": NSArray(array: [true])]), #"{"k":[true]}"#),
            (["x": ["y": [DittoDocumentID("id")]]], #"{"x":{"y":["id"]}}"#),
        ]
        for (source, expected) in cases {
            #expect(try await json(source) == expected, "\(String(describing: source))")
        }
        #expect(try await echo(bytes) as? Data == bytes)
        let null = try await echo(nil)
        #expect(null == nil)
    }

    @Test func `objects and arrays come back as dictionaries and arrays of Any`() async throws {
        let source: [String: Any] = ["list": [1, ["deep": NSNull()]], "flag": true]
        let value = try #require(try await echo(source) as? [String: Any])
        #expect(value["flag"] as? Bool == true)
        let list = try #require(value["list"] as? [Any])
        #expect(list.first as? Int64 == 1)
        let deep = try #require(list.last as? [String: Any])
        #expect(deep["deep"] is NSNull)
        #expect(deep["deep"] as? String == nil)
        #expect(deep["nothing"] == nil)
    }

    @Test func `what cannot be a value is refused, and the error says where it lies`() async throws
    {
        final class Own {}
        let deep = (0..<65).reduce("" as Any) { inner, _ in [inner] }
        let cases: [(Any, String)] = [
            (Date(), "the argument v: documents have no dates; pass a text like"),
            ([["at": [1, Date()] as [Any]]], "the argument v[0].at[1]: documents have no dates"),
            (["a": Own()], "the argument v.a: Own has no counterpart in a document"),
            (UInt64.max, "the argument v: 18446744073709551615 is beyond integers of 64 bits"),
            (NSNumber(value: UInt64.max), "the argument v: 18446744073709551615 is beyond"),
            (
                [1: "a"],
                "the argument v: the key 1 is of type Int; the name of a field is a String"
            ),
            (
                [1.5: "a"] as [AnyHashable: Any],
                "the argument v: the key 1.5 is of type Double; the name of a field is a String"
            ),
            (["a": [2: "b"]], "the argument v.a: the key 2 is of type Int"),
            (deep, "nested deeper than 64"),
            (UUID(), "the argument v: UUID has no counterpart"),
        ]
        for (source, expected) in cases {
            do {
                _ = try await echo(source)
                Issue.record("nothing is wrong with \(source)")
            } catch DittoError.storeError(reason: .queryArgumentsInvalid(let message)) {
                #expect(message.contains(expected))
            }
        }
        try await ditto.close()
    }
}
