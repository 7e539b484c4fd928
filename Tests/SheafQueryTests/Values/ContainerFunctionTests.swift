import SheafDocument
import SheafQuery
import Testing

private typealias Case = FunctionCase

/// Functions for arrays, objects and JSON.
@Suite struct ContainerFunctionTests {
    @Test func `array functions match their table`() throws {
        try Case.check(
            [
                Case("array_contains", [1, 2], 2.0, is: true),
                Case("array_contains", [1, "a"], 2, is: false),
                Case("array_contains", [[1]], [1.0], is: true),
                Case("array_contains", [.null], 1, is: false),
                Case("array_contains", [.null], .null, is: .null),
                Case("array_contains", .null, 1, is: .null),
                Case("array_contains", "a", "a", is: nil),
                Case("array_contains", "a", .null, is: nil),
                Case("array_contains", [1], nil, is: nil), Case("array_contains", nil, 1, is: nil),
                Case("array_contains", ["caf\u{E9}"], "cafe\u{301}", is: false),
                Case("array_contains_null", [1, .null], is: true),
                Case("array_contains_null", [1], is: false),
                Case("array_contains_null", [[.null]], is: false),
                Case("array_contains_null", .null, is: .null),
                Case("array_contains_null", "a", is: nil),
                Case("array_contains_null", nil, is: nil),
                Case("array_length", [], is: 0), Case("array_length", [1, .null], is: 2),
                Case("array_length", .null, is: .null), Case("array_length", "ab", is: nil),
                Case("array_length", nil, is: nil), Case("array_length", [:], is: nil),
                Case("value_at", ["a", "b"], 1, is: "b"), Case("value_at", ["a"], 1, is: nil),
                Case("value_at", ["a"], -1, is: nil), Case("value_at", [.null], 0, is: .null),
                Case("value_at", ["a"], .integer(.max), is: nil),
                Case("value_at", ["a"], 0.0, is: nil), Case("value_at", ["a"], "0", is: nil),
                Case("value_at", ["a": 1], "a", is: 1), Case("value_at", ["a": 1], 0, is: nil),
                Case("value_at", "a", 0, is: nil), Case("value_at", .null, 0, is: nil),
                Case("value_at", nil, 0, is: nil), Case("value_at", ["a"], nil, is: nil),
            ], cover: Function.arrays)
    }

    @Test func `object functions list fields and sizes`() throws {
        let object: Value = ["b": 1, "a": .null]
        var cases = [
            Case("object_keys", object, is: ["a", "b"]), Case("object_keys", [:], is: []),
            Case("object_values", object, is: [.null, 1]), Case("object_values", [:], is: []),
            Case("object_length", object, is: 2), Case("object_length", [:], is: 0),
            Case("object_size", object, is: 16), Case("object_size", [:], is: 2),
        ]
        let names: Set = ["object_keys", "object_values", "object_length", "object_size"]
        for name in names {
            cases += [
                Case(name, [1], is: nil), Case(name, "{}", is: nil), Case(name, 1, is: nil),
                Case(name, .null, is: .null), Case(name, nil, is: nil),
            ]
        }
        try Case.check(cases, cover: Function.objects.filter { names.contains($0.name) })
    }

