package import SheafDocument
package import SheafStorage
import Synchronization

/// The change feed: the documents that commits change, recorded under the writer lock.
package final class CommitFeed: Sendable {
    /// A changed document and its state before the change.
    package struct Change: Sendable {
        package let key: DocumentKey
        package let before: StoredDocument?
        /// Whether the document was evicted, even if the same commit wrote it again.
        package let isEvicted: Bool
        package let commit: CommitID
        /// The origin of a received commit; nil for a local commit.
        package let origin: CommitOrigin?
        /// Number of the connection that the commit was received on; nil for a local commit.
        package let connection: UInt64?
        /// The stamp of the original commit, or of the first local write; nil if there is none.
        package let stamp: Stamp?

        package init(
            key: DocumentKey, before: StoredDocument?, isEvicted: Bool, commit: CommitID,
            origin: CommitOrigin?, connection: UInt64?, stamp: Stamp?
        ) {
            self.key = key
            self.before = before
            self.isEvicted = isEvicted
            self.commit = commit
            self.origin = origin
            self.connection = connection
            self.stamp = stamp
        }
    }

    private let isRecording = Atomic(false)
    private let changes = Mutex<[Change]>([])
    /// Commits with too many new documents, which are omitted from `changes`.
    private let omitted = Mutex<[CommitID]>([])
    /// The last commit whose changes are unknown; zero if there is none.
    private let unknown = Mutex<CommitID>(0)
    /// Maximum number of new documents in a received commit that is not omitted.
    private let maximumListed: Int

    package init(maximumListed: Int = .max) {
        self.maximumListed = maximumListed
    }

    /// Starts or stops recording commits; stopping discards the recorded changes.
    package func setRecording(_ wanted: Bool) {
        isRecording.store(wanted, ordering: .relaxed)
        guard !wanted else { return }
        changes.withLock { $0 = [] }
        omitted.withLock { $0 = [] }
        unknown.withLock { $0 = 0 }
    }

    /// Whether changes are recorded.
    var isRecorded: Bool { isRecording.load(ordering: .relaxed) }

    /// Records changes that commits of another process have made.
    package func record(_ new: [Change]) {
        guard isRecorded else { return }
        changes.withLock { $0 += new }
    }

    /// Records that commits up to this one have made changes that are not known.
    package func recordUnknown(through commit: CommitID) {
        guard isRecorded else { return }
        unknown.withLock { $0 = commit }
    }

    /// Whether commits up to `commit` had unknown changes since the last call.
    package func drainUnknown(through commit: CommitID) -> Bool {
        unknown.withLock { unknown in
            guard unknown > 0, unknown <= commit else { return false }
            unknown = 0
            return true
        }
    }

    /// Records the changes of a commit.
    func record(
        _ transaction: borrowing DocumentTransaction, of commit: CommitID,
        from origin: CommitOrigin?
    ) {
        guard isRecording.load(ordering: .relaxed) else { return }
        let stamp = origin?.stamp ?? transaction.stamp
        let encoded = transaction.encoded
        guard transaction.isListed || encoded.newCount <= maximumListed else {
            return omitted.withLock { $0.append(commit) }
        }
        changes.withLock { changes in
            for document in transaction.working where document.isChanged {
                changes.append(
                    Change(
                        key: document.key, before: document.original,
                        isEvicted: document.isEvicted, commit: commit, origin: origin,
                        connection: transaction.connection, stamp: stamp))
            }
            if changes.isEmpty { changes.reserveCapacity(encoded.count) }
            for index in 0..<encoded.count where !transaction.isSuperseded(index) {
                let before = encoded.original(index).map {
                    StoredDocument($0, in: transaction.snapshot)
                }
                changes.append(
                    Change(
                        key: encoded.key(index), before: before, isEvicted: false, commit: commit,
                        origin: origin, connection: transaction.connection, stamp: stamp))
            }
        }
    }

    /// Removes the omitted commits up to `commit` and returns the newest of them.
    func drainOmitted(through commit: CommitID) -> CommitID? {
        omitted.withLock { omitted in
            let last = omitted.last { $0 <= commit }
            omitted.removeAll { $0 <= commit }
            return last
        }
    }

    /// Removes and returns the changes of commits up to `commit`, one per document.
    ///
    /// A change has the state of the document before the first of these commits.
    package func drainMerged(through commit: CommitID) -> [Change] {
        let taken = drain(through: commit)
        // Within one commit each document occurs once.
        guard taken.first?.commit != taken.last?.commit else { return taken }
        var seen: Set<DocumentKey> = []
        return taken.filter { seen.insert($0.key).inserted }
    }

    /// Removes and returns the changes of commits up to `commit`, in commit order.
    package func drain(through commit: CommitID) -> [Change] {
        changes.withLock { changes in
            guard let last = changes.last, last.commit > commit else {
                defer { changes = [] }
                return changes
            }
            let end = changes.firstIndex { $0.commit > commit } ?? changes.endIndex
            defer { changes.removeFirst(end) }
            return Array(changes[..<end])
        }
    }
}
