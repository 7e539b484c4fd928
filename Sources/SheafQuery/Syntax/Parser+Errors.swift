import SheafBytes

/// What is said where something else was expected.
extension Parser {
    func failure(
        _ reason: QueryError.Reason, _ message: String, hint: String? = nil,
        at range: SourceRange? = nil
    ) -> QueryError {
        let range = range ?? token.range
        return lexer.error(message, hint: hint, range.lower, range.upper, reason: reason)
    }

    /// An error at the current token; the nearest of `keywords` is suggested, or else the hint made.
    func unexpected(
        _ expected: String, _ keywords: [Keyword] = [], hint: String? = nil
    ) -> QueryError {
        if let alias = misspelledAlias(keywords) { return alias }
        var hint = hint
        switch token.kind {
        case .word where token.keyword == nil:
            if let keyword = Suggestion.nearest(to: lexer.spelling(token), of: keywords) {
                hint = "did you mean \(keyword.spelling)?"
            }
        case .leftBracket:
            hint = hint ?? "paths have dots only, as in a.b.c: no brackets"
        case .directive:
            hint = "a directive stands at the start, behind SELECT or behind a collection"
        default: break
        }
        return failure(.syntax, "expected \(expected), found \(found(token))", hint: hint)
    }

    /// `SELECT a FORM cars` has an alias FORM, and fails behind it.
    private func misspelledAlias(_ keywords: [Keyword]) -> QueryError? {
        // Short aliases are near to short keywords, and mean themselves.
        guard let alias = bareAlias, alias.upper == previousEnd, alias.upper - alias.lower > 2,
            let keyword = Suggestion.nearest(
                to: lexer.spelling(alias), of: keywords.filter { $0.rawValue.utf8.count > 3 })
        else { return nil }
        return failure(
            .syntax, "expected \(keyword.spelling), found \(lexer.spelling(alias))",
            hint: "did you mean \(keyword.spelling)?", at: alias.range)
    }

    /// A token for a message.
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

    // MARK: The end

    static let clauses: [Keyword] = [
        .from, .join, .inner, .left, .right, .where, .group, .having, .order, .limit, .offset, .on,
        .returning, .set, .unset, .apply, .use, .and, .or, .not, .in, .is, .like, .ilike, .between,
        .similar, .as,
    ]

    /// Whatever follows a statement is refused, but for one semicolon.
    mutating func end() throws(QueryError) {
        let hasEnded = try take(.semicolon)
        guard token.kind != .endOfStatement else { return }
        if hasEnded, token.kind != .semicolon {
            throw failure(.syntax, "there is a second statement", hint: "a call runs one statement")
        }
        throw unexpected("the end of the statement", Self.clauses, hint: orderHint)
    }

    /// What the token says that stands where it cannot.
    private var orderHint: String? {
        switch token.keyword {
        case .where, .group, .having, .order, .limit, .offset, .join, .inner, .left, .right, .use,
            .returning, .from:
            "the order is FROM, USE, JOIN, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET, "
                + "RETURNING; not all statements have them all"
        case .apply, .set, .unset: "the order is APPLY, SET, UNSET, WHERE, RETURNING"
        case .full, .cross, .natural: "joins are INNER, LEFT or RIGHT"
        case .union, .intersect, .except: "there are no set operations"
        default: token.kind == .comma ? "two collections are read with JOIN" : nil
        }
    }
}
