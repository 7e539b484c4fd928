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
    /// Documents that were not there before their commit; what was done to them since is in `entries`.
    private var fresh: [(documents: FreshDocuments, commit: CommitID)] = []
    /// The numbers of the collections that have such documents, or had some a moment ago.
    private(set) var collections: Set<UInt16> = []
    /// So many entries are looked through for what can be forgotten.
    private var sweepCount = Self.firstSweepCount
    private static let firstSweepCount = 1_024
    private(set) var lastCommit: CommitID = 0

    var isEmpty: Bool { entries.isEmpty && fresh.isEmpty }

    /// The keys of all documents with one beginning, each once, in no order.
    func keys(startingWith prefix: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for key in entries.keys where key.bytes.starts(with: prefix) { found.append(key.bytes) }
        for run in fresh {
            for key in run.documents.keys
            where key.bytes.starts(with: prefix) && entries[key] == nil { found.append(key.bytes) }
        }
        return found
    }

    /// What is known of a document; nothing where the newest snapshot tells.
    subscript(key: DocumentKey) -> Entry? {
        if !entries.isEmpty, let entry = entries[key] { return entry }
        for run in fresh.reversed() {
            if let document = run.documents[key] {
                return Entry(document: document, commit: run.commit)
            }
        }
        return nil
    }

    /// What is known of a document; nothing where the newest snapshot tells.
    subscript(bytes: [UInt8]) -> Entry? { isEmpty ? nil : self[DocumentKey(bytes)] }

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
        noteCollections(of: documents.lazy.map(\.key))
        for (key, document) in documents {
            entries[key] = Entry(document: document, commit: commit)
        }
    }

    private mutating func noteCollections(of keys: some Sequence<DocumentKey>) {
        var last: UInt16?
        for key in keys {
            let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
            guard let number, number != last else { continue }
            collections.insert(number)
            last = number
        }
    }

    /// Notes a commit of documents that were not there before.
    mutating func note(_ documents: FreshDocuments, of commit: CommitID) {
        lastCommit = commit
        fresh.append((documents, commit))
        noteCollections(of: documents.keys)
    }

    /// Hands over all of it, and is empty.
    mutating func taken() -> PendingDocuments {
        defer { self = PendingDocuments() }
        return self
    }

    /// Forgets what a snapshot shows.
    mutating func forget(through commit: CommitID) {
        guard !isEmpty || !collections.isEmpty else { return }
        fresh.removeAll { $0.commit <= commit }
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
