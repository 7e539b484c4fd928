package import SheafDocument

/// The progress of documents that a peer sends together, as in a first sync.
public struct SyncProgress: Sendable, Hashable {
    /// Number of documents that have arrived or been sent.
    public internal(set) var documents: Int
    /// The estimated number of documents that follow; nil if unknown.
    public internal(set) var remaining: Int?

    /// Creates the progress before the first document.
    package init(of remaining: Int?) {
        documents = 0
        self.remaining = remaining
    }

    /// Moves documents from the remaining ones to those that have arrived or been sent.
    package mutating func advance(by count: Int) {
        documents += count
        remaining = remaining.map { max(0, $0 - count) }
    }

    /// The number of remaining documents as it is sent to the peer: 0 if unknown, else at least 1.
    package var sentNumber: UInt64 { remaining.map { UInt64(max(1, $0)) } ?? 0 }
}

extension Value {
    /// Returns the progress as an object of a system collection; null if there is none.
    package static func progress(_ progress: SyncProgress?) -> Value {
        guard let progress else { return .null }
        return .object([
            "documents": .integer(Int64(progress.documents)),
            "remaining": progress.remaining.map { .integer(Int64($0)) } ?? .null,
        ])
    }
}
