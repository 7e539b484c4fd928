import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync

/// Changes that become one commit.
package struct DocumentTransaction: Sendable {
    let snapshot: LogSnapshot
    /// What commits have changed that no snapshot shows yet, lent by the engine, and what this
    /// transaction has changed.
    var pending: PendingDocuments
    /// What was pending before of the documents that this transaction has changed.
    var replaced: [(key: DocumentKey, entry: PendingDocuments.Entry?)] = []
    /// Where the statement in hand can be taken back to.
    var savepoint = Savepoint()
    let now: UInt64
    var directory: Directory
    var clock: HybridClock
    /// Whether somebody has seen writes of this store that are later than all it knows of.
    var metOwnFuture = false
    /// When the site has written before, and whether a peer knows a write of it that it never made.
    var ownWrites = OwnWrites.ofNewSite
    /// Sites that the store wrote as before its current one.
    var formerSites: [Site] = []
    var lacksOwnWrites = false
    /// With `lacksOwnWrites`: the time up to which the writes of this store are unique.
    var uniqueThrough: HybridTime?
    /// The periods in which the site of the peer that sends has made no write.
    var peerPauses: (site: Site, pauses: [WritePause])?
    /// The time of a write of that site, in one of these periods, which what it sends would cover.
    var forgottenByPeer: HybridTime?
    /// The pauses of the sites of other stores.
    var knownPauses = KnownPauses()
    /// The sites for forgotten writes of this store; nil before they are computed.
    var ownForgotten: [ForgottenSite]?
    /// What became of writes that their store has forgotten.
    var forgotten = ForgottenWrites()
    /// Number of the connection that the changes were received on; nil for local changes.
    var connection: UInt64?
    /// Whether the transaction writes as another site than those before it.
    var hasChangedSite = false
    /// The site that the store has from this commit on, with which all writes to it are moved.
    var nextSite: Site?
    /// What documents have that are written once in this commit.
    var stamp: Stamp?
    /// What the change in hand was written with.
    private var usedStamp: Stamp?
    var working: [WorkingDocument] = []
    var positions: [DocumentKey: Int] = [:]
    /// Documents that came from elsewhere and that nothing was known of.
    var fresh = FreshDocuments()
    private var stored: [(key: DocumentKey, document: StoredDocument?)] = []
    /// How long a document may become by what is written here; what others wrote may be longer.
    var maximumLength = EncodedDocument.maximumLength
    /// How long all documents together are that were changed, and may become.
    var changedLength = 0
    let maximumChangedLength: Int
    /// The same of documents that the peer which writes them may not read; beyond it, its writes are dropped.
    var hiddenLength = 0
    /// The length of documents that are worth a word; none is, as long as nobody hears it.
    var remarkableLength = Int.max
    /// Whether a value that would hide a counter is refused, as statements want it.
    var keepsCounters = false
    /// The documents longer than that, which nobody was told of.
    var remarkable: [LargeDocument] = []
    /// Attachments that the written documents may name: they are wanted.
    var tokens: [AttachmentID] = []
    /// The tokens that have no proof of possession.
    var unproven = UnprovenTokens()
    /// The names that the documents of the commit spell.
    private(set) var spellings: [[UInt8]] = []

    init(
        _ snapshot: LogSnapshot, _ directory: Directory, _ clock: HybridClock, now: UInt64,
        _ pending: PendingDocuments, maximumChangedLength: Int = .max
    ) {
        self.maximumChangedLength = maximumChangedLength
        self.snapshot = snapshot
        self.directory = directory
        self.clock = clock
        self.now = now
        self.pending = pending
    }

    var hasChanges: Bool {
        !fresh.isEmpty || working.contains { $0.isChanged } || !unproven.changes.isEmpty
    }

    /// Notes that the batch has become a commit.
    mutating func noteWritten(by commit: CommitID) {
        pending.note(stored, of: commit)
        if !fresh.isEmpty { pending.note(fresh, of: commit) }
        replaced = []
    }

    /// Makes a change.
    mutating func apply(
        _ change: DocumentChange
    ) throws(EngineError) -> DocumentReceipt.Outcome {
        guard let key = try key(of: change) else {
            return DocumentReceipt.Outcome(isChanged: false, stamp: nil)
        }
        let position = try open(key)
        if savepoint.needs(position) { savepoint.keep(working[position], at: position) }
        let length = working[position].changedLength
        usedStamp = nil
        do throws(EngineError) {
            let isChanged = try apply(change, to: position)
            if isChanged {
                try checkLength(of: position, change)
                try countLength(working[position].changedLength - length)
                notePending(position)
            }
            return DocumentReceipt.Outcome(
                isChanged: isChanged, stamp: isChanged ? usedStamp : nil)
        } catch {
            throw Self.naming(error, change, key.bytes)
        }
    }

    private mutating func apply(
        _ change: DocumentChange, to position: Int
    ) throws(EngineError) -> Bool {
        switch change.action {
        case .edit(let edits):
            guard try working[position].exists() else { return false }
            return try edit(position, edits)
        case .insert(let object, let conflict):
            return try insert(object, conflict, change, at: position)
        case .insertInitial(let object):
            guard working[position].state == nil else { return false }
            let state = try translating { () throws(EditError) in
                try Insertion.initial(object, directory.names)
            }
            try noteWritten(state, at: position)
            try working[position].take(ChangedBytes(bytes: state), directory.names)
            usedStamp = .initial
            return true
        case .delete:
            guard try working[position].exists() else { return false }
            let stamp = try nextStamp(for: position)
            do throws(EditError) { return try working[position].delete(at: stamp) } catch {
                throw Self.refusal(error) { .edit(.malformed($0)) }
            }
        case .evict:
            return try working[position].evict(by: clock.site, at: clock.latest)
        case .forget:
            return working[position].forget()
        case .join(let bytes):
            return try join(bytes, at: position)
        }
    }

    /// Refuses what memory should not hold.
    mutating func countLength(_ more: Int) throws(EngineError) {
        changedLength += more
        guard changedLength <= maximumChangedLength else {
            throw .limit(
                name: "maximumTransactionLength", value: changedLength,
                limit: maximumChangedLength)
        }
    }

    /// Refuses a document that a writer has made too long, with its names spelled.
    private mutating func checkLength(
        of position: Int, _ change: DocumentChange
    ) throws(EngineError) {
        switch change.action {
        case .join, .delete, .evict, .forget: return
        case .edit, .insert, .insertInitial: break
        }
        // A name that has a number takes two bytes, and spelled no more than sixteen times that.
        let least = min(maximumLength, remarkableLength) / 32
        guard let state = working[position].state, state.count > least else { return }
        let length = try onDocument(working[position].key.bytes) { () throws(Malformed) in
            // What it builds on is not a part of it.
            let plain = try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).settingBase(nil)
            }
            return try plain.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: directory.names, to: NameTable()).count
            }
        }
        guard length <= maximumLength else {
            throw .limit(name: "maximumDocumentLength", value: length, limit: maximumLength)
        }
        if length > remarkableLength {
            remarkable.append(
                LargeDocument(
                    collection: change.collection, id: change.id, length: length,
                    limit: remarkableLength))
        }
    }

    // MARK: Changes

    private mutating func edit(_ position: Int, _ edits: [Edit]) throws(EngineError) -> Bool {
        let stamp = try nextStamp(for: position)
        let delta = try translating { () throws(EditError) in
            try working[position].delta(
                edits, at: stamp, directory.names, keepsCounters: keepsCounters)
        }
        guard let delta else { return false }
        try noteWritten(delta.bytes, at: position)
        try working[position].take(delta, directory.names)
        return true
    }

    private mutating func insert(
        _ object: Object, _ conflict: DocumentChange.Conflict, _ change: DocumentChange,
        at position: Int
    ) throws(EngineError) -> Bool {
        guard let state = working[position].state else {
            let stamp = try nextStamp(for: position)
            let state = try translating { () throws(EditError) in
                try Insertion.document(
                    object, without: IndexKeyMaker.idName, at: stamp, directory.names)
            }
            try noteWritten(state.bytes, at: position)
            try working[position].take(state, directory.names)
            return true
        }
        var object = object
        object[IndexKeyMaker.idName] = nil
        let merging = Edit.set(path: [], to: .object(object))
        guard try working[position].exists() else { return try edit(position, [merging]) }
        switch conflict {
        case .fail: throw .exists(collection: change.collection, id: change.id)
        case .doNothing: return false
        case .merge: return try edit(position, [merging])
        case .mergeDifferences:
            let edits = try translating { () throws(EditError) in
                try state.span.withUnsafeBytes { bytes throws(EditError) in
                    try Insertion.differences(
                        between: try Self.document(bytes), and: object, directory.names)
                }
            }
            return try edits.isEmpty ? false : edit(position, edits)
        }
    }

    // MARK: Documents

    private mutating func key(of change: DocumentChange) throws(EngineError) -> DocumentKey? {
        let number: UInt16
        if let known = directory.number(ofCollection: change.collection) {
            number = known
        } else {
            // A collection begins with its first document.
            switch change.action {
            case .edit, .delete, .evict, .forget:
                try Self.checkID(change.id)
                return nil
            case .insert, .insertInitial, .join:
                try Self.checkID(change.id)
                number = try directory.add(collection: change.collection)
            }
        }
        do throws(DocumentID.Refusal) {
            return DocumentKey(try StoreKey.bytes(ofDocument: change.id, collection: number))
        } catch {
            throw .id(error)
        }
    }

    private static func checkID(_ id: Value) throws(EngineError) {
        do throws(DocumentID.Refusal) { _ = try DocumentID.key(of: id) } catch { throw .id(error) }
    }

    mutating func open(_ key: DocumentKey) throws(EngineError) -> Int {
        if let position = positions[key] { return position }
        let document: StoredDocument?
        if let newer = pending[key] {
            document = newer.document
        } else {
            document = try DocumentSnapshot(snapshot, directory).document(key.bytes)
        }
        working.append(try WorkingDocument(key, document))
        positions[key] = working.count - 1
        return working.count - 1
    }

    /// The stamp of the next write: no document is written twice with the same.
    private mutating func nextStamp(for position: Int) throws(EngineError) -> Stamp {
        if working[position].forgottenTime(of: clock.site) > .initial { changeSite() }
        if let stamp, !working[position].isChanged {
            usedStamp = stamp
            return stamp
        }
        do throws(HybridClock.Refusal) {
            let next = try clock.next(at: now)
            if stamp == nil { stamp = next }
            usedStamp = next
            return next
        } catch {
            throw .clock(error)
        }
    }

    // MARK: The batch

    /// The operations of the commit.
    mutating func batch(
        from origin: CommitOrigin?, writing site: SiteWriting?, _ registry: NameRegistry
    ) throws(EngineError) -> WriteBatch {
        var batch = WriteBatch()
        // An opening goes on behind the time of the last record.
        batch.earliestTime = clock.latest.milliseconds
        try onStorage { () throws(StorageError) in
            if let origin { try batch.put(StoreKey.origin.bytes, origin.bytes) }
            try knownPauses.write(into: &batch)
            try registry.write(directory, into: &batch)
            try site?.put(into: &batch)
            // The time of the record has milliseconds only.
            if clock.latest.counter != 0 {
                try batch.put(StoreKey.clock.bytes, clock.latest.bytes)
            }
        }
        batch.keepsLinks = true
        var links = DocumentLinks(directory.indexes, directory.names)
        stored.reserveCapacity(working.count)
        // By their places: a copy of each would count a dozen references.
        for position in working.indices where working[position].isChanged {
            let key = working[position].key
            let before = try links.keys(of: working[position].original, key.bytes)
            let written = try working[position].write(into: &batch)
            let after = try links.keys(of: written, key.bytes)
            try Self.replace(before, with: after, in: &batch)
            stored.append((key, written))
            try noteUnproven(at: position, written)
            try noteSpellings(at: position)
        }
        try writeFresh(into: &batch, &links)
        try unproven.write(into: &batch)
        return batch
    }

    /// Lets links lead to the operation that was written last, where the document has not been
    /// taken away.
    private static func replace(
        _ before: [[UInt8]], with after: [[UInt8]], in batch: inout WriteBatch
    ) throws(EngineError) {
        try onStorage { () throws(StorageError) in
            for (index, link) in before.enumerated()
            where !after.indices.contains(index) || after[index] != link {
                try batch.links.unlink(link)
            }
            for link in after { try batch.link(link) }
        }
    }

    private mutating func noteSpellings(at position: Int) throws(EngineError) {
        // A delta does not tell whether its names are those of a large map, which are data.
        guard try working[position].spellsNames(), let bytes = working[position].smallState else {
            return
        }
        var found: [[UInt8]] = []
        try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try bytes.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).forEachSpelledName { found.append(Array($0)) }
            }
        }
        spellings += found
    }

    // MARK: Errors

    /// Says which document an error is about.
    private static func naming(
        _ error: EngineError, _ change: DocumentChange, _ key: [UInt8]
    ) -> EngineError {
        switch error {
        case .gap: .gap(collection: change.collection, id: change.id)
        case .edit(.malformed(.tooLong(0, let length, UInt64(EncodedDocument.maximumLength)))):
            .limit(
                name: "maximumDocumentLength", value: Int(clamping: length),
                limit: EncodedDocument.maximumLength)
        case .edit(.malformed(.tooLong(0, let count, UInt64(EncodedDocument.maximumSites)))):
            .limit(
                name: "maximumSites", value: Int(clamping: count),
                limit: EncodedDocument.maximumSites)
        case .edit(.malformed(let reason)): .damaged(key: key, reason)
        default: error
        }
    }
}
