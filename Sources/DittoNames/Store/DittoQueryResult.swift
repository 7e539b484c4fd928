import Sheaf

/// What a statement came to: rows, or what was written.
public final class DittoQueryResult: Sendable {
    /// The rows, in their order.
    public let items: [DittoQueryResultItem]
    private let result: QueryResult

    init(_ result: QueryResult, _ complaints: Complaints) {
        self.result = result
        items = result.items.map { DittoQueryResultItem($0, complaints) }
    }

    /// The commit that has what was written, or the last one that the rows show.
    ///
    /// In a transaction it is nil until the transaction is committed, and stays so when it is rolled
    /// back.
    public var commitID: Int64? { result.commitID }

    /// The ids of the documents that the statement has written, in the order in which it did.
    public func mutatedDocumentIDs() -> [DittoDocumentID] {
        result.mutatedDocumentIDs.map { DittoDocumentID($0) }
    }
}
