import SheafDocument

/// The kinds of statements, and statements about statements, indexes and the system.
extension Parser {
    private static let documentStatements: [Keyword] = [.select, .insert, .update, .delete, .evict]
    private static let statements =
        documentStatements + [.create, .drop, .explain, .profile, .advise, .alter, .show]

    mutating func body() throws(StoreError) -> Statement.Body {
        try leadingDirectives()
        switch token.keyword {
        case .explain:
            try advance()
            return .explain(try anyStatement())
        case .profile:
            try advance()
            return .profile(try explained())
        case .advise:
            try advance()
            let isProvisioning = try consumeNext(.and)
            if isProvisioning { try expect(.provision) }
            return .advise(try anyStatement(), isProvisioning: isProvisioning)
        case .create: return .createIndex(try createIndex())
        case .drop: return .dropIndex(try dropIndex())
        case .alter: return try alterSystem()
        case .show: return try show()
        default: break
        }
        if let body = try documentStatement() { return body }
        guard token.kind != .endOfStatement else {
            throw failure(.syntax, "the statement is empty")
        }
        throw unexpected("a statement", Self.statements)
    }

    private mutating func leadingDirectives() throws(StoreError) {
        while token.kind == .directive {
            try checkTerms(directives.count, "directives")
            directives.append(try directive())
        }
    }

    /// Parses the statement after EXPLAIN or ADVISE.
    private mutating func anyStatement() throws(StoreError) -> Statement.Body {
        try enter()
        let body = try body()
        leave()
        return body
    }

    /// Parses the statement after PROFILE.
    private mutating func explained() throws(StoreError) -> Statement.Body {
        try leadingDirectives()
        if let body = try documentStatement() { return body }
        throw unexpected("SELECT, INSERT, UPDATE, DELETE or EVICT", Self.documentStatements)
    }

    /// Parses a statement about documents; returns nil if none begins at the current token.
    private mutating func documentStatement() throws(StoreError) -> Statement.Body? {
        switch token.keyword {
        case .select: .select(try select())
        case .insert: .insert(try insert())
        case .update: .update(try update())
        case .delete, .evict: .delete(try delete())
        default: nil
        }
    }

    // MARK: Indexes

    private mutating func createIndex() throws(StoreError) -> CreateIndex {
        try advance()
        guard token.keyword != .collection else {
            throw failure(
                .syntax, "there is no CREATE COLLECTION",
                hint: "inserting a document creates its collection")
        }
        try expect(.index)
        var allowsExisting = false
        if token.keyword == .if, try following().keyword == .not {
            try advance()
            try advance()
            try expect(.exists)
            allowsExisting = true
        }
        let name = try name("the name of the index", in: .besideClauses)
        try expect(.on)
        let collection = try collectionName()
        try expect(.leftParenthesis)
        let fields = try list("fields") { (parser) throws(StoreError) in
            let path = try parser.path("a path")
            if parser.token.kind == .leftParenthesis {
                throw parser.unexpected("ASC, DESC, a comma or )", hint: "only paths are indexed")
            }
            return CreateIndex.Field(path, isDescending: try parser.direction())
        }
        guard try take(.rightParenthesis) else {
            throw unexpected("ASC, DESC, a comma or )", [.asc, .desc])
        }
        return CreateIndex(name, on: collection, fields, allowsExisting: allowsExisting)
    }

    private mutating func dropIndex() throws(StoreError) -> DropIndex {
        try advance()
        guard token.keyword != .collection else {
            throw failure(
                .syntax, "there is no DROP COLLECTION",
                hint: "DELETE removes documents on all peers, EVICT only on this one")
        }
        try expect(.index)
        var allowsMissing = false
        if token.keyword == .if, try following().keyword == .exists {
            try advance()
            try advance()
            allowsMissing = true
        }
        let name = try name("the name of the index", in: .besideClauses)
        try expect(.on)
        return DropIndex(name, on: try collectionName(), allowsMissing: allowsMissing)
    }

    // MARK: System parameters

    private mutating func alterSystem() throws(StoreError) -> Statement.Body {
        try advance()
        try expect(.system)
        if try consumeNext(.reset) {
            if try consumeNext(.all) { return .reset(parameter: nil) }
            return .reset(parameter: try systemParameter())
        }
        guard try consumeNext(.set) else { throw unexpected("SET or RESET", [.set, .reset]) }
        let name = try systemParameter()
        if token.kind == .equal {
            try advance()
        } else {
            guard try consumeNext(.to) else { throw unexpected("= or TO", [.to]) }
        }
        if try consumeNext(.default) { return .reset(parameter: name) }
        return .set(parameter: name, try expression())
    }

    private mutating func show() throws(StoreError) -> Statement.Body {
        try advance()
        guard try consumeNext(.all) else { return .show(parameter: try systemParameter()) }
        let kind: Pattern.Kind? =
            switch token.keyword {
            case .like: .like
            case .ilike: .caseInsensitiveLike
            default: nil
            }
        guard let kind else { return .showAll(nil, pattern: nil) }
        try advance()
        return .showAll(kind, pattern: try expression())
    }

    /// Parses the name of a system parameter, which is not case-sensitive.
    private mutating func systemParameter() throws(StoreError) -> String {
        guard token.kind == .word else { return try name("a system parameter").text.lowercased() }
        let name = lexer.lowercased(token)
        _ = try self.name("a system parameter")
        return name
    }
}
