import SheafDocument

/// What a transaction was before the statement in hand.
struct Savepoint: Sendable {
    /// How many documents had been opened.
    private(set) var count = 0
    /// How many of them had been changed for the first time.
    private(set) var changedCount = 0
    /// How long the changed documents were.
    private(set) var changedLength = 0
    /// Of those that had been opened, the ones that the statement opens again, as they were.
    private(set) var kept: [Int: WorkingDocument] = [:]

    /// What had been given out of names and stamps; none before the first statement.
    private(set) var writer: Writer?

    struct Writer: Sendable {
        let directory: Directory
        let clock: HybridClock
        let stamp: Stamp?
        let hasChangedSite: Bool
        /// The collections that had changes: plans depend on that.
        let pendingCollections: Set<UInt16>
    }

    init(count: Int = 0, changedCount: Int = 0, changedLength: Int = 0, _ writer: Writer? = nil) {
        self.count = count
        self.changedCount = changedCount
        self.changedLength = changedLength
        self.writer = writer
    }

    /// Whether a document that is about to be changed has to be kept, which was not done yet.
    func needs(_ position: Int) -> Bool { position < count && kept[position] == nil }

    /// Keeps a document that is about to be changed.
    mutating func keep(_ document: WorkingDocument, at position: Int) {
        kept[position] = document
    }
}

extension DocumentTransaction {
    /// Begins a statement, which can be taken back by itself until the next one begins.
    mutating func beginStatement() {
        savepoint = Savepoint(
            count: working.count, changedCount: replaced.count, changedLength: changedLength,
            Savepoint.Writer(
                directory: directory, clock: clock, stamp: stamp,
                hasChangedSite: hasChangedSite,
                pendingCollections: pending.collections))
    }

    /// Takes back what the statement in hand has done.
    mutating func rollBackStatement() {
        for (key, entry) in replaced[savepoint.changedCount...] { pending.restore(entry, at: key) }
        replaced.removeSubrange(savepoint.changedCount...)
        for document in working[savepoint.count...] { positions[document.key] = nil }
        working.removeSubrange(savepoint.count...)
        for (position, document) in savepoint.kept {
            working[position] = document
            // Also where it has become again what it was when the transaction began.
            guard pending[document.key]?.commit == PendingDocuments.uncommitted else { continue }
            _ = pending.note(document.current, at: document.key)
        }
        changedLength = savepoint.changedLength
        // A collection that has no document does not begin, and what nobody has seen costs no stamp.
        if let writer = savepoint.writer {
            (directory, clock, stamp) = (writer.directory, writer.clock, writer.stamp)
            hasChangedSite = writer.hasChangedSite
            pending.restore(collections: writer.pendingCollections)
        }
        beginStatement()
    }

    /// Takes back everything.
    mutating func rollBack() {
        for (key, entry) in replaced { pending.restore(entry, at: key) }
        replaced = []
        working = []
        fresh = FreshDocuments()
        positions = [:]
        beginStatement()
    }

    /// Lets statements see a document as it is now.
    mutating func notePending(_ position: Int) {
        let key = working[position].key
        let entry = pending.note(working[position].current, at: key)
        guard entry?.commit != PendingDocuments.uncommitted else { return }
        replaced.append((key, entry))
    }
}

extension WorkingDocument {
    /// How the document is now, as something that can be read.
    var current: StoredDocument? {
        state.map { StoredDocument($0, stateLength: $0.count, deltaLength: 0, deltaCount: 0) }
    }
}
