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
            try append(
                key, bytes,
                of: EncodedChanges.Original(document: original, edits: edits, stamp: stamp))
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
            try addLength(bytes.count)
            try pending.append(
                key, DocumentPayload.completeKind, bytes,
                of: EncodedChanges.Original(document: original, edits: nil, stamp: stamp))
        }
        usedStamp = stamp
        return true
    }

    /// Adds an encoded state without tokens; returns false if it may exceed a limit.
    private mutating func append(
        _ key: DocumentKey, _ state: UnsafeRawBufferPointer, spellsNames: Bool = false,
        of original: EncodedChanges.Original? = nil
    ) throws(EngineError) -> Bool {
        guard state.count <= lengthWithinLimits else { return false }
        try addLength(state.count)
        try pending.append(
            key, DocumentPayload.stateKind, state, spellsNames: spellsNames, of: original)
        usedStamp = stamp
        return true
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
        try addLength(document.bytes.count)
        try pending.append(key, DocumentPayload.stateKind, document.bytes)
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
            key, original.map { StoredDocument($0.document, in: snapshot) })
        if let original {
            let isChanged: Bool
            if let edits = original.edits {
                do throws(DocumentError) {
                    isChanged = try document.applyPlainly(
                        edits, at: original.stamp, catalog.names, in: encodingMemory)
                } catch {
                    throw .document(error)
                }
            } else {
                isChanged = try document.delete(at: original.stamp)
            }
            precondition(isChanged, "A change that was encoded can be made again.")
        } else {
            try document.apply(
                ChangedBytes(
                    bytes: pending.encoded.state(index), isDerivable: false,
                    spellsNames: pending.encoded.spellsNames(index)), catalog.names)
        }
        superseded.insert(index)
        return document
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

    /// Writes the encoded changes and their index entries to a batch.
    mutating func writeEncoded(
        into batch: inout WriteBatch, _ entries: inout DocumentIndexEntries,
        _ hasher: inout VersionHasher?
    ) throws(EngineError) {
        // A copy, because the property would copy the changes for each access.
        let encoded = encoded
        guard !encoded.isEmpty else { return }
        batch.reserve(batch.byteCount + encoded.length + encoded.count * 64)
        var (before, after) = (IndexKeys(), IndexKeys())
        for index in 0..<encoded.count where !isSuperseded(index) {
            if encoded.spellsNames(index) { spellings += try encoded.spelledNames(index) }
            let put = encoded.put(index)
            before.removeAll()
            after.removeAll()
            if let original = encoded.originalState(index) {
                try entries.append(keysOfState: original, put.key, to: &before)
            }
            do throws(StorageError) { try batch.append(put) } catch { throw .storage(error) }
            if let hash = try hasher?.hash(ofState: put.rest, put.key) { batch.weigh(hash) }
            try entries.append(keysOfState: put.rest, put.key, to: &after)
            do throws(StorageError) { try before.replace(with: after, in: &batch) } catch {
                throw .storage(error)
            }
        }
        withExtendedLifetime(encoded) {}
    }
}
