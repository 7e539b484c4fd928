import Sheaf

/// The result of a statement: its rows, or the ids of the documents it has written.
public final class DittoQueryResult: Sendable {
    /// The rows, in order.
    public let items: [DittoQueryResultItem]
    private let result: QueryResult
    private let isReading: Bool

    /// Wraps a result; the result of a statement that only reads has no commit.
    init(_ result: QueryResult, isReading: Bool, _ errorHandler: ErrorHandler) {
        self.result = result
        self.isReading = isReading
        items = result.items.map { DittoQueryResultItem($0, errorHandler) }
    }

    /// The commit of the statement; nil for a statement that only reads.
    ///
    /// An UPDATE without matches returns the newest commit. In a transaction it is nil until the
    /// transaction is committed, and stays nil if it is rolled back.
    public var commitID: Int64? { isReading ? nil : result.commitID }

    /// Returns the ids of the documents written by the statement, in the order of the writes.
    public func mutatedDocumentIDs() -> [DittoDocumentID] {
        result.mutatedDocumentIDs.map { DittoDocumentID($0) }
    }
}
