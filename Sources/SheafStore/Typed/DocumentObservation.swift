import SheafDocument
public import SheafStatements

/// The documents of an observed collection, in order.
public struct DocumentList<Document: Sendable>: RandomAccessCollection, Sendable {
    /// The documents as an array.
    public let documents: [Document]
    /// The changes since the previous list of the same loop; nil for the first list, and whenever
    /// the query had to run again.
    public let changes: Diff?

    /// The position of the first document, which is 0.
    public var startIndex: Int { documents.startIndex }
    /// The position after the last document, which is the number of documents.
    public var endIndex: Int { documents.endIndex }
    /// The document at a position.
    public subscript(index: Int) -> Document { documents[index] }
}

/// An asynchronous sequence of the documents of a collection as they change.
///
/// It is a `StoreObservation` whose rows are decoded: after a change, only the documents that
/// differ. An invalid condition is thrown by the first iteration, and so is an error of decoding.
public struct DocumentObservation<Document: Decodable & Sendable>: AsyncSequence, Sendable {
    /// The documents after a change, or the current ones at first.
    public typealias Element = DocumentList<Document>

    private let results: Result<StoreObservation, any Error>
    private let collection: DocumentCollection<Document>

    init(
        _ collection: DocumentCollection<Document>, _ results: Result<StoreObservation, any Error>
    ) {
        self.collection = collection
        self.results = results
    }

    /// Returns an iterator; only one at a time receives lists.
    public func makeAsyncIterator() -> Iterator {
        Iterator(results.map { $0.makeAsyncIterator() }, collection)
    }

    /// An iterator that waits for each list.
    public struct Iterator: AsyncIteratorProtocol {
        private var results: Result<StoreObservation.Iterator, any Error>
        private let collection: DocumentCollection<Document>
        private var documents: [Document]?

        fileprivate init(
            _ results: Result<StoreObservation.Iterator, any Error>,
            _ collection: DocumentCollection<Document>
        ) {
            self.results = results
            self.collection = collection
        }

        /// Waits for the next list; returns nil after the end of the sequence.
        public mutating func next() async throws -> DocumentList<Document>? {
            var iterator = try results.get()
            guard let result = try await iterator.next() else { return nil }
            results = .success(iterator)
            let changes = documents == nil ? nil : result.changes
            if let changes {
                let collection = collection
                try documents?.apply(changes) { try collection.decode(result, $0) }
            } else {
                documents = try collection.decode(result)
            }
            return DocumentList(documents: documents ?? [], changes: changes)
        }
    }
}

extension DocumentCollection where Document: Decodable & Sendable {
    /// Returns the documents that satisfy a condition, or all of them, as they change.
    ///
    ///     for try await cars in cars.observe(where: "color = \(color) ORDER BY mileage") {
    ///         show(cars.documents)
    ///     }
    ///
    /// A transaction reads one snapshot, so its collections cannot be observed: the loop throws.
    public func observe(where condition: DQL? = nil) -> DocumentObservation<Document> {
        DocumentObservation(
            self,
            Result {
                guard case .store(let store) = scope else {
                    throw StoreError(
                        .meaning, "a collection of a transaction cannot be observed",
                        hint: "observe Store.collection, outside of the transaction")
                }
                return try store.observe(selection(condition))
            })
    }
}
