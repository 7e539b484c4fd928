import SheafDocument
import SheafStorage
import Synchronization

/// What commits change, for those who watch: one writes it down under the lock of those who write.
final class CommitFeed: Sendable {
    /// A document that was changed, and how it was before.
    struct Change: Sendable {
        let key: DocumentKey
        let before: StoredDocument?
        /// Whether it was taken away here, also where it has come again in the same commit.
        let isTakenAway: Bool
        let commit: CommitID
        /// Where the commit came from; none where it was written here.
        let origin: CommitOrigin?
        /// Number of the connection that the commit was received on; nil for a local commit.
        let connection: UInt64?
        /// Who wrote the commit first, and when; none where that is several.
        let stamp: Stamp?
    }

    private let isWanted = Atomic(false)
    private let changes = Mutex<[Change]>([])
    /// Commits of so many new documents that they are not told one by one.
    private let untold = Mutex<[CommitID]>([])
    /// Of how many new documents a commit from elsewhere is told at most.
    private let most: Int

    init(most: Int = .max) {
        self.most = most
    }

    /// Wants to know of all commits from now on, or of none.
    func want(_ wanted: Bool) {
        isWanted.store(wanted, ordering: .relaxed)
        guard !wanted else { return }
        changes.withLock { $0 = [] }
        untold.withLock { $0 = [] }
    }

    func note(
        _ transaction: borrowing DocumentTransaction, of commit: CommitID,
        from origin: CommitOrigin?
    ) {
        guard isWanted.load(ordering: .relaxed) else { return }
        let stamp = origin?.stamp ?? transaction.stamp
        guard transaction.fresh.count <= most else {
            return untold.withLock { $0.append(commit) }
        }
        changes.withLock { changes in
            for document in transaction.working where document.isChanged {
                changes.append(
                    Change(
                        key: document.key, before: document.original,
                        isTakenAway: document.isEvicted, commit: commit, origin: origin,
                        connection: transaction.connection, stamp: stamp))
            }
            if changes.isEmpty { changes.reserveCapacity(transaction.fresh.count) }
            for key in transaction.fresh.keys {
                changes.append(
                    Change(
                        key: key, before: nil, isTakenAway: false, commit: commit, origin: origin,
                        connection: transaction.connection, stamp: stamp))
            }
        }
    }

    /// The last commit up to this one that is not told, and that nobody was told of before.
    func takeUntold(through commit: CommitID) -> CommitID? {
        untold.withLock { untold in
            let last = untold.last { $0 <= commit }
            untold.removeAll { $0 <= commit }
            return last
        }
    }

    /// What commits up to this one have changed, and nobody has taken yet: each document once, as it
    /// was before the first of them.
    func take(through commit: CommitID) -> [Change] {
        let taken = takeEach(through: commit)
        // In one commit each document comes once.
        guard taken.first?.commit != taken.last?.commit else { return taken }
        var seen: Set<DocumentKey> = []
        return taken.filter { seen.insert($0.key).inserted }
    }

    /// What commits up to this one have changed, and nobody has taken yet, commit by commit.
    func takeEach(through commit: CommitID) -> [Change] {
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
