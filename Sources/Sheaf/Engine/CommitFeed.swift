import SheafDocument
import SheafStorage
import Synchronization

/// What commits change, for those who watch: one writes it down under the lock of those who write.
final class CommitFeed: Sendable {
    /// A document that was changed, and how it was before.
    struct Change: Sendable {
        let key: DocumentKey
        let before: StoredDocument?
        let commit: CommitID
        /// Where the commit came from; none where it was written here.
        let origin: CommitOrigin?
        /// Who wrote the commit first, and when; none where that is several.
        let stamp: Stamp?
    }

    private let isWanted = Atomic(false)
    private let changes = Mutex<[Change]>([])

    /// Wants to know of all commits from now on, or of none.
    func want(_ wanted: Bool) {
        isWanted.store(wanted, ordering: .relaxed)
        if !wanted { changes.withLock { $0 = [] } }
    }

    func note(
        _ documents: [WorkingDocument], of commit: CommitID, from origin: CommitOrigin?,
        at stamp: Stamp?
    ) {
        guard isWanted.load(ordering: .relaxed) else { return }
        changes.withLock { changes in
            for document in documents where document.isChanged {
                changes.append(
                    Change(
                        key: document.key, before: document.original, commit: commit,
                        origin: origin, stamp: origin?.stamp ?? stamp))
            }
        }
    }

    /// What commits up to this one have changed, and nobody has taken yet: each document once, as it
    /// was before the first of them.
    func take(through commit: CommitID) -> [Change] {
        let taken = takeEach(through: commit)
        guard taken.count > 1 else { return taken }
        var seen: Set<DocumentKey> = []
        return taken.filter { seen.insert($0.key).inserted }
    }

    /// What commits up to this one have changed, and nobody has taken yet, commit by commit.
    func takeEach(through commit: CommitID) -> [Change] {
        changes.withLock { changes in
            let end = changes.firstIndex { $0.commit > commit } ?? changes.endIndex
            defer { changes.removeFirst(end) }
            return Array(changes[..<end])
        }
    }
}
