import SheafDocument
import SheafStorage

/// Documents as writers left them, which no snapshot shows yet: those of commits that are not durable,
/// and those of the transaction in hand.
///
/// The next writer builds on them; readers do not see them.
struct PendingDocuments: Sendable {
    struct Entry: Sendable {
        /// None where the document was taken away.
        let document: StoredDocument?
        /// What has left it so; the transaction in hand has no number yet.
        let commit: CommitID
    }

    /// Stands for the number of the transaction in hand.
    static let uncommitted = CommitID.max

    private var entries: [DocumentKey: Entry] = [:]
    /// The numbers of the collections that have such documents, or had some a moment ago.
    private(set) var collections: Set<UInt16> = []
    /// So many entries are looked through for what can be forgotten.
    private var sweepCount = Self.firstSweepCount
    private static let firstSweepCount = 1_024
    private(set) var lastCommit: CommitID = 0

    var isEmpty: Bool { entries.isEmpty }

    /// The keys of all documents, in no order.
    var keys: some Collection<[UInt8]> { entries.keys.lazy.map(\.bytes) }

    /// What is known of a document; nothing where the newest snapshot tells.
    subscript(key: DocumentKey) -> Entry? { entries.isEmpty ? nil : entries[key] }

    /// What is known of a document; nothing where the newest snapshot tells.
    subscript(bytes: [UInt8]) -> Entry? { entries.isEmpty ? nil : entries[DocumentKey(bytes)] }

    /// Notes what the transaction in hand has made of a document; returns what was known before.
    mutating func note(_ document: StoredDocument?, at key: DocumentKey) -> Entry? {
        let entry = Entry(document: document, commit: Self.uncommitted)
        guard let old = entries.updateValue(entry, forKey: key) else {
            if let number = key.bytes.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) })
            {
                collections.insert(number)
            }
            return nil
        }
        return old
    }

    /// Takes back which collections have such documents.
    mutating func restore(collections: Set<UInt16>) {
        self.collections = collections
    }

    /// Takes back what the transaction in hand has made of a document.
    mutating func restore(_ entry: Entry?, at key: DocumentKey) {
        entries[key] = entry
    }

    /// Notes what a commit did.
    mutating func note(
        _ documents: [(key: DocumentKey, document: StoredDocument?)], of commit: CommitID
    ) {
        lastCommit = commit
        for (key, document) in documents {
            entries[key] = Entry(document: document, commit: commit)
        }
    }

    /// Hands over all of it, and is empty.
    mutating func taken() -> PendingDocuments {
        defer { self = PendingDocuments() }
        return self
    }

    /// Forgets what a snapshot shows.
    mutating func forget(through commit: CommitID) {
        guard !entries.isEmpty || !collections.isEmpty else { return }
        if commit >= lastCommit {
            // Room for many is given back: the next transaction may be a small one.
            entries.removeAll(keepingCapacity: entries.count <= Self.firstSweepCount)
            collections.removeAll(keepingCapacity: true)
            sweepCount = Self.firstSweepCount
        } else if entries.count > sweepCount {
            entries = entries.filter { $0.value.commit > commit }
            // Not with each commit: what is left is looked at again when it has doubled.
            sweepCount = max(Self.firstSweepCount, entries.count * 2)
        }
    }
}
