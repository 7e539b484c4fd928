import SheafDocument

/// The state of a transaction before the current statement.
struct Savepoint: Sendable {
    /// Number of open documents.
    fileprivate(set) var count = 0
    /// Number of encoded changes.
    fileprivate(set) var encodedCount = 0
    /// Number of changed documents.
    fileprivate(set) var changedCount = 0
    /// Total length of the changed documents.
    fileprivate(set) var changedLength = 0
    /// Earlier states of the open documents that the statement changes, by position.
    fileprivate(set) var savedDocuments: [Int: WorkingDocument] = [:]

    /// Catalog, clock and stamp before the statement; nil before the first statement.
    fileprivate(set) var writer: Writer?

    package struct Writer: Sendable {
        package let catalog: Catalog
        package let clock: HybridClock
        package let stamp: Stamp?
        let hasChangedSite: Bool
        /// The collections with changes, on which query plans depend.
        let pendingCollections: Set<UInt16>
    }

    /// Whether a document must be saved before it is changed.
    func needsSaving(_ position: Int) -> Bool {
        position < count && savedDocuments[position] == nil
    }

    /// Saves a document that is about to be changed.
    mutating func save(_ document: WorkingDocument, at position: Int) {
        savedDocuments[position] = document
    }
}

extension DocumentTransaction {
    /// Begins a statement, which can be rolled back until the next one begins.
    package mutating func beginStatement() {
        // The fields are set one by one, because statements are many and short.
        savepoint.count = working.count
        savepoint.encodedCount = pending.encoded.count
        savepoint.changedCount = replaced.count
        savepoint.changedLength = changedLength
        if !savepoint.savedDocuments.isEmpty { savepoint.savedDocuments = [:] }
        savepoint.writer = Savepoint.Writer(
            catalog: catalog, clock: clock, stamp: stamp, hasChangedSite: hasChangedSite,
            pendingCollections: pending.collections)
    }

    /// Rolls back the current statement.
    package mutating func rollBackStatement() {
        for (key, entry) in replaced[savepoint.changedCount...] { pending.restore(entry, at: key) }
        replaced.removeSubrange(savepoint.changedCount...)
        let opened = working[savepoint.count...]
        for document in opened { positions[document.key] = nil }
        rollBackEncoded(to: savepoint.encodedCount, closing: opened)
        working.removeSubrange(savepoint.count...)
        for (position, document) in savepoint.savedDocuments {
            working[position] = document
            // A document that earlier statements changed has an entry, even if it equals its
            // original.
            guard pending.isRecorded(document.key) else { continue }
            _ = pending.record(working[position].current, at: document.key)
        }
        changedLength = savepoint.changedLength
        // New collections are dropped with their documents, and unused stamps are returned.
        if let writer = savepoint.writer {
            (catalog, clock, stamp) = (writer.catalog, writer.clock, writer.stamp)
            hasChangedSite = writer.hasChangedSite
            pending.restore(collections: writer.pendingCollections)
        }
        beginStatement()
    }

    /// Rolls back the complete transaction.
    package mutating func rollBack() {
        for (key, entry) in replaced { pending.restore(entry, at: key) }
        replaced = []
        working = []
        pending.encoded = EncodedChanges()
        superseded = []
        positions = [:]
        beginStatement()
    }

    /// Makes the current state of a document visible to statements.
    mutating func updatePending(_ position: Int) {
        let key = working[position].key
        let entry = pending.record(working[position].current, at: key)
        guard entry?.commit != PendingDocuments.uncommitted else { return }
        replaced.append((key, entry))
    }
}

extension WorkingDocument {
    /// The current state of the document as a stored document.
    var current: StoredDocument? {
        mutating get {
            state.map { StoredDocument($0) }
        }
    }
}
