import SheafDocument
package import SheafStorage

/// Documents of commits that are not durable yet, and of the current transaction.
///
/// The next writer builds on them; readers do not see them.
package struct PendingDocuments: Sendable {
    package struct Entry: Sendable {
        /// The document; nil if it was removed.
        package let document: StoredDocument?
        /// The commit that wrote the document; `uncommitted` for the current transaction.
        package let commit: CommitID
    }

    /// Placeholder for the commit ID of the current transaction.
    static let uncommitted = CommitID.max

    private var entries: [DocumentKey: Entry] = [:]
    /// Documents that are new with their commit; later changes to them are in `entries`.
    private var fresh: [(documents: FreshDocuments, commit: CommitID)] = []
    /// The documents of commits whose entries are still `uncommitted`.
    ///
    /// Usually the commit is durable before the next transaction begins, so `discard` drops them
    /// without updating `entries`.
    private var unassigned: [(documents: [WrittenDocument], commit: CommitID)] = []
    /// Numbers of the collections with pending documents; may include some without.
    package private(set) var collections: Set<UInt16> = []
    /// The collection of the last recorded document, if it is among `collections`.
    private var lastCollection: UInt16?
    /// Number of entries beyond which durable ones are swept.
    private var sweepThreshold = Self.initialSweepThreshold
    private static let initialSweepThreshold = 1_024
    private(set) var lastCommit: CommitID = 0

    /// A document in the form in which a commit wrote it.
    typealias WrittenDocument = (key: DocumentKey, document: StoredDocument?)

    package init() {}

    package var isEmpty: Bool { entries.isEmpty && fresh.isEmpty }

    /// Returns the keys of all documents with a prefix, each once, unordered.
    package func keys(startingWith prefix: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for key in entries.keys where key.bytes.starts(with: prefix) { found.append(key.bytes) }
        for run in fresh {
            for key in run.documents.keys
            where key.bytes.starts(with: prefix) && entries[key] == nil { found.append(key.bytes) }
        }
        return found
    }

    /// The pending state of a document; nil if the newest snapshot has its current state.
    package subscript(key: DocumentKey) -> Entry? {
        if !entries.isEmpty, let entry = entries[key] { return entry }
        for run in fresh.reversed() where !run.documents.sortsLast(key) {
            if let document = run.documents[key] {
                return Entry(document: document, commit: run.commit)
            }
        }
        return nil
    }

    /// The pending state of a document; nil if the newest snapshot has its current state.
    package subscript(bytes: [UInt8]) -> Entry? { isEmpty ? nil : self[DocumentKey(bytes)] }

    /// Calls `body` with the index of each of the sorted rows whose document is pending.
    func forEachPending(of rows: [NewDocuments.Row], _ body: (Int) -> Void) {
        if !entries.isEmpty {
            for index in rows.indices where entries[rows[index].key] != nil { body(index) }
        }
        for run in fresh { run.documents.forEachCommon(with: rows, body) }
    }

    /// Records a change of the current transaction; returns the entry that it replaces.
    mutating func record(_ document: StoredDocument?, at key: DocumentKey) -> Entry? {
        let entry = Entry(document: document, commit: Self.uncommitted)
        guard let old = entries.updateValue(entry, forKey: key) else {
            let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
            if let number, number != lastCollection {
                collections.insert(number)
                lastCollection = number
            }
            return nil
        }
        return old
    }

    /// Restores the set of collections with pending documents.
    mutating func restore(collections: Set<UInt16>) {
        self.collections = collections
        lastCollection = nil
    }

    /// Restores the entry of a document that the current transaction changed.
    mutating func restore(_ entry: Entry?, at key: DocumentKey) {
        entries[key] = entry
    }

    /// Records the documents of a commit.
    ///
    /// `discard` updates their entries, and must be called before they are read.
    mutating func record(_ documents: [WrittenDocument], of commit: CommitID) {
        lastCommit = commit
        unassigned.append((documents, commit))
    }

    /// Replaces the entries of pending commits by the documents as written, with their commits.
    private mutating func assignCommits() {
        for (documents, commit) in unassigned {
            addCollections(of: documents.lazy.map(\.key))
            for (key, document) in documents {
                entries[key] = Entry(document: document, commit: commit)
            }
        }
        unassigned = []
    }

    private mutating func addCollections(of keys: some Sequence<DocumentKey>) {
        var last: UInt16?
        for key in keys {
            let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
            guard let number, number != last else { continue }
            collections.insert(number)
            last = number
        }
    }

    /// Records a commit of documents that are new to the store.
    mutating func record(_ documents: FreshDocuments, of commit: CommitID) {
        lastCommit = commit
        fresh.append((documents, commit))
        addCollections(of: documents.keys)
    }

    /// Returns the contents and leaves the value empty.
    mutating func drain() -> PendingDocuments {
        defer { self = PendingDocuments() }
        return self
    }

    /// Drops documents of commits up to `commit`, which the newest snapshot shows; may keep some.
    mutating func discard(through commit: CommitID) {
        guard !isEmpty || !collections.isEmpty || !unassigned.isEmpty else { return }
        fresh.removeAll { $0.commit <= commit }
        if commit >= lastCommit {
            unassigned = []
            // A large capacity is released: the next transaction may be small.
            entries.removeAll(keepingCapacity: entries.count <= Self.initialSweepThreshold)
            collections.removeAll(keepingCapacity: true)
            lastCollection = nil
            sweepThreshold = Self.initialSweepThreshold
            return
        }
        assignCommits()
        if entries.count > sweepThreshold {
            entries = entries.filter { $0.value.commit > commit }
            // The next sweep runs when the entries have doubled, not on every commit.
            sweepThreshold = max(Self.initialSweepThreshold, entries.count * 2)
        }
    }
}
