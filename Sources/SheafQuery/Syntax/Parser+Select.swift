import SheafDocument

/// SELECT, and the clauses that it shares with other statements.
extension Parser {
    mutating func select() throws(StoreError) -> Select {
        try advance()
        while token.kind == .directive {
            try checkTerms(directives.count, "directives")
            directives.append(try directive())
        }
        let isDistinct = try consumeNext(.distinct)
        let columns = try columns()
        guard try consumeNext(.from) else {
            throw unexpected(
                columns.count == 1 ? "a comma or FROM" : "FROM", [.from],
                hint: token.kind == .endOfStatement ? "FROM system:dual has one row" : nil)
        }
        var select = Select(columns: columns, source: try source(as: .selected))
        select.isDistinct = isDistinct
        while let kind = try joinKind() {
            try checkTerms(select.joins.count, "joins", limit: QueryLimits.maximumJoins)
            let source = try source(as: .joined)
            try expect(.on)
            select.joins.append(JoinClause(kind, source, on: try expression()))
        }
        select.condition = try condition()
        if try consumeNext(.group) {
            try expect(.by)
            select.groups = try expressions("groups")
        }
        if try consumeNext(.having) { select.having = try expression() }
        select.ordering = try ordering()
        return select
    }

    private mutating func joinKind() throws(StoreError) -> JoinClause.Kind? {
        let kind: JoinClause.Kind
        switch token.keyword {
        case .join:
            try advance()
            return .inner
        case .inner: kind = .inner
        case .left: kind = .left
        case .right: kind = .right
        default: return nil
        }
        try advance()
        if kind != .inner { _ = try consumeNext(.outer) }
        try expect(.join)
        return kind
    }

    // MARK: Columns

    mutating func columns() throws(StoreError) -> [ResultColumn] {
        try list("columns") { (parser) throws(StoreError) in try parser.column() }
    }

    private mutating func column() throws(StoreError) -> ResultColumn {
        if token.kind == .star {
            let range = token.range
            try advance()
            return .all(qualifier: nil, at: range)
        }
        if let column = try qualifiedStar() { return column }
        let expression = try expression()
        return .expression(expression, alias: try alias())
    }

    /// Parses `orders.*`; returns nil and consumes nothing if other tokens follow.
    private mutating func qualifiedStar() throws(StoreError) -> ResultColumn? {
        guard token.kind == .word || token.kind == .quotedName else { return nil }
        var ahead = lexer
        guard try ahead.next().kind == .dot, try ahead.next().kind == .star else { return nil }
        let name = try name("a collection")
        try advance()
        try advance()
        return .all(qualifier: name, at: SourceRange(name.range.lower, previousEnd))
    }

    /// Parses `[AS] alias`.
    mutating func alias() throws(StoreError) -> Name? {
        if try consumeNext(.as) { return try name("an alias") }
        switch token.kind {
        case .quotedName: return try name("an alias")
        case .word where (token.keyword?.reservation ?? .nowhere) == .nowhere:
            bareAlias = token
            return try name("an alias")
        default: return nil
        }
    }

    // MARK: Clauses

    mutating func condition() throws(StoreError) -> Expression? {
        guard try consumeNext(.where) else { return nil }
        let condition = try expression()
        guard token.kind != .comma else {
            throw unexpected(
                "the end of the statement", Self.clauses, hint: "join conditions with AND or OR")
        }
        return condition
    }

    /// Parses ORDER BY, LIMIT and OFFSET.
    mutating func ordering() throws(StoreError) -> Ordering {
        var terms: [OrderTerm] = []
        if try consumeNext(.order) {
            try expect(.by)
            terms = try list("terms of ORDER BY") { (parser) throws(StoreError) in
                let expression = try parser.expression()
                return OrderTerm(expression, isDescending: try parser.direction())
            }
        }
        let limit = try consumeNext(.limit) ? try expression() : nil
        guard limit == nil || token.kind != .comma else {
            throw unexpected(
                "the end of the statement", Self.clauses, hint: "write LIMIT count OFFSET start")
        }
        let offset = try consumeNext(.offset) ? try expression() : nil
        return Ordering(terms: terms, limit: limit, offset: offset)
    }

    /// Parses ASC or DESC and returns whether it was DESC; ASC is the default.
    mutating func direction() throws(StoreError) -> Bool {
        if try consumeNext(.desc) { return true }
        _ = try consumeNext(.asc)
        return false
    }

    mutating func returning() throws(StoreError) -> [ResultColumn] {
        try consumeNext(.returning) ? try columns() : []
    }
}
