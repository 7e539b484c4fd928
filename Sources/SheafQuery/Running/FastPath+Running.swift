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

    /// Returns the only change of a statement that returns no rows; nil if the run needs more.
    package func mutation(_ arguments: ArgumentValues, newID: () -> Value) -> Mutation? {
        switch self {
        case .insertion(let insertion): insertion.mutation(arguments, newID)
        case .lookup(let lookup): lookup.mutation(arguments)
        }
    }

    /// Returns the insertion of a single document that can be encoded without an `Object`; nil for
    /// other statements.
    package func singleInsertion(_ arguments: ArgumentValues) -> SingleInsertion? {
        guard case .insertion(let insertion) = self,
            insertion.hasJSONText || arguments.isUnstampedDocument
        else { return nil }
        return insertion.single(arguments)
    }

    /// The insertion of a single document: one that is encoded, or a JSON text.
    package struct SingleInsertion {
        package enum Document {
            case unstamped(UnstampedDocument)
            case json(String)
        }

        package let document: Document
        private let insertion: Insertion

        fileprivate init(_ document: Document, _ insertion: Insertion) {
            (self.document, self.insertion) = (document, insertion)
        }

        /// Returns the insertion of `document`; nil if its id needs a plan.
        package func mutation(_ document: UnstampedDocument, newID: () -> Value) -> Mutation? {
            let id = document.id ?? newID()
            guard id.isFoundAlone else { return nil }
            return Mutation(
                collection: insertion.insert.source.name.text, id: id,
                action: .insertUnstamped(document, onConflict: insertion.insert.conflict),
                range: insertion.documents[0].range)
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
            // A JSON text counts as one document, because it is not parsed here.
            guard !document.isJSON, document.operand.unstampedDocument(arguments) == nil,
                case .array(let elements)? = document.operand.value(arguments)
            else { return count + 1 }
            return count + elements.count
        }
    }

    /// Maximum length of a JSON text that is inserted at once.
    private static let briefTextLength = 1 << 14

    /// Whether the statement inserts few documents; JSON texts are judged by their length.
    fileprivate func isBrief(_ arguments: ArgumentValues) -> Bool {
        guard documentCount(arguments) <= 16 else { return false }
        return documents.allSatisfy { document in
            guard document.isJSON, case .string(let text)? = document.operand.value(arguments)
            else { return true }
            // A short array can have thousands of documents.
            return text.utf8.count <= Self.briefTextLength
                && text.utf8.first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "{")
        }
    }

    /// Returns the first documents, at most `count`.
    fileprivate func firstDocuments(_ count: Int, _ arguments: ArgumentValues) -> [Object] {
        var found: [Object] = []
        // Texts are parsed once, when they are inserted.
        for document in documents where found.count < count && !document.isJSON {
            switch document.operand.value(arguments) {
            case .object(let object)?: found.append(object)
            case .array(let elements)?:
                found += elements.prefix(count - found.count).compactMap(\.object)
            default: break
            }
        }
        return found
    }

    fileprivate func single(_ arguments: ArgumentValues) -> FastPath.SingleInsertion? {
        guard documents.count == 1, insert.returning.isEmpty, !insert.isInitial else { return nil }
        let document = documents[0]
        if let encoded = document.operand.unstampedDocument(arguments) {
            return document.isJSON ? nil : FastPath.SingleInsertion(.unstamped(encoded), self)
        }
        guard document.isJSON, case .string(let text)? = document.operand.value(arguments) else {
            return nil
        }
        return FastPath.SingleInsertion(.json(text), self)
    }

    /// Returns the insertion of one document; nil for several ones, and if the run needs more.
    fileprivate func mutation(_ arguments: ArgumentValues, _ newID: () -> Value) -> Mutation? {
        guard documents.count == 1, insert.returning.isEmpty, !insert.isInitial,
            !documents[0].isJSON,
            case .object(let object)? = documents[0].operand.value(arguments)
        else { return nil }
        let id = object[Row.idName] ?? newID()
        guard id.isFoundAlone else { return nil }
        return Mutation(
            collection: insert.source.name.text, id: id,
            action: .insert(object, [], onConflict: insert.conflict), range: documents[0].range)
    }

    fileprivate func mutations(
        _ arguments: ArgumentValues, _ newID: () -> Value
    ) throws(StoreError) -> MutationPlan? {
        var objects: [(Object, SourceRange)] = []
        objects.reserveCapacity(documents.count)
        for document in documents {
            let range = document.range
            switch document.value(arguments) {
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
        guard let mutation = change(arguments) else { return nil }
        return MutationPlan(
            mutations: [mutation], returnsOlderDocuments: false, returnsRows: returnsRows,
            older: [], types: FieldTypes(isStrict: false), finding: nil)
    }

    /// Returns the change of the document; nil if rows are returned or the run needs more.
    fileprivate func mutation(_ arguments: ArgumentValues) -> Mutation? {
        returnsRows ? nil : change(arguments)
    }

    private var returnsRows: Bool {
        if case .update(_, returnsRows: true) = action { true } else { false }
    }

    private func change(_ arguments: ArgumentValues) -> Mutation? {
        guard let id = id(arguments) else { return nil }
        switch action {
        case .update(let drafts?, _):
            var edits: [Edit] = []
            edits.reserveCapacity(drafts.count)
            for draft in drafts {
                guard let edit = draft.edit(arguments) else { return nil }
                edits.append(edit)
            }
            return Mutation(
                collection: collection.text, id: id,
                action: .edit(edits.withoutReplacedValues()), range: collection.range)
        case .delete(needsRead: false):
            return Mutation(
                collection: collection.text, id: id, action: .delete, range: collection.range)
        case .select, .update, .delete: return nil
        }
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
        case .insertion(let insertion): insertion.isBrief(arguments)
        case nil: false
        }
    }
}
