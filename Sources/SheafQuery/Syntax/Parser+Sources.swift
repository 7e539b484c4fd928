import SheafDocument

/// The role of a collection in a statement, which decides what may follow its name.
enum SourceRole: Sendable {
    case selected, joined, inserted, updated, removed

    var hasAlias: Bool { self == .selected || self == .joined }
    var hasUse: Bool { self != .inserted }
}

/// Collections with their types, aliases, directives and USE clauses.
extension Parser {
    mutating func source(as role: SourceRole) throws(StoreError) -> Source {
        let hasKeyword = token.keyword == .collection
        if hasKeyword {
            try advance()
            guard token.kind == .quotedName || token.kind == .word,
                token.keyword?.reservation ?? .nowhere == .nowhere
            else {
                throw unexpected(
                    "the name of a collection after COLLECTION",
                    hint: "for a collection of this name, write `collection` in backticks")
            }
        }
        let name = try collectionName()
        var directives = try sourceDirectives()
        var types: [FieldType] = []
        if token.kind == .leftParenthesis {
            guard role != .updated || hasKeyword else {
                throw unexpected(
                    "APPLY, SET or UNSET", hint: "types are only allowed after UPDATE COLLECTION")
            }
            types = try fieldTypes()
            directives += try sourceDirectives()
        }
        var asOf: AsOf?
        var alias: Name?
        if role.hasAlias {
            asOf = try self.asOf()
            alias = try self.alias()
            directives += try sourceDirectives()
        }
        var uses = Uses()
        while role.hasUse, try consumeNext(.use) { try use(&uses, role) }
        return Source(
            name, hasCollectionKeyword: hasKeyword, types: types, asOf: asOf, alias: alias,
            ids: uses.ids, indexes: uses.indexes, directives: directives + uses.directives)
    }

    /// Parses the name of a collection with its namespace, if any.
    mutating func collectionName() throws(StoreError) -> Name {
        let name = try name("the name of a collection", in: .besideClauses)
        guard token.kind == .colon else { return name }
        guard name.text == "system", token.lower == previousEnd else {
            throw failure(
                .syntax, "unexpected colon after the name of a collection",
                hint: "a parameter is a value, not a name; "
                    + "the only namespace is system")
        }
        try advance()
        let inner = try anyName("the name of a system collection")
        return Name(
            name.text + ":" + inner.text, at: SourceRange(name.range.lower, inner.range.upper))
    }

    /// Parses `AS OF COMMIT number` or `AS OF time`; nil for another alias, which may be `of`.
    private mutating func asOf() throws(StoreError) -> AsOf? {
        guard token.keyword == .as, try following().keyword == .of else { return nil }
        var ahead = self
        try ahead.advance()
        try ahead.advance()
        switch ahead.token.kind {
        case .word where ahead.token.keyword == .commit:
            self = ahead
            try advance()
            return .commit(try moment("the number of a commit"))
        case .string, .colon, .placeholder, .leftParenthesis:
            self = ahead
            return .time(try moment("a time"))
        case .integer, .hexadecimal, .float, .minus, .plus, .leftBracket, .leftBrace:
            throw ahead.noMoment()
        case .word where [.null, .true, .false].contains(ahead.token.keyword):
            throw ahead.noMoment()
        default: return nil
        }
    }

    private func noMoment() -> StoreError {
        unexpected(
            "COMMIT, or a time in quotes", [.commit],
            hint: "for the state after a commit, write AS OF COMMIT and its number; "
                + "milliseconds since 1970 are written in parentheses")
    }

    /// Parses a literal, a parameter or an expression in parentheses.
    private mutating func moment(_ what: StaticString) throws(StoreError) -> Expression {
        switch token.kind {
        case .string, .colon, .placeholder, .integer, .leftParenthesis: try primary()
        default: throw unexpected("\(what)")
        }
    }

    // MARK: Types

    private mutating func fieldTypes() throws(StoreError) -> [FieldType] {
        try enter()
        try expect(.leftParenthesis)
        let types = try list("types") { (parser) throws(StoreError) in try parser.fieldType() }
        guard try take(.rightParenthesis) else { throw unexpected("a comma or )") }
        leave()
        return types
    }

