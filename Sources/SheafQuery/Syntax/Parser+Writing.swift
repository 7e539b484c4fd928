import SheafDocument

/// INSERT, UPDATE, DELETE and EVICT.
extension Parser {
    mutating func insert() throws(StoreError) -> Insert {
        try advance()
        try expect(.into)
        if let columns = try columnList() { throw columns }
        let source = try source(as: .inserted)
        if token.keyword == .select {
            let documents = Insert.Documents.select(try select())
            let conflict = try conflict()
            return Insert(
                into: source, documents, isInitial: false, onConflict: conflict,
                returning: try returning())
        }
        let isInitial = try consumeNext(.initial)
        let documents = Insert.Documents.expressions(try documents(isInitial: isInitial))
        guard !isInitial else {
            guard token.keyword != .on, token.keyword != .returning else {
                throw unexpected(
                    "the end of the statement",
                    hint: "INSERT .. INITIAL always skips existing documents")
            }
            return Insert(
                into: source, documents, isInitial: true, onConflict: .doNothing, returning: [])
        }
        let conflict = try conflict()
        return Insert(
            into: source, documents, isInitial: false, onConflict: conflict,
            returning: try returning())
    }

    /// Returns the error for `INSERT INTO t (a, b) VALUES ..`; nil if no column list follows.
    private func columnList() throws(StoreError) -> StoreError? {
        var ahead = self
        if ahead.token.keyword == .collection { try ahead.advance() }
        guard ahead.token.kind == .word || ahead.token.kind == .quotedName else { return nil }
        let collection = try ahead.anyName("a collection")
        guard ahead.token.kind == .leftParenthesis else { return nil }
        let list = ahead.token
        var columns: [String] = []
        repeat {
            try ahead.advance()
            guard ahead.token.kind == .word || ahead.token.kind == .quotedName else { return nil }
            columns.append(try ahead.anyName("a column").text)
        } while ahead.token.kind == .comma && columns.count < 100
        guard ahead.token.kind == .rightParenthesis else { return nil }
        var example = Printer()
        example.write("INSERT INTO ")
        example.write(name: collection.text)
        example.write(" DOCUMENTS ({ ")
        for (index, column) in columns.prefix(8).enumerated() {
            if index > 0 { example.write(", ") }
            example.write(string: column)
            example.write(": ..")
        }
        if columns.count > 8 { example.write(", ..") }
        example.write(" })")
        let isShort = example.text.utf8.count <= 160
        return failure(
            .syntax, "INSERT takes documents, not columns",
            hint: "write "
                + (isShort ? example.text : "INSERT INTO .. DOCUMENTS ({ 'field': .. })"),
            at: SourceRange(list.lower, ahead.token.upper))
    }

    private mutating func documents(isInitial: Bool) throws(StoreError) -> [Expression] {
        guard token.keyword == .documents || token.keyword == .values else {
            throw unexpected(
                isInitial ? "DOCUMENTS or VALUES" : "DOCUMENTS, VALUES, INITIAL or SELECT",
                [.documents, .values, .initial, .select])
        }
        try advance()
        return try list("documents") { (parser) throws(StoreError) in
            try parser.expect(.leftParenthesis)
            let document = try parser.expression()
            guard try parser.take(.rightParenthesis) else {
                throw parser.unexpected(
                    ")",
                    hint: parser.token.kind == .comma
                        ? "put each document in its own parentheses" : nil)
            }
            return document
        }
    }

    /// Parses `ON ID CONFLICT ..`; without it, a conflict is an error.
    private mutating func conflict() throws(StoreError) -> Insert.Conflict {
        guard try consumeNext(.on) else { return .fail }
        try expect(.id)
        try expect(.conflict)
        let hasDo = try consumeNext(.do)
        if try consumeNext(.fail) { return .fail }
        guard hasDo else { throw unexpected("DO or FAIL", [.do, .fail]) }
        if try consumeNext(.nothing) { return .doNothing }
        if try consumeNext(.update) { return .merge }
        if try consumeNext(.merge) { return .merge }
        if try consumeNext(.updateLocalDiff) { return .mergeDifferences }
        throw unexpected(
            "FAIL, NOTHING, UPDATE, MERGE or UPDATE_LOCAL_DIFF",
            [.fail, .nothing, .update, .merge, .updateLocalDiff])
    }

    mutating func update() throws(StoreError) -> Update {
        try advance()
        let source = try source(as: .updated)
        var writer = AssignmentList(types: source.types)
        if try consumeNext(.apply) { try applications(&writer) }
        if try consumeNext(.set) { try settings(&writer) }
        if try consumeNext(.unset) {
            repeat {
                try checkTerms(writer.assignments.count, "assignments")
                writer.assignments.append(.unset(try target()))
            } while try take(.comma)
        }
        guard !writer.assignments.isEmpty else {
            throw unexpected("APPLY, SET or UNSET", [.apply, .set, .unset])
        }
        let condition = try condition()
        return Update(
            source, writer.assignments, condition: condition, returning: try returning())
    }

    mutating func delete() throws(StoreError) -> Delete {
        let isEviction = token.keyword == .evict
        try advance()
        try expect(.from)
        let source = try source(as: .removed)
        let condition = try condition()
        let ordering = try ordering()
        return Delete(
            from: source, isEviction: isEviction, condition: condition, ordering: ordering,
            returning: try returning())
    }
}
