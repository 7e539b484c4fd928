import SheafBytes
package import SheafDocument
package import SheafStorage

/// Changes that become one commit.
package struct DocumentTransaction: Sendable {
    let store: StoreEngine
    package let snapshot: LogSnapshot
    /// Documents of commits that are not durable yet, and documents that this transaction changed.
    ///
    /// The engine lends them to the transaction.
    package var pending: PendingDocuments
    /// The pending entries that this transaction replaced.
    var replaced: [(key: DocumentKey, entry: PendingDocuments.Entry?)] = []
    /// The state to which the current statement can be rolled back.
    var savepoint = Savepoint()
    package let now: UInt64
    package var catalog: Catalog
    package var clock: HybridClock
    /// Whether a received document has unknown writes of this site, or lacks evicted ones.
    var hasUnknownOwnWrites = false
    /// The periods in which the site wrote before this transaction.
    var ownWrites = OwnWrites.ofNewSite
    /// The sites of the store before its current one.
    package var formerSites: [Site] = []
    package var lacksOwnWrites = false
    /// Time up to which the writes of this store are unique; set if `lacksOwnWrites`.
    package var uniqueThrough: HybridTime?
    /// The periods in which the site of the sending peer has made no write.
    package var peerPauses: (site: Site, pauses: [WritePause])?
    /// Time of a write within `peerPauses` that a document of the peer would cover.
    package var lostByPeer: HybridTime?
    /// The pauses of the sites of other stores.
    package var knownPauses = KnownPauses()
    /// The derived sites for lost writes of this store; nil until they are computed.
    var ownDerived: [DerivedSite]?
    /// Documents with lost writes, by outcome.
    package var lostWrites = LostWrites()
    /// Maximum number of bytes reserved for a batch.
    private static let maximumReserved = 1 << 20
    /// The estimated length of an operation without its payload.
    private static let estimatedOverhead = 64
    /// Number of the connection that the changes were received on; nil for local changes.
    package var connection: UInt64?
    /// Whether the transaction switched to another site.
    var hasChangedSite = false
    /// The site of the store from this commit on, if all writes are moved to it.
    var nextSite: Site?
    /// The stamp shared by documents that are written once in this commit.
    package var stamp: Stamp?
    /// The stamp used by the current change.
    var usedStamp: Stamp?
    package var working: [WorkingDocument] = []
    package var positions: [DocumentKey: Int] = [:]
    /// Whether the feed of peers lists each change, however many documents are new.
    var isListed = true
    /// The numbers of encoded changes whose documents were opened.
    var superseded: Set<Int> = []
    private var stored: [(key: DocumentKey, document: StoredDocument?)] = []
    /// Maximum length of a document written locally; received documents may be longer.
    package var maximumLength = EncodedDocument.maximumLength
    /// Total length of the changed documents, at most `maximumChangedLength`.
    package var changedLength = 0
    package let maximumChangedLength: Int
    /// Total length of changed documents that are hidden from the peer that writes them.
    ///
    /// Beyond `maximumChangedLength`, writes to hidden documents are dropped.
    package var hiddenLength = 0
    /// Length beyond which a document is recorded in `largeDocuments`.
    package var largeDocumentLength = Int.max
    /// Whether a value that would hide a counter is refused, as statements require.
    package var keepsCounters = false
    /// Documents longer than `largeDocumentLength`, not reported yet.
    package var largeDocuments: [LargeDocument] = []
    /// Attachments that the written documents may reference, so that they are kept.
    package var tokens: [AttachmentID] = []
    /// The attachment tokens without proof of possession.
    package var unproven = UnprovenTokens()
    /// The progress of an import to write, by hash; a nil value removes it.
    package var importProgress: (hash: UInt64, progress: ImportProgress?)?
    /// Milliseconds by which received documents may be further ahead of the clock than others.
    package var aheadAllowance: UInt64 = 0
    /// The progress in shards of a hub log to write.
    package var storedShards: [(number: UInt16, stored: StoredShard)] = []
    /// Whether that progress is a change by itself, and not only beside documents.
    package var savesShards = false
    /// The field names that documents of the commit spell out.
    var spellings: [[UInt8]] = []
    /// The memory in which inserted documents are encoded.
    let encodingMemory: EncodingMemory

    init(
        _ store: StoreEngine, _ snapshot: LogSnapshot, _ catalog: Catalog, _ clock: HybridClock,
        now: UInt64,
        _ pending: PendingDocuments, in memory: EncodingMemory, maximumChangedLength: Int = .max
    ) {
        self.store = store
        encodingMemory = memory
        self.maximumChangedLength = maximumChangedLength
        self.snapshot = snapshot
        self.catalog = catalog
        self.clock = clock
        self.now = now
        self.pending = pending
    }

    package var hasChanges: Bool {
        writesEncoded || working.contains { $0.isChanged } || !unproven.changes.isEmpty
            || importProgress != nil || savesShards
    }

    /// Records that the batch has become a commit, and releases the encoded changes.
    mutating func markWritten(by commit: CommitID) {
        // An entry of a document that ends unchanged needs the commit, too: it is discarded by it.
        for (key, _) in replaced {
            guard let position = positions[key], !working[position].isChanged else { continue }
            stored.append((key, working[position].original))
        }
        pending.record(stored, of: commit)
        pending.recordEncoded(of: commit)
        replaced = []
    }

    /// Applies a change; if it throws, the statement must be rolled back.
    package mutating func apply(
        _ change: DocumentChange
    ) throws(EngineError) -> DocumentReceipt.Outcome {
        guard let key = try key(of: change) else {
            return DocumentReceipt.Outcome(isChanged: false, stamp: nil)
        }
        usedStamp = nil
        do throws(EngineError) {
            if try encode(change.action, key) {
                return DocumentReceipt.Outcome(isChanged: true, stamp: usedStamp)
            }
        } catch {
            throw located(error, change, key.bytes)
        }
        let position = try open(key)
        if savepoint.needsSaving(position) { savepoint.save(working[position], at: position) }
        let length = working[position].changedLength
        do throws(EngineError) {
            let isChanged = try apply(change, to: position)
            if isChanged {
                try checkLength(of: position, change)
                try addLength(working[position].changedLength - length)
                updatePending(position)
            }
            return DocumentReceipt.Outcome(
                isChanged: isChanged, stamp: isChanged ? usedStamp : nil)
        } catch {
            throw located(error, change, key.bytes)
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
        case .insertUnstamped(let document, let conflict):
            guard !working[position].hasState, !document.mayHaveTokens else {
                return try insert(document.decoded(), conflict, change, at: position)
            }
            let stamp = try nextStamp(for: position)
            try working[position].apply(document.state(at: stamp), catalog.names)
            return true
        case .insertInitial(let object):
            guard !working[position].hasState else { return false }
            // Later writes would cover the evicted ones, and remove them from other stores.
            if working[position].stampState(of: clock.site).evicted > .initial { changeSite() }
            let state = try onDocument { () throws(DocumentError) in
                try Insertion.initial(object, catalog.names)
            }
            try recordLocalTokens(state, at: position)
            try working[position].apply(ChangedBytes(bytes: state), catalog.names)
            usedStamp = .initial
            return true
        case .delete:
            guard try working[position].exists() else { return false }
            let stamp = try nextStamp(for: position)
            return try working[position].delete(at: stamp)
        case .evict:
            return try working[position].evict(by: clock.site, at: clock.latest)
        case .purge:
            return working[position].purge()
        case .join(let bytes):
            return try join(bytes, at: position)
        }
    }

    /// Adds to the length of the changed documents; throws if the transaction becomes too long.
    package mutating func addLength(_ more: Int) throws(EngineError) {
        changedLength += more
        guard changedLength <= maximumChangedLength else {
            throw .limit(
                name: "maximumTransactionLength", value: changedLength,
                limit: maximumChangedLength)
        }
    }

    /// Refuses a local document that is too long with all names spelled out; records a large one.
    private mutating func checkLength(
        of position: Int, _ change: DocumentChange
    ) throws(EngineError) {
        switch change.action {
        case .join, .delete, .evict, .purge: return
        case .edit, .insert, .insertUnstamped, .insertInitial: break
        }
        // Spelling out names makes a state less than 32 times as long, so short states pass.
        let least = min(maximumLength, largeDocumentLength) / 32
        guard let state = working[position].state, state.count > least else { return }
        let length = try onDocument(working[position].key.bytes) { () throws(Malformed) in
            // The base is not part of the document.
            let plain = try state.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).settingBase(nil)
            }
            return try plain.span.withUnsafeBytes { bytes throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: catalog.names, to: NameTable()).count
            }
        }
        guard length <= maximumLength else {
            throw .limit(name: "maximumDocumentLength", value: length, limit: maximumLength)
        }
        if length > largeDocumentLength {
            largeDocuments.append(
                LargeDocument(
                    collection: change.collection, id: change.id, length: length,
                    limit: largeDocumentLength))
        }
    }

    // MARK: Documents

    private mutating func key(of change: DocumentChange) throws(EngineError) -> DocumentKey? {
        let number: UInt16
        if let known = catalog.number(ofCollection: change.collection) {
            number = known
        } else {
            // A collection is added with its first document.
            switch change.action {
            case .edit, .delete, .evict, .purge:
                try Self.checkID(change.id)
                return nil
            case .insert, .insertUnstamped, .insertInitial, .join:
                try Self.checkID(change.id)
                number = try catalog.add(collection: change.collection)
            }
        }
        return try onDocument { () throws(DocumentError) in
            DocumentKey(try StoreKey.bytes(ofDocument: change.id, collection: number))
        }
    }

    private static func checkID(_ id: Value) throws(EngineError) {
        _ = try onDocument { () throws(DocumentError) in try DocumentID.key(of: id) }
    }

    package mutating func open(_ key: DocumentKey) throws(EngineError) -> Int {
        if let position = positions[key] { return position }
        if let index = pending.encoded.index(of: key) {
            working.append(try openEncoded(index, key))
        } else if let newer = pending[key] {
            working.append(try WorkingDocument.open(key, newer.document))
        } else {
            working.append(try WorkingDocument.open(key, try storedDocument(key)))
        }
        positions[key] = working.count - 1
        return working.count - 1
    }

    /// Returns the stamp shared by documents that are written once in this commit.
    mutating func sharedStamp() throws(EngineError) -> Stamp {
        if let stamp { return stamp }
        let next = try onDocument { () throws(DocumentError) in try clock.next(at: now) }
        stamp = next
        return next
    }

    /// Returns the stamp for the next write; two writes to one document never share a stamp.
    mutating func nextStamp(for position: Int) throws(EngineError) -> Stamp {
        let (isChanged, evicted) = working[position].stampState(of: clock.site)
        if evicted > .initial { changeSite() }
        if let stamp, !isChanged {
            usedStamp = stamp
            return stamp
        }
        let next = try onDocument { () throws(DocumentError) in try clock.next(at: now) }
        if stamp == nil { stamp = next }
        usedStamp = next
        return next
    }

    // MARK: The batch

    /// Builds the batch of the commit.
    mutating func batch(
        from origin: CommitOrigin?, writing site: SiteRecordUpdate?, _ dictionary: NameDictionary,
        tracksVersions: Bool
    ) throws(EngineError) -> WriteBatch {
        try removeSupersededFromFiles()
        var entries = DocumentIndexEntries(catalog.indexes, catalog.names)
        var (batch, hasher) = try makeBatchOfStaged(tracksVersions: tracksVersions, &entries)
        // Large documents are written as deltas, so their length is no estimate.
        batch.reserve(
            min(changedLength + working.count * Self.estimatedOverhead, Self.maximumReserved))
        // After an opening, the clock continues from the time of the last record.
        batch.earliestTime = clock.latest.milliseconds
        try onStorage { () throws(StorageError) in
            if let origin { try batch.put(StoreKey.origin.bytes, origin.bytes) }
            try knownPauses.write(into: &batch)
            try dictionary.write(catalog, into: &batch)
            try site?.write(into: &batch)
            // The record time has milliseconds only, without the counter.
            if clock.latest.counter != 0 {
                try batch.put(StoreKey.clock.bytes, clock.latest.bytes)
            }
        }
        // They are written first, so that keys ascend: these precede those of documents.
        try writeImportProgress(into: &batch)
        try writeStoredShards(into: &batch)
        batch.keepsIndexProgress = true
        var (before, after) = (IndexKeys(), IndexKeys())
        stored.reserveCapacity(working.count)
        // Documents are accessed by index: a copy of each would retain a dozen references.
        for position in working.indices where working[position].isChanged {
            let key = working[position].key
            before.removeAll()
            after.removeAll()
            try entries.append(keysOf: working[position].original, key.bytes, to: &before)
            let written = try working[position].write(into: &batch)
            try hasher?.weigh(written, key.bytes, in: &batch)
            try entries.append(keysOf: written, key.bytes, to: &after)
            do throws(StorageError) { try before.replace(with: after, in: &batch) } catch {
                throw .storage(error)
            }
            stored.append((key, written))
            try updateUnproven(at: position, written)
            try recordSpellings(at: position)
        }
        try writeEncoded(into: &batch, &entries, &hasher)
        try unproven.write(into: &batch)
        return batch
    }

    private mutating func recordSpellings(at position: Int) throws(EngineError) {
        // A delta does not show whether its names are keys of a large map, which are data.
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

    /// Returns the error with the collection and id of the document.
    private func located(
        _ error: EngineError, _ change: DocumentChange, _ key: [UInt8]
    ) -> EngineError {
        switch error {
        case .gap: .gap(collection: change.collection, id: change.id)
        case .document(.malformed(.tooLong(0, let length, UInt64(EncodedDocument.maximumLength)))):
            .limit(
                name: "maximumDocumentLength", value: Int(clamping: length),
                limit: min(maximumLength, EncodedDocument.maximumLength))
        case .document(.malformed(.tooLong(0, let count, UInt64(EncodedDocument.maximumSites)))):
            .limit(
                name: "maximumSites", value: Int(clamping: count),
                limit: EncodedDocument.maximumSites)
        case .document(.malformed(let reason)): .damaged(key: key, reason)
        default: error
        }
    }
}
