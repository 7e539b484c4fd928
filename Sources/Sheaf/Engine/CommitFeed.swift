import SheafStorage
import Synchronization

/// What commits change, for those who watch: one writes it down under the lock of those who write.
final class CommitFeed: Sendable {
    /// A document that was changed, and how it was before.
    struct Change: Sendable {
        let key: DocumentKey
        let before: StoredDocument?
        let commit: CommitID
    }

    private let isWanted = Atomic(false)
    private let changes = Mutex<[Change]>([])

    /// Wants to know of all commits from now on, or of none.
    func want(_ wanted: Bool) {
        isWanted.store(wanted, ordering: .relaxed)
        if !wanted { changes.withLock { $0 = [] } }
    }

    func note(_ documents: [WorkingDocument], of commit: CommitID) {
        guard isWanted.load(ordering: .relaxed) else { return }
        changes.withLock { changes in
            for document in documents where document.isChanged {
                changes.append(
                    Change(key: document.key, before: document.original, commit: commit))
            }
        }
    }

    /// What commits up to this one have changed, and nobody has taken yet: each document once, as it
    /// was before the first of them.
    func take(through commit: CommitID) -> [Change] {
        let taken = changes.withLock { changes in
            let end = changes.firstIndex { $0.commit > commit } ?? changes.endIndex
            defer { changes.removeFirst(end) }
            return changes[..<end]
        }
        guard taken.count > 1 else { return Array(taken) }
        var seen: Set<DocumentKey> = []
        return taken.filter { seen.insert($0.key).inserted }
    }
}
