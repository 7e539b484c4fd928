import SheafDocument
package import SheafStorage
import Synchronization

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
    /// Documents that commits have changed once; later changes to them are in `entries`.
    ///
    /// There are few of these commits, because each lookup visits all of them: those with the most
    /// documents. The documents of others are in `entries`.
    private var encodedCommits: [(documents: EncodedChanges, commit: CommitID)] = []
    /// Documents that the current transaction changes once; later changes are in `entries`.
    package var encoded = EncodedChanges()
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
    private static let maximumEncodedCommits = 8
    private static let maximumCopiedEntries = 1 << 15
    package private(set) var lastCommit: CommitID = 0

    /// A document in the form in which a commit wrote it.
    package typealias WrittenDocument = (key: DocumentKey, document: StoredDocument?)

    package init() {}

    /// Whether a transaction copies little if it changes documents while a copy of these exists.
    package var isCheapToCopy: Bool {
        encoded.isEmpty && entries.count <= Self.maximumCopiedEntries
    }

    /// The number of documents that are kept one by one.
    package var entryCount: Int { entries.count }

    package var isEmpty: Bool { entries.isEmpty && encoded.isEmpty && encodedCommits.isEmpty }

    /// Returns the keys of all documents with a prefix, each once, unordered.
    package func keys(startingWith prefix: [UInt8]) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for key in entries.keys where key.bytes.starts(with: prefix) { found.append(key.bytes) }
        for documents in encodedCommits.map(\.documents) + [encoded] {
            for index in 0..<documents.count {
                let key = documents.key(index)
                if key.bytes.starts(with: prefix), entries[key] == nil { found.append(key.bytes) }
            }
        }
        return found
    }

    /// The pending state of a document; nil if the newest snapshot has its current state.
    package subscript(key: DocumentKey) -> Entry? {
        if !entries.isEmpty, let entry = entries[key] { return entry }
        if let index = encoded.index(of: key) {
            return Entry(document: encoded.document(index), commit: Self.uncommitted)
        }
        for commit in encodedCommits {
            if let index = commit.documents.index(of: key) {
                return Entry(document: commit.documents.document(index), commit: commit.commit)
            }
        }
        return nil
    }

    /// Whether the current transaction has recorded a changed state of a document.
    package func isRecorded(_ key: DocumentKey) -> Bool { entries[key]?.commit == Self.uncommitted }

    /// Whether a document is pending.
    package func contains(_ key: DocumentKey) -> Bool {
        !entries.isEmpty && entries[key] != nil || encoded.index(of: key) != nil
            || encodedCommits.contains { $0.documents.index(of: key) != nil }
    }

    /// The pending state of a document; nil if the newest snapshot has its current state.
    package subscript(bytes: [UInt8]) -> Entry? { isEmpty ? nil : self[DocumentKey(bytes)] }

    /// Calls `body` with the index of each row whose document is pending.
    func forEachPending(of rows: [NewDocuments.Row], _ body: (Int) -> Void) {
        guard !isEmpty else { return }
        for index in rows.indices where contains(rows[index].key) { body(index) }
    }

    /// Records a change of the current transaction; returns the entry that it replaces.
    package mutating func record(_ document: StoredDocument?, at key: DocumentKey) -> Entry? {
        let entry = Entry(document: document, commit: Self.uncommitted)
        guard let old = entries.updateValue(entry, forKey: key) else {
            addCollection(of: key)
            return nil
        }
        return old
    }

    /// Adds the only change of a document by the current transaction.
    package mutating func append(
        _ key: DocumentKey, _ kind: UInt8, _ state: UnsafeRawBufferPointer,
        spellsNames: Bool = false, of original: LoggedState? = nil
    ) throws(EngineError) {
        try encoded.append(key, kind, state, spellsNames: spellsNames, of: original)
        addCollection(of: key)
    }

    private mutating func addCollection(of key: DocumentKey) {
        let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
        guard let number, number != lastCollection else { return }
        collections.insert(number)
        lastCollection = number
    }

    /// Restores the set of collections with pending documents.
    package mutating func restore(collections: Set<UInt16>) {
        self.collections = collections
        lastCollection = nil
    }

    /// Restores the entry of a document that the current transaction changed.
    package mutating func restore(_ entry: Entry?, at key: DocumentKey) {
        entries[key] = entry
    }

    /// Records the documents of a commit.
    ///
    /// `discard` updates their entries, and must be called before they are read.
    package mutating func record(_ documents: [WrittenDocument], of commit: CommitID) {
        lastCommit = commit
        unassigned.append((documents, commit))
    }

    /// Replaces the entries of pending commits by the documents as written, with their commits.
    private mutating func assignCommits() {
        for (documents, commit) in unassigned {
            for (key, document) in documents {
                addCollection(of: key)
                entries[key] = Entry(document: document, commit: commit)
            }
        }
        unassigned = []
    }

    /// Records that the encoded changes of the current transaction belong to a commit.
    package mutating func recordEncoded(of commit: CommitID) {
        lastCommit = commit
        guard !encoded.isEmpty else { return }
        encoded.endTransaction()
        encodedCommits.append((encoded, commit))
        encoded = EncodedChanges()
        if encodedCommits.count > Self.maximumEncodedCommits { separateSmallest() }
    }

    /// Moves the documents of the encoded commit with the fewest of them to the entries.
    ///
    /// An entry is several times as large as an encoded change; those of long commits stay encoded.
    private mutating func separateSmallest() {
        let sizes = encodedCommits.map(\.documents.count)
        guard let smallest = sizes.indices.min(by: { sizes[$0] < sizes[$1] }) else { return }
        let (documents, commit) = encodedCommits.remove(at: smallest)
        for index in 0..<documents.count {
            let key = documents.key(index)
            // An entry that exists is of a later change.
            guard entries[key] == nil else { continue }
            entries[key] = Entry(document: documents.document(index), commit: commit)
        }
    }

    /// Returns the pending documents of earlier transactions, and leaves the value empty.
    package mutating func drain() -> PendingDocuments {
        var drained = self
        // Their absent range may contain documents in the next snapshot.
        drained.encoded = EncodedChanges()
        self = PendingDocuments()
        return drained
    }

    /// Drops documents of commits up to `commit`, which the newest snapshot shows; may keep some.
    package mutating func discard(through commit: CommitID) {
        guard !isEmpty || !collections.isEmpty || !unassigned.isEmpty else { return }
        encodedCommits.removeAll { $0.commit <= commit }
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

extension DocumentEngine {
    /// The number of documents of commits that are not durable yet and that are kept one by one.
    package var separatePendingCount: Int { state.withLock { $0.pending.entryCount } }

    /// Releases pending documents if all of their commits are durable, unless a writer is active.
    ///
    /// The next transaction would do so, but a store may be idle for long after a large one.
    func releaseDurable() {
        let commit = store.durableCommit
        _ = state.withLockIfAvailable { state in
            if state.pending.lastCommit <= commit { state.pending.discard(through: commit) }
        }
    }
}
