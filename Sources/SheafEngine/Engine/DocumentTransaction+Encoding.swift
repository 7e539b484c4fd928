import SheafBytes
import SheafDocument
import SheafStorage

/// Changes of documents that were not changed before in the transaction.
extension DocumentTransaction {
    /// The documents that the transaction changes once.
    package var encoded: EncodedChanges { pending.encoded }

    /// Reserves memory for the changes of more documents.
    package mutating func reserveEncoded(_ count: Int) { pending.encoded.reserve(count) }

    /// Applies a change without opening the document; returns false if it must be opened.
    mutating func encode(
        _ action: DocumentChange.Action, _ key: DocumentKey
    ) throws(EngineError) -> Bool {
        switch action {
        case .insert(let object, _):
            guard isNew(key) else { return false }
            return try encodeInsertion(of: object, key)
        case .insertUnstamped(let document, _):
            guard !document.mayHaveTokens, isNew(key) else { return false }
            let state = document.state(at: try sharedStamp())
            return try state.bytes.span.withUnsafeBytes { (bytes) throws(EngineError) in
                try append(key, bytes, spellsNames: state.spellsNames)
            }
        case .edit(let edits):
            guard let original = unchangedState(of: key) else { return false }
            return try encode(edits, of: original, key)
        case .delete:
            guard let original = unchangedState(of: key) else { return false }
            return try encodeDeletion(of: original, key)
        case .insertInitial, .evict, .purge, .join: return false
        }
    }

    /// Whether neither the store nor the transaction has a document, its tombstone or its remnant.
    mutating func isNew(_ key: DocumentKey) -> Bool {
        isUntouched(key) && pending.encoded.isAbsent(key.bytes, in: snapshot)
    }

    private func isUntouched(_ key: DocumentKey) -> Bool {
        (positions.isEmpty || positions[key] == nil) && !pending.contains(key)
    }

    /// Returns the logged state of a document without pending changes, if it is a single operation.
    ///
    /// Returns nil if the operation is damaged, which `open` reports, and if tokens without proof
    /// of possession may have to be updated.
    private func unchangedState(of key: DocumentKey) -> LoggedState? {
        guard !unproven.mayHaveEntries, isUntouched(key) else { return nil }
        return key.bytes.span.withUnsafeBytes { key in
            guard let pointer = snapshot.recordPointer(of: key), !pointer.isDelta,
                let put = try? snapshot.operation(of: key, at: pointer)
            else { return nil }
            return try? LoggedState(put)
        }
    }

    private mutating func encodeInsertion(
        of object: Object, _ key: DocumentKey
    ) throws(EngineError) -> Bool {
        let stamp = try sharedStamp()
        do throws(DocumentError) {
            try encodingMemory.encode(
                object, without: IndexKeyBuilder.idName, at: stamp, catalog.names)
        } catch {
            throw .document(error)
        }
        let spellsNames = encodingMemory.spellsNames
        return try encodingMemory.withEncoded { (state) throws(EngineError) in
            guard !AttachmentTexts.isAny(in: state) else { return false }
            return try append(key, state, spellsNames: spellsNames)
        }
    }

    private mutating func encode(
        _ edits: [Edit], of original: LoggedState, _ key: DocumentKey
    ) throws(EngineError) -> Bool {
        guard original.bytes.count <= WorkingDocument.smallLength else { return false }
        let stamp = try sharedStamp()
        let state: [UInt8]?
        do throws(DocumentError) {
            state = try encodingMemory.state(
                after: edits, in: original.bytes, at: stamp, catalog.names)
        } catch {
            throw .document(error)
        }
        guard let state, state.count <= WorkingDocument.smallLength else { return false }
        return try state.span.withUnsafeBytes { (bytes) throws(EngineError) in
            try append(key, bytes, of: original)
        }
    }

