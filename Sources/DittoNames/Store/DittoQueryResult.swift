import Sheaf

/// What a statement came to: rows, or what was written.
public final class DittoQueryResult: Sendable {
    /// The rows, in their order.
    public let items: [DittoQueryResultItem]
    private let result: QueryResult
    private let isReading: Bool

    /// Wraps a result; one of a statement that only reads has no commit.
    init(_ result: QueryResult, isReading: Bool, _ complaints: Complaints) {
        self.result = result
        self.isReading = isReading
        items = result.items.map { DittoQueryResultItem($0, complaints) }
    }

    /// The commit that has what was written; nil for a statement that only reads.
    ///
    /// An UPDATE that matches nothing has the newest commit there is. In a transaction it is nil until the
    /// transaction is committed, and stays so when it is rolled back.
    public var commitID: Int64? { isReading ? nil : result.commitID }

    /// The ids of the documents that the statement has written, in the order in which it did.
    public func mutatedDocumentIDs() -> [DittoDocumentID] {
        result.mutatedDocumentIDs.map { DittoDocumentID($0) }
    }
}
