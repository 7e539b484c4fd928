/// Printing of statements in a canonical form, with upper-case keywords and single spaces.
extension Statement: CustomStringConvertible {
    package var description: String {
        var printer = Printer()
        printer.write(directives: directives, isLeading: true)
        printer.write(body)
        return printer.text
    }
}

extension Printer {
    mutating func write(_ body: Statement.Body) {
        switch body {
        case .select(let select): write(select)
        case .insert(let insert): write(insert)
        case .update(let update): write(update)
        case .delete(let delete): write(delete)
        case .createIndex(let index): write(index)
        case .dropIndex(let index):
            write(index.allowsMissing ? "DROP INDEX IF EXISTS " : "DROP INDEX ")
            write(name: index.name.text)
            write(" ON ")
            write(collection: index.collection)
        case .explain(let body): write("EXPLAIN ", body)
        case .profile(let body): write("PROFILE ", body)
        case .advise(let body, let isProvisioning):
            write(isProvisioning ? "ADVISE AND PROVISION " : "ADVISE ", body)
        case .set(let parameter, let value):
            write("ALTER SYSTEM SET ")
            write(name: parameter)
            write(" = ")
            write(value)
        case .reset(let parameter):
            write("ALTER SYSTEM RESET ")
            if let parameter { write(name: parameter) } else { write("ALL") }
        case .show(let parameter):
            write("SHOW ")
            write(name: parameter)
        case .showAll(let kind, let pattern):
            write("SHOW ALL")
            write(kind.map { " \($0.rawValue)" } ?? "", pattern)
        }
    }

    private mutating func write(_ prefix: String, _ body: Statement.Body) {
        write(prefix)
        write(body)
    }

    /// Writes a clause if it is present.
    private mutating func write(_ words: String, _ expression: Expression?) {
        guard let expression else { return }
        write(words + " ")
        write(expression)
    }

    private mutating func write(_ index: CreateIndex) {
        write(index.allowsExisting ? "CREATE INDEX IF NOT EXISTS " : "CREATE INDEX ")
        write(name: index.name.text)
        write(" ON ")
        write(collection: index.collection)
        write(" (")
        write(index.fields) { printer, field in
            printer.write(path: field.path.names)
            if field.isDescending { printer.write(" DESC") }
        }
        write(")")
    }

    // MARK: Reading

    private mutating func write(_ select: Select) {
        write(select.isDistinct ? "SELECT DISTINCT " : "SELECT ")
        write(columns: select.columns)
        write(" FROM ")
        write(select.source)
        for join in select.joins {
            write(join.kind == .inner ? " JOIN " : " \(join.kind.rawValue) JOIN ")
            write(join.source)
            write(" ON ")
            write(join.condition)
        }
        write(" WHERE", select.condition)
        if !select.groups.isEmpty { write(list: select.groups, " GROUP BY ", "") }
        write(" HAVING", select.having)
        write(select.ordering)
    }

    private mutating func write(columns: [ResultColumn]) {
        write(columns) { printer, column in
            switch column {
            case .all(let qualifier, _):
                if let qualifier {
                    printer.write(name: qualifier.text)
                    printer.write(".")
                }
                printer.write("*")
            case .expression(let expression, let alias):
                printer.write(expression)
                printer.write(alias: alias)
            }
        }
    }

    private mutating func write(alias: Name?) {
        guard let alias else { return }
        write(" AS ")
        write(name: alias.text)
    }

    private mutating func write(_ ordering: Ordering) {
        if !ordering.terms.isEmpty {
            write(" ORDER BY ")
            write(ordering.terms) { printer, term in
                printer.write(term.expression)
                if term.isDescending { printer.write(" DESC") }
            }
        }
        write(" LIMIT", ordering.limit)
        write(" OFFSET", ordering.offset)
    }

    // MARK: Collections

    private mutating func write(collection name: Name) { write(collection: name.text) }

    /// Writes the name of a collection, with `system:` for system collections.
    mutating func write(collection name: String) {
        let system = "system:"
        guard name.utf8.starts(with: system.utf8) else { return write(name: name) }
        write(system)
        write(name: String(Substring(name.utf8.dropFirst(system.utf8.count))))
    }

    private mutating func write(_ source: Source) {
        if source.hasCollectionKeyword { write("COLLECTION ") }
        write(collection: source.name)
        write(directives: source.directives, isLeading: false)
        if !source.types.isEmpty {
            write(" ")
            write(types: source.types)
        }
        switch source.asOf {
        case .commit(let number)?: write(" AS OF COMMIT", number)
        case .time(let time)?: write(" AS OF", time)
        case nil: break
        }
        write(alias: source.alias)
        switch source.ids {
        case .list(let ids)?: write(list: ids, " USE IDS ", "")
        case .expression(let ids)?: write(" USE IDS LIST", ids)
        case nil: break
        }
        if let index = source.index {
            write(" USE INDEX ")
            if source.indexes.count > 1 { write("(") }
            write(string: index.text)
            for index in source.indexes.dropFirst() {
                write(", ")
                write(string: index.text)
            }
            if source.indexes.count > 1 { write(")") }
        }
    }

    private mutating func write(types: [FieldType]) {
        write("(")
        write(types) { printer, type in
            printer.write(name: type.name.text)
            switch type.kind {
            case .map(let inner):
                printer.write(" MAP")
                if !inner.isEmpty { printer.write(types: inner) }
            case .register: printer.write(" REGISTER")
            case .counter: printer.write(" COUNTER")
            case .olderCounter: printer.write(" PN_COUNTER")
            case .attachment: printer.write(" ATTACHMENT")
            }
        }
        write(")")
    }

    // MARK: Writing

    private mutating func write(_ insert: Insert) {
        write("INSERT INTO ")
        write(insert.source)
        switch insert.documents {
        case .select(let select):
            write(" ")
            write(select)
        case .expressions(let documents):
            write(insert.isInitial ? " INITIAL DOCUMENTS " : " DOCUMENTS ")
            write(documents) { printer, document in
                printer.write("(")
                printer.write(document)
                printer.write(")")
            }
        }
        if !insert.isInitial {
            switch insert.conflict {
            case .fail: break
            case .doNothing: write(" ON ID CONFLICT DO NOTHING")
            case .merge: write(" ON ID CONFLICT DO MERGE")
            case .mergeDifferences: write(" ON ID CONFLICT DO UPDATE_LOCAL_DIFF")
            }
        }
        write(returning: insert.returning)
    }

    private mutating func write(_ update: Update) {
        write("UPDATE ")
        write(update.source)
        write(assignments: update.assignments)
        write(" WHERE", update.condition)
        write(returning: update.returning)
    }

    private mutating func write(_ delete: Delete) {
        write(delete.isEviction ? "EVICT FROM " : "DELETE FROM ")
        write(delete.source)
        write(" WHERE", delete.condition)
        write(delete.ordering)
        write(returning: delete.returning)
    }

    private mutating func write(returning columns: [ResultColumn]) {
        guard !columns.isEmpty else { return }
        write(" RETURNING ")
        write(columns: columns)
    }
}