    @Test func `object functions return changed copies`() throws {
        try Case.check(
            [
                Case("object_set", [:], "a", 1, is: ["a": 1]),
                Case("object_set", ["a": 1], "a", 2, is: nil),
                Case("object_set", ["a": 1], "a", 2, false, is: nil),
                Case("object_set", ["a": 1], "a", 2, true, is: ["a": 2]),
                Case("object_set", ["a": .null], "a", 2, is: nil),
                Case("object_set", [:], "a", .null, is: ["a": .null]),
                Case("object_set", [:], "a", nil, is: nil),
                Case("object_set", [:], 1, 1, is: nil),
                Case("object_set", [:], .null, 1, is: .null),
                Case("object_set", .null, "a", 1, is: .null),
                Case("object_set", [1], "a", 1, is: nil),
                Case("object_set", nil, "a", 1, is: nil),
                Case("object_set", [:], "a", 1, "true", is: nil),
                Case("object_set", [:], "a", 1, .null, is: .null),
                Case(
                    "object_set", ["cafe\u{301}": 1], "caf\u{E9}", 2,
                    is: ["cafe\u{301}": 1, "caf\u{E9}": 2]),
                Case("object_unset", ["a": 1, "b": 2], "a", is: ["b": 2]),
                Case("object_unset", ["a": 1], "b", is: ["a": 1]),
                Case("object_unset", ["a": 1, "b": 2, "c": 3], "c", "a", is: ["b": 2]),
                Case("object_unset", ["a": 1], 1, is: nil),
                Case("object_unset", ["a": 1], "a", .null, is: .null),
                Case("object_unset", .null, "a", is: .null),
                Case("object_unset", nil, "a", is: nil),
                Case("object_unset", ["caf\u{E9}": 1], "cafe\u{301}", is: ["caf\u{E9}": 1]),
                Case("object_concat", ["a": 1, "b": 1], ["b": 2], [:], is: ["a": 1, "b": 2]),
                Case("object_concat", ["a": 1], is: ["a": 1]),
                Case("object_concat", ["a": 1], .null, is: .null),
                Case("object_concat", ["a": 1], [1], .null, is: nil),
                Case("object_concat", ["a": 1], nil, is: nil),
                Case("object_rename", ["a": 1, "c": 2], "a", "b", is: ["b": 1, "c": 2]),
                Case("object_rename", ["a": 1, "b": 2], "a", "b", is: nil),
                Case("object_rename", ["a": 1, "b": 2], "c", "b", is: ["a": 1, "b": 2]),
                Case("object_rename", ["a": 1], "a", "a", is: ["a": 1]),
                Case("object_rename", ["a": 1], "a", 1, is: nil),
                Case("object_rename", .null, "a", "b", is: .null),
                Case("object_rename", ["a": 1], nil, "b", is: nil),
            ],
            cover: Function.objects.filter {
                ["object_set", "object_unset", "object_concat", "object_rename"].contains($0.name)
            })
    }

    @Test func `values convert to JSON and back`() throws {
        try Case.check(
            [
                Case(
                    "serialize_json", ["b": [1, 2.0], "a": "\"\u{E9}"],
                    is: #"{"a":"\"é","b":[1,2.0]}"#),
                Case("serialize_json", "a", is: "\"a\""), Case("serialize_json", .null, is: "null"),
                Case("serialize_json", nil, is: nil),
                Case("serialize_json", .bytes([0x61]), is: "\"YQ==\""),
                Case("serialize_json", [.float(.nan), []], is: "[null,[]]"),
                Case("deserialize_json", #" {"a": [1, 2.0, null]} "#, is: ["a": [1, 2.0, .null]]),
                Case("deserialize_json", "null", is: .null), Case("deserialize_json", "{", is: nil),
                Case("deserialize_json", "", is: nil),
                Case("deserialize_json", #"{"a":1,"a":2}"#, is: nil),
                Case("deserialize_json", 1, is: nil), Case("deserialize_json", .null, is: .null),
                Case("deserialize_json", nil, is: nil),
                Case("deserialize_json", .string(String(repeating: "[", count: 100_000)), is: nil),
            ], cover: Function.json)
        for value in EdgeValues.all {
            guard let value else { continue }
            let text = try Functions.named("serialize_json")?.evaluate(
                [value], FunctionContext(now: 0))
            #expect(spelled(text ?? nil) == spelled(.string(value.json)))
        }
    }

    @Test func `a value that expands exponentially is refused`() throws {
        // One long string is serialized faster than many short ones.
        var value: Value = .string(String(repeating: "a", count: 1 << 20))
        for _ in 0..<40 { value = [value, value] }
        let cases: [(String, Value)] = [("serialize_json", value), ("object_size", ["a": value])]
        for (name, value) in cases {
            let function = try #require(Functions.named(name))
            #expect(throws: StoreError.self) {
                try function.evaluate([value], FunctionContext(now: 0))
            }
        }
    }
}
