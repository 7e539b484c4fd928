package import Sheaf

/// A translator from query strings of the older calls to conditions of the query language.
///
///     color == 'red' && !(mileage > $args.limit)
///     (`cars`.`color` = 'red' AND (NOT (`cars`.`mileage` > :arg1)))
///
/// `&&` binds tighter than `||`, and `!` tighter than comparisons. Nil, null and missing fields are
/// equal to each other; other comparisons are those of the query language. Paths start with the
/// collection, so that no field is mistaken for it.
package struct ConditionParser {
    private var lexer: ConditionLexer
    private(set) var token: ConditionToken
    /// The collection of the condition, in backticks.
    let collection: String
    let arguments: [String: Value]
    /// The arguments used by the condition, by parameter name.
    package var parameters: [String: Value] = [:]
    /// The parameter names of arguments, by argument path.
    var parameterNames: [[String]: String] = [:]
    private var depth = 0

    /// Maximum nesting of parentheses, brackets and negations.
    private static let maximumDepth = 32

    /// A translated part of a condition.
    package enum Operand {
        case null
        case expression(String)
        /// An array literal, or an argument that is an array.
        case list(String)

        var text: String {
            switch self {
            case .null: "NULL"
            case .expression(let text), .list(let text): text
            }
        }
    }

    /// Starts parsing a condition on a collection; `arguments` are the fields of `$args`.
    package init(
        _ text: String, collection: String, arguments: [String: Value] = [:]
    ) throws(ConditionError) {
        self.collection = collection.inBackticks
        self.arguments = arguments
        lexer = ConditionLexer(text)
        token = try lexer.next()
    }

    /// Parses the complete text as a condition.
    package mutating func condition() throws(ConditionError) -> String {
        let text = try disjunction().text
        try expectEnd()
        return text
    }

    /// Parses the complete text as a path to a field.
    mutating func field() throws(ConditionError) -> String {
        guard case .name = token.kind else {
            if token.kind == .sign(.leftBracket), let field = try quotedField() {
                try expectEnd()
                return field
            }
            throw unexpected("the name of a field")
        }
        let field = try named().text
        try expectEnd()
        return field
    }

    // MARK: Operators

    private mutating func disjunction() throws(ConditionError) -> Operand {
        var terms = [try conjunction()]
        while try take(.or) { terms.append(try conjunction()) }
        return Self.joined(terms, "OR")
    }

    private mutating func conjunction() throws(ConditionError) -> Operand {
        var terms = [try comparison()]
        while try take(.and) { terms.append(try comparison()) }
        return Self.joined(terms, "AND")
    }

    private static func joined(_ terms: [Operand], _ word: String) -> Operand {
        guard terms.count > 1 else { return terms[0] }
        return .expression("(\(terms.map(\.text).joined(separator: " \(word) ")))")
    }

    private mutating func comparison() throws(ConditionError) -> Operand {
        let left = try negation()
        guard case .sign(let sign) = token.kind, let comparison = sign.comparison else {
            return left
        }
        try advance()
        let right = try negation()
        if case .sign(let next) = token.kind, next.comparison != nil {
            throw unexpected("&&, || or the end")
        }
        switch (sign, left, right) {
        case (.equal, let operand, .null), (.equal, .null, let operand):
            return .expression("(\(operand.text) IS NULL OR \(operand.text) IS MISSING)")
        case (.unequal, let operand, .null), (.unequal, .null, let operand):
            return .expression("(\(operand.text) IS NOT NULL AND \(operand.text) IS NOT MISSING)")
        default: return .expression("(\(left.text) \(comparison) \(right.text))")
        }
    }

    private mutating func negation() throws(ConditionError) -> Operand {
        guard token.kind == .sign(.not) else { return try operand() }
        try enter()
        try advance()
        let operand = try negation()
        leave()
        return .expression("(NOT \(operand.text))")
    }

    /// Parses a condition in parentheses, starting at the opening one.
    mutating func parenthesized() throws(ConditionError) -> Operand {
        try enter()
        try advance()
        let inner = try disjunction()
        try expect(.rightParenthesis, "&&, || or )")
        leave()
        return inner
    }

    // MARK: Tokens

    mutating func advance() throws(ConditionError) {
        token = try lexer.next()
    }

    /// Consumes the next token if it is `sign`; returns whether it was.
    mutating func take(_ sign: ConditionToken.Sign) throws(ConditionError) -> Bool {
        guard token.kind == .sign(sign) else { return false }
        try advance()
        return true
    }

    mutating func expect(
        _ sign: ConditionToken.Sign, _ expected: String? = nil
    ) throws(ConditionError) {
        guard try take(sign) else { throw unexpected(expected ?? sign.rawValue) }
    }

    private func expectEnd() throws(ConditionError) {
        guard token.kind == .end else { throw unexpected("&&, || or the end") }
    }

    mutating func enter() throws(ConditionError) {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw error("the condition is nested deeper than \(Self.maximumDepth)")
        }
    }

    mutating func leave() {
        depth -= 1
    }

    // MARK: Errors

    func unexpected(_ expected: String) -> ConditionError {
        let hint: String? =
            switch token.kind {
            case .name("and"), .name("AND"): "write &&"
            case .name("or"), .name("OR"): "write ||"
            case .name("not"), .name("NOT"): "write !"
            default: nil
            }
        return error("expected \(expected), found \(token.name)", hint: hint)
    }

    /// Returns an error at the next token.
    func error(_ message: String, hint: String? = nil) -> ConditionError {
        error(message, hint: hint, at: token)
    }

    func error(_ message: String, hint: String? = nil, at token: ConditionToken) -> ConditionError {
        ConditionError(message, hint: hint, at: token.start, in: lexer.text)
    }
}

extension String {
    /// The text as a quoted identifier of the query language.
    var inBackticks: String {
        "`" + split(separator: "`", omittingEmptySubsequences: false).joined(separator: "``") + "`"
    }

    /// The text as a string literal of the query language.
    var asLiteral: String {
        var literal = "'"
        for scalar in unicodeScalars {
            if scalar == "'" || scalar == "\\" { literal.append("\\") }
            literal.unicodeScalars.append(scalar)
        }
        return literal + "'"
    }
}
