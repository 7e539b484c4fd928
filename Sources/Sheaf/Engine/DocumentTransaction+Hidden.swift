import SheafBytes
import SheafDocument
import SheafSync

/// What a peer with limited rights may write, and what it may read of what is here.
struct WriteRule {
    /// The write rule, evaluated within the budget of the peer.
    let writable: SubscriptionMatcher
    /// The write rule without a budget and without errors, for stored documents that the peer may not read: neither may
    /// be visible to the peer.
    let freelyWritable: SubscriptionMatcher
    let readable: SubscriptionMatcher
    /// Which deletions the peer may know of.
    var deletions: DeletionRule
    /// Earlier writes of the peer to documents that are hidden from it.
    var shadows: ShadowTable
}

/// A write of a peer to a document that it may not read.
struct HiddenWrite: Sendable {
    /// The document as the peer knows it: the join of all that the peer has sent of it; nil if that is too long to
    /// be kept.
    let shadow: [UInt8]?
    /// The document as the peer knew it before the write.
    let before: StoredDocument?
    /// Whether the document contains writes that the peer has not sent this time.
    let isKnown: Bool
    /// Whether the write was joined with the stored document; otherwise it was dropped.
    var isWritten = false
    /// Whether the write changed the stored document.
    var isNew = false
}

/// Writes to documents that are hidden from their writer.
extension DocumentTransaction {
    /// Whether a peer may not read the document at a position, or may not learn of its deletion: then no answer
    /// to the peer may depend on the document.
    func isHidden(
        _ document: PiledDocument, at position: Int, _ rule: WriteRule
    ) throws(EngineError) -> Bool {
        let key = working[position].key.bytes
        guard let original = working[position].original, !original.isRemnant else { return false }
        guard original.isTombstone else {
            return try !rule.readable.matches(
                original, key: key, in: document.collection, directory.names, of: self)
        }
        if rule.shadows.documents[document.address] != nil { return true }
        return try !rule.deletions.mayKnowDeletion(
            key, document.address, DocumentSnapshot(snapshot, directory))
    }

    /// Receives a write to a document that is hidden from the peer.
    ///
    /// The write is judged as if the store had only what the peer has sent of the document before, so the answer
    /// reveals nothing else. If the peer may also write the stored document, the write is joined with it; otherwise,
    /// or where the result exceeds a limit, the write is dropped.
    mutating func receiveHidden(
        _ document: PiledDocument, _ key: DocumentKey, _ rule: WriteRule, at position: Int,
        _ seen: TimeSeen
    ) throws(EngineError) -> Reception {
        let (alone, result) = try receiveAlone(document, key, rule, at: position, seen)
        guard var write = result?.write, let whole = result?.whole else { return alone }
        guard try isPermitted(working[position].original, at: key, rule.freelyWritable),
            let reception = try joinHidden(document, whole, key, rule, at: position, seen)
        else { return .hidden(write) }
        if case .taken(let isNew) = reception { write.isNew = isNew }
        guard try isHiddenResult(at: position, document, rule) else {
            // The write made the document readable to the peer, which lacks the writes of other peers.
            if case .known = reception { return .known(before: nil, lacksOwn: false) }
            return reception
        }
        write.isWritten = true
        return .hidden(write)
    }

    /// Joins a write with the stored document, which is hidden from the peer; returns nil, and leaves the document as it
    /// is, if that is not permitted or exceeds a limit.
    ///
    /// `whole` is the document as the peer knows it after the write.
    private mutating func joinHidden(
        _ document: PiledDocument, _ whole: [UInt8], _ key: DocumentKey, _ rule: WriteRule,
        at position: Int, _ seen: TimeSeen
    ) throws(EngineError) -> Reception? {
        let (untouched, tokens) = (working[position], tokens)
        do throws(EngineError) {
            var reception = try receive(
                document, key, rule.freelyWritable, at: position, seen, isHidden: true)
            if case .gap = reception {
                // An earlier write was dropped, and the peer regards it as written.
                reception = try whole.span.withUnsafeBytes { (bytes) throws(EngineError) in
                    try receive(
                        document.replaced(by: bytes, whole), key, rule.freelyWritable,
                        at: position, seen, isHidden: true)
                }
            }
            let length = hiddenLength + working[position].changedLength
            switch reception {
            case .taken, .known:
                guard length <= maximumChangedLength, try !working[position].isTooLong() else {
                    break
                }
                hiddenLength = length
                return reception
            default: break
            }
        } catch {
            // An error would show the peer a length or a value that it may not read.
            switch error {
            case .received, .limit: break
            default: throw error
            }
        }
        (working[position], self.tokens) = (untouched, tokens)
        return nil
    }

