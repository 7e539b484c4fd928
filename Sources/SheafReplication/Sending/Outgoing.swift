import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// A long batch that is sent in parts.
struct Outgoing {
    let snapshot: DocumentSnapshot
    var documents: Documents
    /// Documents that follow these.
    var following: Documents?
    /// The commit after which changes are sent; nil if all documents are sent complete.
    let since: CommitID?
    var complete: Set<DocumentAddress> = []
    /// Whether an earlier batch, to which an acknowledgment may refer, had the same number.
    var isRepeated = false
    /// Results of queries with LIMIT after the batch, and before it.
    var rankings: SubscriptionRankings?
    /// Number of document bytes already sent in this batch.
    var length = 0
    /// Whether a batch of the documents was split off.
    var isSplit = false
    /// The number of a batch for a peer with limited rights; nil for other peers.
    var number: UInt64?
    /// Keys of deleted documents that a peer with limited rights could read.
    var knownDeletions: Set<[UInt8]> = []
    /// The newest document of the batch and of the reconciled list.
    var newestDocument = NewestDocument()
    /// Whether the peer continues to reconcile after this part of the requested documents.
    var isPart = false
    /// The progress that both peers show; nil if it would reveal hidden documents.
    var progress: SyncProgress?

    /// Continues with the following documents when the first ones are sent; returns whether none
    /// are left.
    mutating func isDone() -> Bool {
        switch documents {
        case .keys(let keys, let next): guard next == keys.count else { return false }
        case .matches(let ranges, _): guard ranges.isEmpty else { return false }
        }
        guard let following else { return true }
        (documents, self.following) = (following, nil)
        return false
    }

    enum Documents {
        /// The documents with these keys, starting at index `next`.
        case keys([[UInt8]], next: Int)
        /// The matching documents in ranges, starting at a key of the first one.
        case matches(ArraySlice<MatchRange>, from: [UInt8]?)
    }
}

/// A range of keys of one collection.
struct MatchRange {
    let collection: String
    let keys: KeyRange
}

/// The most recently written document of a batch or of a version list.
struct NewestDocument {
    private var pointer: RecordPointer?

    mutating func update(_ key: [UInt8], in snapshot: DocumentSnapshot) {
        let found = key.span.withUnsafeBytes { snapshot.log.recordPointer(of: $0) }
        if let found { update(found) }
    }

    mutating func update(_ found: RecordPointer) {
        if let pointer, pointer.position >= found.position { return }
        pointer = found
    }

    /// Returns the commit that wrote the document; nil if there is no document.
    func commit(in snapshot: DocumentSnapshot) throws(EngineError) -> CommitID? {
        guard let pointer else { return nil }
        return try onStorage { () throws(StorageError) in
            try snapshot.log.operation(at: pointer).commit
        }
    }
}

/// The delivery of documents that were sent to the peer, or that it already has.
struct Delivery {
    /// The commit whose acknowledgment confirms that the peer has stored the documents.
    let step: CommitID
    /// The newest commit that wrote one of the documents.
    var commit: CommitID
}
