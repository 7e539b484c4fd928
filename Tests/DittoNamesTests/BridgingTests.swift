import DittoNames
import Foundation
import Sheaf
import Testing

struct BridgingTests {
    private let ditto: Ditto

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    /// Returns a value after a round trip through a statement.
    private func roundTrip(_ value: Any?) async throws -> Any? {
        let result = try await ditto.store.execute(
            query: "SELECT :v AS v FROM system:dual", arguments: ["v": value])
        return try #require(result.items.first).value["v"] ?? nil
    }

    /// Returns the JSON of a value, which distinguishes booleans, integers and floats.
    private func json(_ value: Any?) async throws -> String {
        let result = try await ditto.store.execute(
            query: "SELECT :v AS v FROM system:dual", arguments: ["v": value])
        return String(try #require(result.items.first).jsonString().dropFirst(5).dropLast())
    }

    @Test func `a number can be cast to every type that can represent it`() async throws {
        let small = try #require(try await roundTrip(5))
        #expect(small as? Int == 5)
        #expect(small as? Int64 == 5)
        #expect(small as? Int32 == 5)
        #expect(small as? UInt8 == 5)
        #expect(small as? Double == 5)
        #expect(small as? NSNumber == 5)
        #expect(small as? Bool == nil)
        #expect(small as? String == nil)
        #expect(try await roundTrip(300) as? UInt8 == nil)
        #expect(try await roundTrip(Int64.min) as? Int64 == .min)
        #expect(try await roundTrip(2.5) as? Double == 2.5)
        #expect(try await roundTrip(2.5) as? Int == nil)
    }

    @Test func `booleans remain booleans, and zero and one remain numbers`() async throws {
        #expect(try await roundTrip(true) as? Bool == true)
        #expect(try await roundTrip(NSNumber(value: false)) as? Bool == false)
        #expect(try await json(true) == "true")
        #expect(try await json(NSNumber(value: true)) == "true")
        #expect(try await json(NSNumber(value: 1)) == "1")
        #expect(try await json(NSNumber(value: Int8(1))) == "1")
        #expect(try await json(NSNumber(value: UInt8(0))) == "0")
        #expect(try await json(1) == "1")
        let parsed = try JSONSerialization.jsonObject(with: Data("[true,1,1.5,0,false,null]".utf8))
        #expect(try await json(parsed) == "[true,1,1.5,0,false,null]")
    }

    @Test func `Foundation and standard library types become values`() async throws {
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
        #expect(try await roundTrip(bytes) as? Data == bytes)
        let null = try await roundTrip(nil)
        #expect(null == nil)
    }

    @Test func `objects and arrays are returned as dictionaries and arrays of Any`() async throws {
        let source: [String: Any] = ["list": [1, ["deep": NSNull()]], "flag": true]
        let value = try #require(try await roundTrip(source) as? [String: Any])
        #expect(value["flag"] as? Bool == true)
        let list = try #require(value["list"] as? [Any])
        #expect(list.first as? Int64 == 1)
        let deep = try #require(list.last as? [String: Any])
        #expect(deep["deep"] is NSNull)
        #expect(deep["deep"] as? String == nil)
        #expect(deep["nothing"] == nil)
    }

    @Test func `a value can be nested 64 deep`() {
        let outer: [(_ inner: Any) -> Any] = [
            { [$0] }, { ["k": $0] as [String: Any] }, { NSArray(array: [$0]) },
            { NSDictionary(dictionary: ["k": $0]) },
        ]
        for (number, wrap) in outer.enumerated() {
            var value: Any = "x"
            for _ in 0..<64 { value = wrap(value) }
            let start = number % 2 == 0 ? "[" : #"{"k":"#
            let json = DittoDocumentID(value: value).toString()
            #expect(json.hasPrefix(String(repeating: start, count: 64) + #""x""#), "\(number)")
            #expect(DittoDocumentID(value: wrap(value)).toString() == "null", "\(number)")
        }
    }

    @Test func `an id can be read as a text or a number, if it is one`() {
        let text: DittoDocumentID = "a"
        #expect(text.string == "a" && text.stringValue == "a")
        #expect(text.int == nil && text.intValue == 0)
        #expect(text.toString() == #""a""# && text.description == #""a""#)
        let number = DittoDocumentID(value: 7)
        #expect(number.int == 7 && number.intValue == 7 && number.value as? Int == 7)
        #expect(number.string == nil && number.stringValue == "")
        #expect(number == 7 && number != DittoDocumentID(value: 7.5))
        #expect(DittoDocumentID(value: true).toString() == "true")
        #expect(DittoDocumentID(value: Date()).toString() == "null")
    }

    @Test func `an unsupported value is refused, and the error gives its path`() async throws {
        final class Own {}
        let deep = (0..<65).reduce("" as Any) { inner, _ in [inner] }
        let cases: [(Any, String)] = [
            (Date(), "the argument v: documents have no date type; pass a string such as"),
            ([["at": [1, Date()] as [Any]]], "the argument v[0].at[1]: documents have no date"),
            (["a": Own()], "the argument v.a: Own cannot be stored in a document"),
            (UInt64.max, "the argument v: 18446744073709551615 does not fit into a 64-bit integer"),
            (NSNumber(value: UInt64.max), "the argument v: 18446744073709551615 does not fit"),
            (
                [1: "a"],
                "the argument v: the key 1 is of type Int; a field name must be a String"
            ),
            (
                [1.5: "a"] as [AnyHashable: Any],
                "the argument v: the key 1.5 is of type Double; a field name must be a String"
            ),
            (["a": [2: "b"]], "the argument v.a: the key 2 is of type Int"),
            (deep, "nested deeper than 64"),
            (UUID(), "the argument v: UUID cannot be stored"),
        ]
        for (source, expected) in cases {
            do {
                _ = try await roundTrip(source)
                Issue.record("an unsupported value was accepted: \(source)")
            } catch DittoError.storeError(reason: .queryArgumentsInvalid(let message)) {
                #expect(message.contains(expected))
            }
        }
        try await ditto.close()
    }
}
