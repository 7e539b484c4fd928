/// The entries of the language reference that describe the parts of a statement.
package enum ReferenceLookup {
    /// Returns the name of the entry for a part of a statement: its function, clause or statement.
    static func page(at range: SourceRange, of statement: String) -> String {
        var copy = statement
        // A located error would search for its entry again, and reach the same invalid token.
        return copy.withUTF8 { page(at: range, in: Lexer($0, locatesErrors: false)) }
    }

    private static func page(at range: SourceRange, in lexer: Lexer) -> String {
        var lexer = lexer
        var scan = ClauseScan()
        while let token = try? lexer.next(), token.kind != .endOfStatement {
            guard token.lower < range.lower else {
                let ahead = lexer
                return scan.page(of: token, through: range, ahead)
            }
            scan.read(token, lexer)
        }
        return scan.page
    }

    /// Returns the name of a function, if it is known.
    fileprivate static func function(_ word: Token, _ lexer: Lexer) -> String? {
        guard word.kind == .word else { return nil }
        let name = lexer.lowercased(word)
        let isKnown =
            Functions.named(name) != nil || AggregateKind(rawValue: name) != nil
            || word.keyword == .cast || word.keyword == .position
        return isKnown ? name : nil
    }
}

/// The statement, clause and brackets that enclose a position, found by reading tokens up to it.
private struct ClauseScan {
    private var statement: String?
    private var clause: String?
    /// The entries of the open brackets and of expressions that end with END; nil for others.
    private var enclosing: [String?] = []
    private var previous: Token?
    /// The token before the previous one.
    private var beforePrevious: Token?
    /// The operator whose right operand has not begun.
    private var pendingOperator: String?
    private var hasTypes = false

    /// The entry for the position after the tokens read so far.
    var page: String {
        enclosing.last { $0 != nil }.flatMap { $0 } ?? pendingOperator ?? clause ?? statement
            ?? "statements"
    }

    /// Returns the entry for a marked range that begins with `token`.
    func page(of token: Token, through range: SourceRange, _ ahead: Lexer) -> String {
        var ahead = ahead
        guard token.kind == .word else { return page(inside: range, ahead) }
        if previous?.kind != .dot, let next = try? ahead.next() {
            if next.kind == .leftParenthesis,
                let function = ReferenceLookup.function(token, ahead)
            {
                return function
            }
            // A clause out of order concerns the statement.
            if enclosing.isEmpty, pendingOperator == nil, let statement,
                let keyword = token.keyword, Self.clauses[keyword] != nil
            {
                return statement
            }
            if let name = Self.operators[next.keyword ?? .all], next.lower < range.upper {
                return name
            }
        }
        return page(inside: range, ahead)
    }

    /// Returns the entry of the first operator with a name within a range, or that of the position.
    private func page(inside range: SourceRange, _ lexer: Lexer) -> String {
        var lexer = lexer
        while let token = try? lexer.next(), token.lower < range.upper,
            token.kind != .endOfStatement
        {
            if let keyword = token.keyword, let name = Self.operators[keyword] { return name }
        }
        return page
    }

    mutating func read(_ token: Token, _ lexer: Lexer) {
        defer { (beforePrevious, previous) = (previous, token) }
        switch token.kind {
        case .leftParenthesis where hasTypes && enclosing.isEmpty:
            enclosing.append("COLLECTION")
        case .leftParenthesis:
            let function = previous.flatMap { ReferenceLookup.function($0, lexer) }
            enclosing.append(function)
        case .leftBracket, .leftBrace: enclosing.append(nil)
        case .rightParenthesis, .rightBracket, .rightBrace: _ = enclosing.popLast()
        case .arrow: clause = "->"
        case .comma where enclosing.isEmpty && clause == "->": clause = "SET"
        case .word where previous?.kind != .dot && previous?.kind != .colon:
            if let keyword = token.keyword { return read(keyword, lexer) }
        default: break
        }
        if pendingOperator != "BETWEEN" { pendingOperator = nil }
    }

