package import SheafDocument

extension FastPath {
    /// Returns the changes of the statement, or nil if the run needs a plan.
    ///
    /// Whether the document exists is checked when the changes are applied.
    package func mutations(
        _ arguments: ArgumentValues, newID: () -> Value
    ) throws(StoreError) -> MutationPlan? {
        switch self {
        case .insertion(let insertion): return try insertion.mutations(arguments, newID)
        case .lookup(let lookup): return lookup.mutations(arguments)
        }
    }

    /// Returns the key of the only document of the statement, or nil if it must be searched for.
    func key(_ arguments: ArgumentValues, in store: any QueryStore) -> [UInt8]? {
        guard case .lookup(let lookup) = self, let id = lookup.id(arguments) else { return nil }
        return lookup.key(of: id, in: store)
    }
}

extension FastPath {
    /// Returns the first of several inserted documents; empty for other statements.
    package func firstInsertedDocuments(_ count: Int, _ arguments: ArgumentValues) -> [Object] {
        guard case .insertion(let insertion) = self, insertion.documentCount(arguments) > 1 else {
            return []
        }
        return insertion.firstDocuments(count, arguments)
    }
}

extension FastPath.Insertion {
    /// The number of inserted documents, if all arguments are valid.
    func documentCount(_ arguments: ArgumentValues) -> Int {
        documents.reduce(0) { count, document in
            guard case .array(let elements)? = document.operand.value(arguments) else {
                return count + 1
            }
            return count + elements.count
        }
    }

    /// Returns the first documents, at most `count`.
    fileprivate func firstDocuments(_ count: Int, _ arguments: ArgumentValues) -> [Object] {
        var found: [Object] = []
        for document in documents where found.count < count {
            switch document.operand.value(arguments) {
            case .object(let object)?: found.append(object)
            case .array(let elements)?:
                found += elements.prefix(count - found.count).compactMap(\.object)
            default: break
            }
        }
        return found
    }

    fileprivate func mutations(
        _ arguments: ArgumentValues, _ newID: () -> Value
    ) throws(StoreError) -> MutationPlan? {
        var objects: [(Object, SourceRange)] = []
        objects.reserveCapacity(documents.count)
        for (operand, range) in documents {
            switch operand.value(arguments) {
            case .object(let object)?: objects.append((object, range))
            case .array(let elements)?:
                objects.reserveCapacity(objects.count + elements.count)
                for element in elements {
                    guard case .object(let object) = element else { return nil }
                    objects.append((object, range))
                }
            default: return nil
            }
        }
        return try MutationPlanner.plan(
            insert, objects, FieldTypes(isStrict: false), in: text, newID: newID)
    }
}

extension FastPath.Lookup {
    /// Returns the id, or nil if the run needs a plan.
    package func id(_ arguments: ArgumentValues) -> Value? {
        guard let value = id.value(arguments), value.isFoundAlone else { return nil }
        return value
    }

    /// Returns the document with an id as a row, or nil if there is none.
    package func item(_ id: Value, in store: any QueryStore) throws(StoreError) -> ResultItem? {
        guard let key = key(of: id, in: store) else { return nil }
        var item: ResultItem?
        try store.read(key) { (document) throws(StoreError) in
            item = try ResultItem(document, store.names)
        }
        return item
    }

    /// Returns the key of the document, or nil if the collection does not exist.
    fileprivate func key(of id: Value, in store: any QueryStore) -> [UInt8]? {
        store.keyPrefix(ofCollection: collection.text).map {
            SortKey.identity(of: id, behind: $0)
        }
    }

    fileprivate func mutations(_ arguments: ArgumentValues) -> MutationPlan? {
        guard let id = id(arguments) else { return nil }
        switch action {
        case .update(let drafts?, let returnsRows):
            var edits: [Edit] = []
            edits.reserveCapacity(drafts.count)
            for draft in drafts {
                guard let edit = draft.edit(arguments) else { return nil }
                edits.append(edit)
            }
            return plan(
                changing: id, .edit(edits.withoutReplacedValues()), returnsRows: returnsRows)
        case .delete(needsRead: false):
            return plan(changing: id, .delete, returnsRows: false)
        case .select, .update, .delete: return nil
        }
    }

    private func plan(
        changing id: Value, _ action: Mutation.Action, returnsRows: Bool
    ) -> MutationPlan {
        let mutation = Mutation(
            collection: collection.text, id: id, action: action, range: collection.range)
        return MutationPlan(
            mutations: [mutation], returnsOlderDocuments: false, returnsRows: returnsRows,
            older: [], types: FieldTypes(isStrict: false), finding: nil)
    }
}

extension ResultItem {
    /// Creates a row of a document; decodes it if its bytes are invalid after the visit.
    package init(_ document: ScannedDocument, _ names: NameTable) throws(StoreError) {
        if document.isLasting {
            self.init(
                content: .stored(
                    fields: document.fields, id: document.id, position: document.position))
        } else {
            let object = try Row(document).object(FieldTypes(isStrict: false), names)
            self.init(content: .object(object ?? Object()))
        }
    }
}

extension Statement {
    /// Whether the statement touches at most a few documents, known before it runs.
    package func isBrief(_ arguments: ArgumentValues) -> Bool {
        switch fastPath {
        case .lookup: true
        case .insertion(let insertion): insertion.documentCount(arguments) <= 16
        case nil: false
        }
    }
}