    private mutating func fieldType() throws(StoreError) -> FieldType {
        let name = try name("the name of a field")
        let kind: FieldType.Kind
        switch token.keyword {
        case .map:
            try advance()
            return FieldType(
                name, .map(token.kind == .leftParenthesis ? try fieldTypes() : []))
        case .register: kind = .register
        case .counter: kind = .counter
        case .pnCounter: kind = .olderCounter
        case .attachment: kind = .attachment
        default:
            throw unexpected(
                "MAP, REGISTER, COUNTER, PN_COUNTER or ATTACHMENT",
                [.map, .register, .counter, .pnCounter, .attachment],
                hint: token.kind == .dot ? "declare nested fields in a MAP(..)" : nil)
        }
        try advance()
        return FieldType(name, kind)
    }

    // MARK: USE

    private struct Uses {
        var ids: IDSelection?
        var indexes: [Name] = []
        var directives: [Object] = []
    }

    private mutating func use(_ uses: inout Uses, _ role: SourceRole) throws(StoreError) {
        let start = token
        switch token.keyword {
        case .ids where role == .joined:
            throw failure(
                .syntax, "USE IDS is not allowed in joins",
                hint: "compare _id in the condition instead")
        case .ids:
            guard uses.ids == nil else { throw repeated("USE IDS", start) }
            try advance()
            uses.ids =
                try consumeNext(.list)
                ? .expression(try expression()) : .list(try expressions("ids"))
        case .index:
            guard uses.indexes.isEmpty else { throw repeated("USE INDEX", start) }
            try advance()
            if try take(.leftParenthesis) {
                uses.indexes = try list("indexes") { (parser) throws(StoreError) in
                    try parser.indexName()
                }
                guard try take(.rightParenthesis) else { throw unexpected("a comma or )") }
            } else {
                uses.indexes = [try indexName()]
            }
        case .directives:
            try advance()
            let range = token.range
            let text = try literalText("directives as JSON, in quotes")
            uses.directives.append(try object(json: text, at: range))
        default:
            throw unexpected("IDS, INDEX or DIRECTIVES", [.ids, .index, .directives])
        }
    }

    /// Parses the name of an index, in quotes or not.
    private mutating func indexName() throws(StoreError) -> Name {
        guard token.kind == .string else {
            return try name("the name of an index", in: .besideClauses)
        }
        let range = token.range
        return Name(try literalText("the name of an index"), at: range)
    }

    private func repeated(_ what: String, _ token: Token) -> StoreError {
        failure(.syntax, "duplicate \(what)", at: token.range)
    }

    private mutating func literalText(_ what: StaticString) throws(StoreError) -> String {
        guard token.kind != .colon, token.kind != .placeholder else {
            throw refusedParameter("\(what)")
        }
        guard token.kind == .string else { throw unexpected("\(what)") }
        let text = try lexer.string(token)
        try advance()
        return text
    }

    // MARK: Directives

    private mutating func sourceDirectives() throws(StoreError) -> [Object] {
        var directives: [Object] = []
        while token.kind == .directive {
            try checkTerms(directives.count, "directives")
            directives.append(try directive())
        }
        return directives
    }

    /// Parses the current token, a directive.
    mutating func directive() throws(StoreError) -> Object {
        let spelling = lexer.spelling(token).utf8.dropFirst(3)
        let hasEnd = lexer.byte(at: token.lower) == UInt8(ascii: "/")
        let json = String(Substring(hasEnd ? spelling.dropLast(2) : spelling))
        let object = try object(json: json, at: token.range)
        // `Statement` applies this directive before a planner could refuse a wrong value.
        for field in object where field.name.lowercased() == Directives.strictMode {
            guard case .bool = field.value else {
                throw failure(
                    .meaning,
                    "\(Directives.strictMode) must be true or false, not \(field.value.json)",
                    at: token.range)
            }
        }
        try advance()
        return object
    }

    private func object(json: String, at range: SourceRange) throws(StoreError) -> Object {
        do throws(JSONError) {
            if case .object(let object) = try Value(json: json) { return object }
        } catch {
            throw failure(
                .syntax, "a directive must be a JSON object", hint: "in it, \(error)", at: range)
        }
        throw failure(.syntax, "a directive must be a JSON object", at: range)
    }
}
