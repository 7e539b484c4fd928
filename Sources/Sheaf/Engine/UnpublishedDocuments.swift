import SheafDocument
import SheafStorage

/// Documents as commits left them that no snapshot shows yet.
///
/// The next writer builds on them; readers do not see them.
struct UnpublishedDocuments: Sendable {
    private struct Entry {
        /// None where the document was taken away.
        let document: StoredDocument?
        let commit: CommitID
    }

    private var entries: [[UInt8]: Entry] = [:]
    /// So many entries are looked through for what can be forgotten.
    private var sweepCount = Self.firstSweepCount
    private static let firstSweepCount = 1_024
    private(set) var lastCommit: CommitID = 0

    /// What a commit left of a document; nothing where the newest snapshot tells.
    func document(_ key: [UInt8]) -> StoredDocument?? {
        entries[key].map(\.document)
    }

    /// All documents, and none for those that are gone.
    var documents: [[UInt8]: StoredDocument?] { entries.mapValues(\.document) }

    /// Notes what a commit did.
    mutating func note(
        _ documents: [(key: [UInt8], document: StoredDocument?)], of commit: CommitID
    ) {
        lastCommit = commit
        for (key, document) in documents {
            entries[key] = Entry(document: document, commit: commit)
        }
    }

    /// Hands over all of it, and is empty.
    mutating func taken() -> UnpublishedDocuments {
        defer { self = UnpublishedDocuments() }
        return self
    }

    /// Forgets what a snapshot shows.
    mutating func forget(through commit: CommitID) {
        guard !entries.isEmpty else { return }
        if commit >= lastCommit {
            entries.removeAll(keepingCapacity: true)
            sweepCount = Self.firstSweepCount
        } else if entries.count > sweepCount {
            entries = entries.filter { $0.value.commit > commit }
            // Not with each commit: what is left is looked at again when it has doubled.
            sweepCount = max(Self.firstSweepCount, entries.count * 2)
        }
    }
}