    private mutating func encodeDeletion(
        of original: LoggedState, _ key: DocumentKey
    ) throws(EngineError) -> Bool {
        let stamp = try sharedStamp()
        let tombstone = try onDocument(key.bytes) { () throws(Malformed) in
            try Insertion.deletionFromHeader(of: original.bytes, at: stamp)
        }
        guard let tombstone else { return false }
        try tombstone.span.withUnsafeBytes { (bytes) throws(EngineError) in
            try addEncoded(key, DocumentPayload.completeKind, bytes, of: original)
        }
        usedStamp = stamp
        return true
    }

    /// Adds an encoded state without tokens; returns false if it may exceed a limit.
    private mutating func append(
        _ key: DocumentKey, _ state: UnsafeRawBufferPointer, spellsNames: Bool = false,
        of original: LoggedState? = nil
    ) throws(EngineError) -> Bool {
        guard state.count <= lengthWithinLimits else { return false }
        try addEncoded(
            key, DocumentPayload.stateKind, state, spellsNames: spellsNames, of: original)
        usedStamp = stamp
        return true
    }

    private mutating func addEncoded(
        _ key: DocumentKey, _ kind: UInt8, _ state: UnsafeRawBufferPointer,
        spellsNames: Bool = false, of original: LoggedState? = nil
    ) throws(EngineError) {
        try addLength(state.count)
        try pending.encoded.stageIfNeeded(in: store, after: snapshot)
        try pending.append(key, kind, state, spellsNames: spellsNames, of: original)
    }

    /// The length up to which a document passes the limits even with all of its names spelled out.
    var lengthWithinLimits: Int {
        min(maximumLength, largeDocumentLength, EncodedDocument.maximumLength) / 32
    }

    /// Accepts a received document if it is new to the store.
    ///
    /// Returns false if the document must be joined.
    package mutating func receiveNew(
        _ document: BufferedDocument, _ key: DocumentKey
    ) throws(EngineError) -> Bool {
        guard document.marks.isDisjoint(with: [.isPartial, .maySpellNames, .hasUnproven]),
            isNew(key)
        else { return false }
        let own = try onDocument(key.bytes) { () throws(Malformed) in
            try EncodedDocument(document.bytes).header().time(of: clock.site)
        }
        guard case .acceptable(let latest) = try receivedTime(in: document, key) else {
            return false
        }
        if own > clock.latest { hasUnknownOwnWrites = true }
        if ownWrites.lacks(own) { recordMissingWrite(own) }
        try recordOwnLostWrites(in: document, own)
        try observe(latest)
        recordAttachmentIDs(document.bytes)
        try addEncoded(key, DocumentPayload.stateKind, document.bytes)
        isListed = false
        return true
    }

    /// Whether a document was opened after its change, so that its `WorkingDocument` is written.
    func isSuperseded(_ index: Int) -> Bool {
        !superseded.isEmpty && superseded.contains(index)
    }

    /// Whether any of the encoded changes is written as it is.
    var writesEncoded: Bool { superseded.count < pending.encoded.count }

    /// Opens a document with an encoded change, which the `WorkingDocument` supersedes.
    mutating func openEncoded(
        _ index: Int, _ key: DocumentKey
    ) throws(EngineError) -> WorkingDocument {
        let original = pending.encoded.original(index)
        var document = try WorkingDocument.open(
            key, original.map { StoredDocument($0, in: snapshot) })
        if original != nil, pending.encoded.isDeletion(index) {
            _ = try document.delete(at: try sharedStamp())
        } else {
            try document.apply(try encodedChange(index, of: &document), catalog.names)
        }
        superseded.insert(index)
        return document
    }

