import SheafBytes
import SheafDocument

/// Syntax errors.
extension Parser {
    func failure(
        _ reason: StoreError.Reason, _ message: String, hint: String? = nil,
        at range: SourceRange? = nil
    ) -> StoreError {
        let range = range ?? token.range
        return lexer.error(message, hint: hint, range.lower, range.upper, reason: reason)
    }

    /// Returns an error at the current token; a similar keyword takes precedence over `hint`.
    func unexpected(
        _ expected: String, _ keywords: [Keyword] = [], hint: String? = nil
    ) -> StoreError {
        if let alias = misspelledAlias(keywords) { return alias }
        var hint = hint
        switch token.kind {
        case .word where token.keyword == nil:
            if let keyword = Suggestion.nearest(to: lexer.spelling(token), of: keywords) {
                hint = "did you mean \(keyword.spelling)?"
            }
        case .leftBracket:
            hint = hint ?? "paths use dots, as in a.b.c, not brackets"
        case .directive:
            hint = "directives are allowed at the start, after SELECT and after a collection"
        default: break
        }
        return failure(.syntax, "expected \(expected), found \(found(token))", hint: hint)
    }

    /// Returns an error for `SELECT a FORM cars`, where FORM was read as an alias.
    private func misspelledAlias(_ keywords: [Keyword]) -> StoreError? {
        // Short aliases resemble short keywords too often to be taken for typing errors.
        guard let alias = bareAlias, alias.upper == previousEnd, alias.upper - alias.lower > 2,
            let keyword = Suggestion.nearest(
                to: lexer.spelling(alias), of: keywords.filter { $0.rawValue.utf8.count > 3 })
        else { return nil }
        return failure(
            .syntax, "expected \(keyword.spelling), found \(lexer.spelling(alias))",
            hint: "did you mean \(keyword.spelling)?", at: alias.range)
    }

    /// Returns a description of a token for messages.
    func found(_ token: Token) -> String {
        switch token.kind {
        case .endOfStatement, .directive: token.kind.rawValue
        case .string: "the string \(shortened(token))"
        default: shortened(token)
        }
    }

    private func shortened(_ token: Token) -> String {
        lexer.spelling(token).shortened(to: 40)
    }

    static let clauses: [Keyword] = [
        .from, .join, .inner, .left, .right, .where, .group, .having, .order, .limit, .offset, .on,
        .returning, .set, .unset, .apply, .use, .and, .or, .not, .in, .is, .like, .ilike, .between,
        .similar, .as,
    ]

    /// Throws unless the statement ends at the current token or after one semicolon.
    mutating func end() throws(StoreError) {
        let hasEnded = try take(.semicolon)
        guard token.kind != .endOfStatement else { return }
        if hasEnded, token.kind != .semicolon {
            throw failure(.syntax, "unexpected second statement", hint: "a call runs one statement")
        }
        throw unexpected("the end of the statement", Self.clauses, hint: orderHint)
    }

    /// Advice for a keyword that is out of order or not supported.
    private var orderHint: String? {
        switch token.keyword {
        case .where, .group, .having, .order, .limit, .offset, .join, .inner, .left, .right, .use,
            .returning, .from:
            "the order is FROM, USE, JOIN, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, "
                + "RETURNING; not every statement has every clause"
        case .apply, .set, .unset: "the order is APPLY, SET, UNSET, WHERE, RETURNING"
        case .full, .cross, .natural: "joins are INNER, LEFT or RIGHT"
        case .union, .intersect, .except: "set operations are not supported"
        default: token.kind == .comma ? "use JOIN to read two collections" : nil
        }
    }
}
