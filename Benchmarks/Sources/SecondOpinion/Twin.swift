import SheafDocument

/// An expression in both languages.
///
/// SQLite has one NULL where Sheaf has null and missing, so an expression is two there: a value,
/// which is NULL for both, and a condition that says whether it is missing. Where something is
/// missing its value is NULL.
struct Twin {
    /// What is known of the values beforehand, beside null and missing.
    enum Kind {
        case number, text, boolean
        /// Numbers and texts.
        case mixed
    }

    /// How tightly the outermost operator binds, as the language has them.
    enum Strength: Int {
        case or, and, not, test, pattern, comparison, concatenation, sum, product, sign, atom
    }

    /// What IS asks; it always knows.
    enum Test: String {
        case null = "NULL"
        case missing = "MISSING"
        case yes = "TRUE"
        case no = "FALSE"
    }

    /// What numbers and texts are known to stay within.
    struct Limits {
        var isInteger = false
        /// The greatest magnitude of numbers, or length of texts.
        var bound = Double.infinity
        /// Numbers are multiples of two to the power of minus this.
        var fractionBits = 1_000
        var isASCII = false

        /// Whether sums of some thousand of them are exact in floats, in whatever order.
        var isExact: Bool {
            bound.isFinite && fractionBits < 40 && bound * Double(1 << fractionBits) < 0x1p40
        }

        /// Whether whatever keeps these keeps the others, too.
        func isWithin(_ other: Limits) -> Bool {
            (isInteger || !other.isInteger) && (isASCII || !other.isASCII)
                && bound <= other.bound && fractionBits <= other.fractionBits
        }

        /// What holds for all of some.
        func union(_ other: Limits) -> Limits {
            Limits(
                isInteger: isInteger && other.isInteger, bound: max(bound, other.bound),
                fractionBits: max(fractionBits, other.fractionBits),
                isASCII: isASCII && other.isASCII)
        }
    }

    var sheaf: String
    var strength = Strength.atom
    var value: String
    var missing = SQL.no
    var kind: Kind
    var limits = Limits()
    /// Whether no field is in it.
    var isConstant = false

    /// The text for Sheaf where an operator takes operands that bind at least so tightly.
    func operand(_ least: Strength) -> String {
        strength.rawValue >= least.rawValue ? sheaf : "(\(sheaf))"
    }

    /// The same with another type: what is of another one is missing.
    func taken(as wanted: Kind) -> Twin {
        guard kind != wanted else { return self }
        var twin = self
        twin.kind = wanted
        switch (kind, wanted) {
        case (_, .mixed): return self
        case (.mixed, .number):
            twin.value = "(CASE WHEN typeof(\(value)) <> 'text' THEN \(value) END)"
            twin.missing = SQL.or([missing, "typeof(\(value)) = 'text'"])
        case (.mixed, .text):
            twin.value = "(CASE WHEN typeof(\(value)) = 'text' THEN \(value) END)"
            twin.missing = SQL.or([
                missing, "(\(value) IS NOT NULL AND typeof(\(value)) <> 'text')",
            ])
        default:
            twin.value = SQL.null
            twin.missing = SQL.or([missing, "(\(value) IS NOT NULL)"])
            twin.limits = Limits(isInteger: true, bound: 0, fractionBits: 0, isASCII: true)
        }
        return twin
    }

    /// The terms of an ORDER BY in SQLite: null behind all values, missing behind null.
    func orderTerms(isDescending: Bool) -> [String] {
        [missing, "(\(value) IS NULL)", value].map {
            SQL.term($0) + (isDescending ? " DESC" : "")
        }
    }

    /// The same as keys of a GROUP BY.
    var groupTerms: [String] { [SQL.term(value), SQL.term(missing)] }
}

/// Pieces of statements for SQLite.
enum SQL {
    static let no = "0"
    static let yes = "1"
    static let null = "NULL"

    /// An expression to sort or group by.
    ///
    /// A number would be taken for the number of a column, also where SQLite computes it at once.
    static func term(_ expression: String) -> String { "coalesce(\(expression), NULL)" }

    static func or(_ conditions: [String]) -> String {
        if conditions.contains(yes) { return yes }
        var kept: [String] = []
        for condition in conditions where condition != no && !kept.contains(condition) {
            kept.append(condition)
        }
        guard kept.count > 1 else { return kept.first ?? no }
        return "(" + kept.joined(separator: " OR ") + ")"
    }

    static func and(_ conditions: [String]) -> String {
        if conditions.contains(no) { return no }
        let kept = conditions.filter { $0 != yes }
        guard kept.count > 1 else { return kept.first ?? yes }
        return "(" + kept.joined(separator: " AND ") + ")"
    }

    static func not(_ condition: String) -> String {
        switch condition {
        case no: yes
        case yes: no
        default: "(NOT \(condition))"
        }
    }

    /// A value as a literal.
    static func literal(_ value: Value) -> String {
        switch value {
        case .null: null
        case .bool(let flag): flag ? yes : no
        case .integer(let number): number < 0 ? "(\(number))" : "\(number)"
        case .float(let number): number < 0 ? "(\(number))" : "\(number)"
        case .string(let text):
            "'" + String(text.flatMap { $0 == "'" ? "''" : String($0) }) + "'"
        case .bytes, .array, .object:
            preconditionFailure("SQLite has no literal for \(value.json).")
        }
    }
}