    /// Returns how a document is received if the store has only what the peer has sent of it before, and the
    /// resulting write and document; the stored document is not changed.
    private mutating func receiveAlone(
        _ document: PiledDocument, _ key: DocumentKey, _ rule: WriteRule, at position: Int,
        _ seen: TimeSeen
    ) throws(EngineError) -> (Reception, (write: HiddenWrite, whole: [UInt8])?) {
        let (hidden, tokens) = (working[position], tokens)
        let before = rule.shadows.documents[document.address].map {
            StoredDocument($0, stateLength: $0.count, deltaLength: 0, deltaCount: 0)
        }
        working[position] = try WorkingDocument(key, before)
        defer { (working[position], self.tokens) = (hidden, tokens) }
        let reception = try receive(
            document, key, rule.writable, at: position, seen, isHidden: true)
        // The length of the stored document does not count: the peer would learn it.
        try countLength(working[position].changedLength)
        let isKnown: Bool
        switch reception {
        case .taken: isKnown = false
        case .known: isKnown = true
        default: return (reception, nil)
        }
        let write = try hiddenWrite(at: position, before, isKnown: isKnown)
        return (reception, (write, working[position].state ?? []))
    }

    /// Returns how a document that was readable to the peer, or did not exist, was received: as a hidden document
    /// if the peer may not read the result.
    func hidden(
        _ reception: Reception, _ document: PiledDocument, at position: Int, _ rule: WriteRule
    ) throws(EngineError) -> Reception {
        var (isKnown, isNew) = (false, false)
        switch reception {
        case .taken(let changed): isNew = changed
        case .known: isKnown = true
        default: return reception
        }
        guard try isHiddenResult(at: position, document, rule) else { return reception }
        var write = try hiddenWrite(
            at: position, working[position].original, isKnown: isKnown)
        (write.isWritten, write.isNew) = (true, isNew)
        return .hidden(write)
    }

    /// Whether a peer may not read the document after a write, or may not learn of its deletion.
    private func isHiddenResult(
        at position: Int, _ document: PiledDocument, _ rule: WriteRule
    ) throws(EngineError) -> Bool {
        guard let state = working[position].state else { return false }
        let key = working[position].key.bytes
        let result = StoredDocument(
            state, stateLength: state.count, deltaLength: 0, deltaCount: 0)
        guard result.isTombstone else {
            return try !rule.readable.matches(
                result, key: key, in: document.collection, directory.names, of: self)
        }
        // The peer may learn of the deletion of a document that it could read.
        if let original = working[position].original, !original.isRemnant {
            return try isHidden(document, at: position, rule)
        }
        return try !rule.deletions.isReadableByID(key, document.address, directory.names)
    }

    private func hiddenWrite(
        at position: Int, _ before: StoredDocument?, isKnown: Bool
    ) throws(EngineError) -> HiddenWrite {
        HiddenWrite(shadow: try spelledState(position), before: before, isKnown: isKnown)
    }

    /// Returns a state with all names spelled: names that have got their numbers lately are in no snapshot yet.
    private func spelledState(_ position: Int) throws(EngineError) -> [UInt8]? {
        guard let state = working[position].state, state.count <= ShadowTable.mostBytes else {
            return nil
        }
        return try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: directory.names, to: NameTable())
            }
        }
    }
}

extension PiledDocument {
    /// Returns a document that has a whole state in the place of a delta.
    fileprivate func replaced(by bytes: UnsafeRawBufferPointer, _ state: [UInt8]) -> PiledDocument {
        PiledDocument(
            collection: collection, beginsCollection: beginsCollection, id: id,
            marks: marks.subtracting(.isPartial).union([.maySpellNames, .hasTokens]), bytes: bytes,
            contents: state[...], unproven: unproven)
    }
}