    /// Returns an encoded change in the form that `WorkingDocument.apply` accepts.
    private func encodedChange(
        _ index: Int, of document: inout WorkingDocument
    ) throws(EngineError) -> ChangedBytes {
        guard let base = try document.base() else {
            return ChangedBytes(
                bytes: pending.encoded.state(index), isDerivable: false,
                spellsNames: pending.encoded.spellsNames(index))
        }
        let delta = try onDocument(document.key.bytes) { () throws(Malformed) in
            try Changes.extract(
                from: try EncodedDocument(pending.encoded.put(index).rest), since: base,
                touched: [], catalog.names)
        }
        return ChangedBytes(bytes: delta, isDerivable: true, spellsNames: false)
    }

    /// Removes the encoded changes from the one with number `count` on.
    ///
    /// Those of `documents`, which are being closed, are not superseded any more.
    mutating func rollBackEncoded(to count: Int, closing documents: ArraySlice<WorkingDocument>) {
        if !superseded.isEmpty {
            for document in documents {
                if let index = pending.encoded.index(of: document.key) { superseded.remove(index) }
            }
        }
        pending.encoded.truncate(to: count)
    }

    /// Returns the state of a document that the transaction changed; nil if it has none.
    package func state(of key: DocumentKey) -> [UInt8]? {
        if let position = positions[key] { return working[position].state }
        return pending.encoded.index(of: key).map { pending.encoded.state($0) }
    }

    /// Copies the changes without superseded ones, if files contain some.
    ///
    /// All records of the files become part of the commit.
    mutating func removeSupersededFromFiles() throws(EngineError) {
        let count = pending.encoded.stagedCount
        guard superseded.contains(where: { $0 < count }) else { return }
        pending.encoded = try pending.encoded.removing(superseded, in: store, after: snapshot)
        superseded = []
    }

    /// Creates a batch with the changes that are in files and their index entries, and its hasher.
    mutating func makeBatchOfStaged(
        tracksVersions: Bool, _ entries: inout DocumentIndexEntries
    ) throws(EngineError) -> (WriteBatch, VersionHasher?) {
        let encoded = encoded
        var hasher = tracksVersions ? VersionHasher(catalog) : nil
        var batch = try onStorage { () throws(StorageError) in try WriteBatch(encoded.staged) }
        try write(0..<encoded.stagedCount, of: encoded, into: &batch, &entries, &hasher)
        return (batch, hasher)
    }

    /// Writes the encoded changes that are in memory, and their index entries, to a batch.
    mutating func writeEncoded(
        into batch: inout WriteBatch, _ entries: inout DocumentIndexEntries,
        _ hasher: inout VersionHasher?
    ) throws(EngineError) {
        // A copy, because the property would copy the changes for each access.
        let encoded = encoded
        let range = encoded.stagedCount..<encoded.count
        guard !range.isEmpty else { return }
        batch.reserve(batch.byteCount + encoded.lengthInMemory + range.count * 64)
        try write(range, of: encoded, into: &batch, &entries, &hasher)
    }

    private mutating func write(
        _ range: Range<Int>, of encoded: EncodedChanges, into batch: inout WriteBatch,
        _ entries: inout DocumentIndexEntries, _ hasher: inout VersionHasher?
    ) throws(EngineError) {
        var (before, after) = (IndexKeys(), IndexKeys())
        for index in range where !isSuperseded(index) {
            if encoded.spellsNames(index) { spellings += try encoded.spelledNames(index) }
            let put = encoded.put(index)
            before.removeAll()
            after.removeAll()
            if let original = encoded.original(index) {
                try entries.append(keysOfState: original.bytes, put.key, to: &before)
            }
            do throws(StorageError) {
                if index < encoded.stagedCount {
                    batch.select(staged: index)
                } else {
                    try batch.append(put)
                }
            } catch {
                throw .storage(error)
            }
            if let hash = try hasher?.hash(ofState: put.rest, put.key) { batch.weigh(hash) }
            try entries.append(keysOfState: put.rest, put.key, to: &after)
            do throws(StorageError) { try before.replace(with: after, in: &batch) } catch {
                throw .storage(error)
            }
        }
        withExtendedLifetime(encoded) {}
    }
}
