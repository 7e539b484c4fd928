import SheafDocument
import SheafQuery
import Testing

private typealias Case = FunctionCase

/// Functions that choose among values, and functions that test types.
@Suite struct ConditionalFunctionTests {
    @Test func `coalesce, ifmissing, ifnull and nvl replace NULL or MISSING`() throws {
        var cases = [
            Case("ifmissing", nil, .null, 1, is: .null), Case("ifmissing", nil, nil, is: nil),
            Case("ifmissing", nil, 2, is: 2), Case("ifmissing", 1, 2, is: 1),
            Case("ifmissing", false, nil, is: false),
            Case("ifnull", .null, nil, 1, is: nil), Case("ifnull", .null, .null, is: .null),
            Case("ifnull", .null, 2, is: 2), Case("ifnull", 1, 2, is: 1),
            Case("ifnull", nil, 2, is: nil),
            Case("nvl", nil, 1, is: 1), Case("nvl", .null, 1, is: 1), Case("nvl", 0, 1, is: 0),
            Case("nvl", .null, nil, is: nil), Case("nvl", nil, .null, is: .null),
            Case("nvl", 5, "yes", "no", is: "yes"), Case("nvl", nil, "yes", "no", is: "no"),
            Case("nvl", .null, "yes", "no", is: "no"), Case("nvl", false, "yes", "no", is: "yes"),
        ]
        for name in ["coalesce", "ifmissingornull"] {
            cases += [
                Case(name, nil, .null, 3, 4, is: 3), Case(name, nil, .null, is: .null),
                Case(name, nil, is: .null), Case(name, false, 1, is: false),
                Case(name, .null, "a", is: "a"), Case(name, [], 1, is: []),
            ]
        }
        let names: Set = ["coalesce", "ifmissingornull", "ifmissing", "ifnull", "nvl"]
        try Case.check(cases, cover: Function.choices.filter { names.contains($0.name) })
    }

    @Test func `type tests return a boolean for every value`() throws {
        for value in EdgeValues.all {
            let (isMissing, isNull) = (value == nil, value?.kind == .null)
            try Case.check(
                [
                    Case("ismissing", value, is: .bool(isMissing)),
                    Case("isnull", value, is: .bool(isNull)),
                    Case("ismissingornull", value, is: .bool(isMissing || isNull)),
                    Case("is_boolean", value, is: .bool(value?.kind == .boolean)),
                    Case("is_number", value, is: .bool(value?.kind == .number)),
                    Case("is_string", value, is: .bool(value?.kind == .string)),
                ], cover: [])
        }
    }

    @Test func `nullif and missingif replace equal values`() throws {
        try Case.check(
            [
                Case("nullif", 1, 1.0, is: .null), Case("nullif", 1, 2, is: 1),
                Case("nullif", 1, "1", is: 1), Case("nullif", .null, .null, is: .null),
                Case("nullif", nil, 1, is: nil), Case("nullif", 1, nil, is: 1),
                Case("nullif", [1], [1.0], is: .null),
                Case("missingif", 1, 1.0, is: nil), Case("missingif", 1, 2, is: 1),
                Case("missingif", "", "", is: nil), Case("missingif", .null, .null, is: .null),
                Case("missingif", nil, 1, is: nil), Case("missingif", true, .null, is: true),
            ], cover: Function.choices.filter { ["nullif", "missingif"].contains($0.name) })
    }

    @Test func `decode chooses the first equal candidate`() throws {
        try Case.check(
            [
                Case("decode", 2, 1, "a", 2, "b", is: "b"), Case("decode", 2.0, 2, "a", is: "a"),
                Case("decode", 3, 1, "a", 2, "b", is: .null),
                Case("decode", 3, 1, "a", 2, "b", "else", is: "else"),
                Case("decode", .null, 1, "a", .null, "n", is: "n"),
                Case("decode", nil, .null, "n", nil, "m", is: "m"),
                Case("decode", nil, 1, "a", "else", is: "else"),
                Case("decode", 1, 1, nil, "else", is: nil), Case("decode", "1", 1, "a", is: .null),
            ], cover: Function.choices.filter { $0.name == "decode" })
    }

    @Test func `type functions return the name of the type`() throws {
        let cases: [(Value?, String, String)] = [
            (true, "boolean", "boolean"), ("a", "string", "string"), (1, "integer", "number"),
            (1.5, "float", "number"), ([:], "object", "object"), ([], "array", "array"),
            (.bytes([]), "binary", "binary"), (.null, "null", "null"), (nil, "missing", "missing"),
        ]
        for (value, type, jsonType) in cases {
            try Case.check(
                [
                    Case("type", value, is: .string(type)),
                    Case("json_type", value, is: .string(jsonType)),
                ], cover: [])
        }
    }
}
