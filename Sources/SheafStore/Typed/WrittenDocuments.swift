public import SheafDocument
import SheafStatements

/// The documents that a typed call wrote.
///
///     let written = try await cars.insert(car)
///     if let commit = written.commitID { try await peer.sync.wait(for: commit, on: other) }
public struct WrittenDocuments: Sendable {
    /// The ids of the documents, in the order of the writes.
    public let ids: [Value]
    private let commit: ResultCommit

    /// The commit with the documents, or the newest one if nothing was written.
    ///
    /// In a transaction it is nil until the transaction is committed, and stays nil if it is rolled
    /// back.
    public var commitID: Int64? { commit.value }

    /// The number of documents.
    public var count: Int { ids.count }

    /// Whether nothing was written.
    public var isEmpty: Bool { ids.isEmpty }

    init(_ ids: [Value], _ commit: ResultCommit) {
        self.ids = ids
        self.commit = commit
    }

    init(_ result: QueryResult) {
        self.init(result.mutatedDocumentIDs, result.storage.commit)
    }
}
