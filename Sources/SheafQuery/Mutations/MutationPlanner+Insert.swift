package import SheafDocument

/// Planning of INSERT.
extension MutationPlanner {
    /// Plans an INSERT of documents in the statement, or of `rows` if it has a SELECT.
    func plan(_ insert: Insert, rows: [Object]?) throws(StoreError) -> MutationPlan {
        try check(insert)
        let compiler = environment.compiler()
        return try Self.plan(
            insert, try documents(of: insert, rows, compiler), types(of: insert.source),
            in: environment.text, newID: newID)
    }

    /// Throws for system collections, reserved names and invalid directives.
    private func check(_ insert: Insert) throws(StoreError) {
        try checkChangeable(insert.source)
        _ = try environment.hints(insert.source)
    }

    /// Returns the SELECT whose rows are inserted, or nil if the statement contains documents.
    func selection(_ insert: Insert) throws(StoreError) -> Select? {
        try check(insert)
        if case .select(let select) = insert.documents { return select }
        return nil
    }

    /// Plans the insertion of documents, each with its position in the statement.
    static func plan(
        _ insert: Insert, _ documents: [(Object, SourceRange)], _ types: FieldTypes,
        in text: String, newID: () -> Value
    ) throws(StoreError) -> MutationPlan {
        var mutations: [Mutation] = []
        mutations.reserveCapacity(documents.count)
        var seen: Set<[UInt8]> = []
        for (object, range) in documents {
            var object = object
            let id = object[Row.idName] ?? newID()
            // The insertion ignores the id; removing it here would copy all fields in the usual
            // case.
            if insert.isInitial || !types.isPlain { object[Row.idName] = nil }
            // The id of a single document is checked here only if it is unusual.
            if documents.count > 1 || !id.isFoundAlone {
                let key: [UInt8]
                do throws(DocumentError) { key = try DocumentID.key(of: id) } catch {
                    throw StoreError(.argument, "\(error)", at: range, in: text)
                }
                guard seen.insert(key).inserted else {
                    throw StoreError.repeatedID(id).located(at: range, in: text)
                }
            }
            let typed = try InsertionTyper(text: text, range: range)
                .split(object, types, isInitial: insert.isInitial)
            mutations.append(
                Mutation(
                    collection: insert.source.name.text, id: id,
                    action: insert.isInitial
                        ? .insertInitial(typed.object)
                        : .insert(typed.object, typed.edits, onConflict: insert.conflict),
                    range: range))
        }
        return MutationPlan(
            mutations: mutations, returnsOlderDocuments: false,
            returnsRows: !insert.returning.isEmpty, older: [], types: types, finding: nil)
    }

    private func documents(
        of insert: Insert, _ rows: [Object]?, _ compiler: ExpressionCompiler
    ) throws(StoreError) -> [(Object, SourceRange)] {
        if let rows { return rows.map { ($0, insert.source.name.range) } }
        guard case .expressions(let expressions) = insert.documents else { return [] }
        var documents: [(Object, SourceRange)] = []
        for expression in expressions {
            switch try compiler.constant(expression, for: "a document") {
            case .object(let object)?: documents.append((object, expression.range))
            case .array(let elements)?:
                for (index, element) in elements.enumerated() {
                    guard case .object(let object) = element else {
                        throw compiler.error(
                            .argument,
                            "a document must be an object, not \(element.json) at index \(index) "
                                + "of the array", expression)
                    }
                    documents.append((object, expression.range))
                }
            case let value:
                throw compiler.error(
                    .argument,
                    "a document must be an object, not \(value?.json ?? "MISSING")", expression)
            }
        }
        return documents
    }
}

extension StoreError {
    /// Returns the error of an INSERT of two documents with one id.
    package static func repeatedID(_ id: Value) -> StoreError {
        StoreError(.conflict, "two documents of one INSERT have the _id \(id.json)")
    }
}
