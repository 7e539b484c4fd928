import SheafDocument
import SheafTestSupport

/// A document field, stored in SQLite as a value column and a presence column.
struct Field {
    let path: [String]
    let kind: DualExpression.Kind
    var limits = DualExpression.Limits()

    var column: String { path.joined(separator: "_") }
    /// The column that is NULL if the field is missing, also in rows that an outer join pads.
    var presenceColumn: String { self.path == ["_id"] ? "_id" : column + "_there" }

    /// Returns the field as an expression.
    func dual(of source: String, isQualified: Bool) -> DualExpression {
        DualExpression(
            sheaf: (isQualified ? [source] + path : path).joined(separator: "."),
            value: "\(source).\(column)", missing: "(\(source).\(presenceColumn) IS NULL)",
            kind: kind, limits: limits)
    }
}

/// The fields of all collections, and random documents.
enum Schema {
    static let collections = ["t", "u"]

    private static let small = DualExpression.Limits(bound: 100, fractionBits: 2)
    private static let smallInteger = DualExpression.Limits(
        isInteger: true, bound: 100, fractionBits: 0)
    private static let ascii = DualExpression.Limits(bound: 12, isASCII: true)

    static let id = Field(path: ["_id"], kind: .mixed, limits: small)
    static let fields: [Field] = [
        Field(path: ["a"], kind: .number, limits: smallInteger),
        Field(path: ["b"], kind: .number, limits: small),
        // Some integers are at the limits of 64 bits or near the precision limit of floats.
        Field(path: ["k"], kind: .number, limits: DualExpression.Limits(isInteger: true)),
        Field(path: ["n"], kind: .number),
        Field(path: ["s"], kind: .text, limits: ascii),
        Field(path: ["w"], kind: .text, limits: DualExpression.Limits(bound: 12)),
        Field(path: ["f"], kind: .boolean),
        Field(path: ["m"], kind: .mixed, limits: small),
        Field(path: ["o", "x"], kind: .number, limits: small),
        Field(path: ["o", "y"], kind: .text, limits: ascii),
    ]
    static let all = [id] + fields

    static func field(_ path: String...) -> Field {
        guard let field = all.first(where: { $0.path == path }) else {
            preconditionFailure("No field is called \(path).")
        }
        return field
    }

    static let ids: [Value] =
        (0..<30).map { .integer(Int64($0)) } + (0..<14).map { .string("d\($0)") } + [-7, ""]
    private static let integers: [Value] = [
        0, 1, 2, -1, 3, .integer(.max), .integer(.min), .integer(.max - 1), .integer(1 << 53),
        .integer(1 << 53 + 1), .integer(-(1 << 53) - 1), .integer(1 << 32), .integer(3_037_000_500),
    ]
    private static let numbers: [Value] = [
        0, 1, 1.0, 2.5, 0.1, 1e300, -1e300, 1e-300, .float(0x1p53), .float(-0x1p53),
        .float(0x1p63), .float(-0x1p63), .float(0x1p62), .integer(1 << 62), 0.30000000000000004,
    ]
    private static let halves: [Value] = [0.5, 1.0, 2.5, 2.0, -1.5, 0.25, 3.75, 0.0, 10.0, -0.5]
    private static let asciiTexts: [Value] = [
        "", "a", "ab", "abc", "abd", "b", "B", "Ba", "a%", "a_b", "A", "1", " a ", "it's", "z",
        "2.5", "aab", "\\", "x y",
    ]
    private static let wideTexts: [Value] = [
        "\u{E9}", "e\u{301}", "\u{E9}a", "a\u{E9}b", "\u{1F600}", "a\u{1F600}", "\u{FF5E}",
        "\u{DF}",
        "\u{E000}", "a",
    ]

    /// Returns a random value for a field.
    static func value(of field: Field, _ random: inout SeededRandom) -> Value {
        func pick(_ values: [Value]) -> Value { values[random.below(values.count)] }
        switch field.column {
        case "_id": return pick(ids)
        case "a": return .integer(Int64(random.below(10)) - 4)
        case "b", "o_x":
            return random.chance(1, in: 2) ? .integer(Int64(random.below(7)) - 2) : pick(halves)
        case "k": return pick(integers)
        case "n": return random.chance(1, in: 4) ? pick(integers) : pick(numbers)
        case "f": return .bool(random.chance(1, in: 2))
        case "w": return random.chance(1, in: 4) ? pick(asciiTexts) : pick(wideTexts)
        case "m":
            switch random.below(4) {
            case 0: return pick(halves)
            case 1: return .integer(Int64(random.below(4)))
            default: return pick(asciiTexts)
            }
        default: return pick(asciiTexts)
        }
    }

    /// Returns the values of a random document without its ID; omitted fields are missing.
    static func document(_ random: inout SeededRandom) -> [(field: Field, value: Value)] {
        var values: [(field: Field, value: Value)] = []
        let isBare = random.chance(1, in: 12)
        for field in fields where random.chance(isBare ? 1 : 4, in: 5) {
            let isNull = random.chance(1, in: 8)
            values.append((field, isNull ? .null : value(of: field, &random)))
        }
        return values
    }

    /// Returns the document as an object for Sheaf.
    static func object(_ values: [(field: Field, value: Value)], id: Value) -> Object {
        var object = Object()
        object["_id"] = id
        var inner = Object()
        for (field, value) in values {
            if field.path.count == 1 {
                object[field.path[0]] = value
            } else {
                inner[field.path[1]] = value
            }
        }
        if !inner.isEmpty { object["o"] = .object(inner) }
        return object
    }
}
