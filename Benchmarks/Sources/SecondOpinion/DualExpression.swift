import SheafDocument

/// An expression in both languages.
///
/// SQLite has NULL for both null and missing, so its expressions have two parts: a value, and a
/// condition for whether the value is missing. The value of a missing expression is NULL.
struct DualExpression {
    /// The static type of an expression, apart from null and missing.
    enum Kind {
        case number, text, boolean
        /// Numbers or texts.
        case mixed
    }

    /// The precedence of the outermost operator.
    enum Strength: Int {
        case or, and, not, test, pattern, comparison, concatenation, sum, product, sign, atom
    }

    /// The predicate of an IS test, whose result is always true or false.
    enum Test: String {
        case null = "NULL"
        case missing = "MISSING"
        case yes = "TRUE"
        case no = "FALSE"
    }

    /// Known bounds of numbers and texts.
    struct Limits {
        var isInteger = false
        /// The maximum magnitude of numbers, or length of texts.
        var bound = Double.infinity
        /// The maximum number of fractional bits of numbers.
        var fractionBits = 1_000
        var isASCII = false

        /// Whether float sums of a few thousand values are exact in any order.
        var isExact: Bool {
            bound.isFinite && fractionBits < 40 && bound * Double(1 << fractionBits) < 0x1p40
        }

        /// Whether every value within these limits is within the others.
        func isWithin(_ other: Limits) -> Bool {
            (isInteger || !other.isInteger) && (isASCII || !other.isASCII)
                && bound <= other.bound && fractionBits <= other.fractionBits
        }

        /// Returns limits that contain both.
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
    /// Whether the expression contains no field.
    var isConstant = false

    /// Returns the text for Sheaf, in parentheses if it binds less tightly than `least`.
    func operand(_ least: Strength) -> String {
        strength.rawValue >= least.rawValue ? sheaf : "(\(sheaf))"
    }

    /// Returns the expression with another type; values of other types become missing.
    func taken(as wanted: Kind) -> DualExpression {
        guard kind != wanted else { return self }
        var dual = self
        dual.kind = wanted
        switch (kind, wanted) {
        case (_, .mixed): return self
        case (.mixed, .number):
            dual.value = "(CASE WHEN typeof(\(value)) <> 'text' THEN \(value) END)"
            dual.missing = SQL.or([missing, "typeof(\(value)) = 'text'"])
        case (.mixed, .text):
            dual.value = "(CASE WHEN typeof(\(value)) = 'text' THEN \(value) END)"
            dual.missing = SQL.or([
                missing, "(\(value) IS NOT NULL AND typeof(\(value)) <> 'text')",
            ])
        default:
            dual.value = SQL.null
            dual.missing = SQL.or([missing, "(\(value) IS NOT NULL)"])
            dual.limits = Limits(isInteger: true, bound: 0, fractionBits: 0, isASCII: true)
        }
        return dual
    }

    /// Returns SQLite's ORDER BY terms: values, then null, then missing.
    func orderTerms(isDescending: Bool) -> [String] {
        [missing, "(\(value) IS NULL)", value].map {
            SQL.term($0) + (isDescending ? " DESC" : "")
        }
    }

    /// The terms for a GROUP BY.
    var groupTerms: [String] { [SQL.term(value), SQL.term(missing)] }
}

/// Fragments of SQLite statements.
enum SQL {
    static let no = "0"
    static let yes = "1"
    static let null = "NULL"

    /// Wraps an expression for ORDER BY or GROUP BY.
    ///
    /// SQLite would take a constant integer for the number of a column.
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

    /// Returns a value as a literal.
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