    private mutating func read(_ keyword: Keyword, _ lexer: Lexer) {
        switch keyword {
        case .case: enclosing.append("CASE")
        case .any: enclosing.append("ANY")
        case .every:
            // ANY AND EVERY is one operator.
            let continuesAny =
                previous?.keyword == .and && beforePrevious?.keyword == .any
                && enclosing.last == "ANY"
            if !continuesAny { enclosing.append("EVERY") }
        case .array: enclosing.append("ARRAY")
        case .object: enclosing.append("OBJECT")
        case .end: _ = enclosing.popLast()
        case .not, .to: return
        default: break
        }
        if let name = Self.operators[keyword] {
            pendingOperator = name
            return
        }
        pendingOperator = nil
        guard enclosing.isEmpty else { return }
        if let name = Self.statements[keyword], mayBegin(keyword) {
            (statement, clause, hasTypes) = (name, nil, false)
        } else if keyword == .collection {
            // Elsewhere it is the name of a field.
            hasTypes = [.from, .join, .into, .update].contains(previous?.keyword)
        } else if let name = Self.clauses[keyword] {
            clause = refined(name, keyword, lexer)
            hasTypes = false
        }
    }

    /// Whether a keyword of a statement begins one here, and is neither the name of a field nor a
    /// word of ON ID CONFLICT.
    private func mayBegin(_ keyword: Keyword) -> Bool {
        guard let statement, keyword != .select else { return true }
        return ["EXPLAIN", "PROFILE", "ADVISE"].contains(statement)
    }

    /// Returns the entry of a clause whose keyword has several meanings; nil for the statement.
    private func refined(_ name: String, _ keyword: Keyword, _ lexer: Lexer) -> String? {
        var lexer = lexer
        switch keyword {
        case .from: return statement == "SELECT" ? name : nil
        case .on: return statement == "INSERT" ? "ON ID CONFLICT" : clause == "JOIN" ? name : nil
        case .set: return statement == "UPDATE" ? name : nil
        // In other statements, these are names of fields.
        case .apply, .unset: return statement == "UPDATE" ? name : clause
        case .documents, .values, .initial: return statement == "INSERT" ? name : clause
        case .use:
            switch (try? lexer.next())?.keyword {
            case .index: return "USE INDEX"
            case .directives: return "USE DIRECTIVES"
            default: return name
            }
        default: return name
        }
    }

    private static let statements: [Keyword: String] = [
        .select: "SELECT", .insert: "INSERT", .update: "UPDATE", .delete: "DELETE",
        .evict: "EVICT", .create: "CREATE INDEX", .drop: "DROP INDEX", .explain: "EXPLAIN",
        .profile: "PROFILE", .advise: "ADVISE", .alter: "ALTER SYSTEM", .show: "SHOW",
    ]

    private static let clauses: [Keyword: String] = [
        .from: "FROM", .use: "USE IDS", .join: "JOIN", .inner: "JOIN", .left: "JOIN",
        .right: "JOIN", .on: "JOIN", .where: "WHERE", .group: "GROUP BY", .having: "HAVING",
        .order: "ORDER BY", .limit: "LIMIT", .offset: "OFFSET", .returning: "RETURNING",
        .documents: "DOCUMENTS", .values: "DOCUMENTS", .initial: "INITIAL", .set: "SET",
        .unset: "UNSET", .apply: "APPLY",
    ]

    private static let operators: [Keyword: String] = [
        .like: "LIKE", .ilike: "ILIKE", .similar: "SIMILAR TO", .between: "BETWEEN", .in: "IN",
        .is: "IS NULL",
    ]
}

extension ReferenceLookup {
    /// The names of the entries of statements, clauses and operators that an error may have.
    package static let names: [String] =
        (ClauseScan.names + ["->", "COLLECTION", "USE INDEX", "USE DIRECTIVES", "ON ID CONFLICT"])
        .sorted()
}

extension ClauseScan {
    fileprivate static var names: Set<String> {
        Set(statements.values).union(clauses.values).union(operators.values)
            .union(["CASE", "ANY", "EVERY", "ARRAY", "OBJECT"])
    }
}
