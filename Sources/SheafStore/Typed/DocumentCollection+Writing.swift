import SheafBytes
import SheafDocument
import SheafQuery
public import SheafStatements

/// Writes of documents as instances of a type.
extension DocumentCollection where Document: Encodable {
    /// Maximum number of encoded documents that an upsert keeps in memory.
    private static var chunkLength: Int { 1_000 }

    /// Inserts a document; throws if its id exists.
    ///
    /// An id is generated if the document has none.
    @discardableResult
    public nonisolated(nonsending) func insert(
        _ document: Document
    ) async throws -> WrittenDocuments {
        try await write(document)
    }

    /// Inserts documents in one commit of at most 1 GiB; inserts none if one of them fails.
    ///
    /// They are encoded as they are inserted, so that a long sequence needs little memory besides
    /// the commit itself.
    @discardableResult
    public nonisolated(nonsending) func insert(
        _ documents: some Sequence<Document>
    ) async throws -> WrittenDocuments {
        try await write(documents)
    }

    /// Inserts a document, or sets the fields in which an existing one differs.
    ///
    /// Each stored field becomes equal to that of the instance, also within objects. Fields that
    /// the instance lacks are kept; `save` removes them.
    @discardableResult
    public nonisolated(nonsending) func upsert(
        _ document: Document
    ) async throws -> WrittenDocuments {
        try await upsert(CollectionOfOne(document))
    }

    /// Inserts documents, or sets the fields in which existing ones differ, in one commit.
    @discardableResult
    public nonisolated(nonsending) func upsert(
        _ documents: some Sequence<Document>
    ) async throws -> WrittenDocuments {
        var iterator = documents.makeIterator()
        return try await scope.transaction("upsert into \(name)") { transaction in
            try transaction.upsert(insertion, into: name) { () throws in
                var chunk: [Object] = []
                while chunk.count < Self.chunkLength, let document = iterator.next() {
                    chunk.append(try object(of: document))
                }
                return chunk.isEmpty ? nil : chunk
            }
        }
    }

    private var insertion: DQL { "INSERT INTO \(identifier: name) DOCUMENTS (:documents)" }

    private nonisolated(nonsending) func write(_ document: Document) async throws
        -> WrittenDocuments
    {
        WrittenDocuments(try await scope.execute(insertion, try arguments(inserting: document)))
    }

    /// Returns the arguments of `insertion`, with the document already encoded if possible.
    private func arguments(inserting document: Document) throws -> QueryArguments {
        if let document = encoded(document) { return QueryArguments("documents", document) }
        return QueryArguments(["documents": .object(try object(of: document))])
    }

    /// Returns the encoded document; nil if it needs `ValueEncoder`.
    private func encoded(_ document: Document) -> UnstampedDocument? {
        scope.store.queries.document(encoding: document, coding)
    }

    private nonisolated(nonsending) func write(
        _ documents: some Sequence<Document>
    ) async throws -> WrittenDocuments {
        var iterator = documents.makeIterator()
        return try await scope.transaction("insert into \(name)") { transaction in
            var portions = InsertionPortions<Document>()
            let isEncoded = scope.store.queries.insertsEncodedDocuments
            return try transaction.run(insertion) { () throws in
                try portions.next(
                    { iterator.next() }, encode: { isEncoded ? encoded($0) : nil },
                    value: { .object(try object(of: $0)) })
            }
        }
    }

    /// Writes the fields in which an instance differs from an earlier one, and removes those that
    /// it lacks.
    ///
    /// Fields that are equal in both are not written, so that changes by others to them are kept,
    /// also those of peers that are merged later. Throws if there is no such document.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ document: Document, over original: Document
    ) async throws -> WrittenDocuments {
        let (old, new) = (try object(of: original), try object(of: document))
        guard let id = old[DocumentDecoder.idName], id == new[DocumentDecoder.idName] else {
            throw StoreError(
                .argument,
                "a document can be saved only over one with the same _id, not "
                    + "\(new.idText) over \(old.idText)",
                hint: "insert the document, and delete the other one")
        }
        return try await scope.transaction("save in \(name)") { transaction in
            let written = try transaction.replace(id, in: name, from: old, to: new)
            guard let written else { throw missing(id) }
            return written
        }
    }

    /// Returns the fields of an encoded document.
    private func object(of document: Document) throws -> Object {
        switch try ValueEncoder(coding: coding).encode(document) {
        case .object(let object): return object
        case let value:
            throw StoreError(
                .argument,
                "a document must be encoded as an object; \(Document.self) is encoded as "
                    + value.json.shortened)
        }
    }
}

extension DocumentCollection where Document: Codable {
    /// Reads a document, changes it, and saves it in one transaction; throws if there is none.
    ///
    ///     try await cars.update("a") { $0.mileage += 10 }
    ///
    /// Only the fields that the closure changed are written. Returns the changed document.
    @discardableResult
    public nonisolated(nonsending) func update(
        _ id: some Encodable, _ change: (inout Document) throws -> Void
    ) async throws -> Document {
        let id = try ValueEncoder(coding: coding).encode(id)
        return try await scope.transaction("update in \(name)") { transaction in
            let documents = within(transaction)
            guard let original = try await documents.get(id) else { throw missing(id) }
            var document = original
            try change(&document)
            try await documents.save(document, over: original)
            return document
        }
    }
}

extension DocumentCollection {
    /// Deletes a document; it need not exist.
    @discardableResult
    public nonisolated(nonsending) func delete(
        _ id: some Encodable
    ) async throws -> WrittenDocuments {
        let id = try ValueEncoder(coding: coding).encode(id)
        return try await delete(where: "_id = \(id)")
    }

    /// Deletes the documents that satisfy a condition, which may have an order and a limit.
    @discardableResult
    public nonisolated(nonsending) func delete(
        where condition: DQL
    ) async throws -> WrittenDocuments {
        WrittenDocuments(
            try await scope.execute(
                "DELETE FROM \(identifier: name) WHERE \(part: condition.coded(coding))"))
    }

    fileprivate func missing(_ id: Value) -> StoreError {
        StoreError(
            .notFound, "\(name.shortened) has no document with the _id \(id.json.shortened)",
            hint: "insert it, or use upsert if it may be new")
    }
}

extension Object {
    fileprivate var idText: String {
        self[DocumentDecoder.idName].map { $0.json.shortened } ?? "one without _id"
    }
}
