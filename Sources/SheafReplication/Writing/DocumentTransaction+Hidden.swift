import SheafBytes
import SheafDocument
package import SheafEngine
import SheafSync

/// The rules for documents that a peer with limited rights sends.
package struct WriteRule {
    /// The write rule, evaluated within the budget of the peer.
    let writable: SubscriptionMatcher
    /// The write rule without budget and errors, for stored documents that the peer may not read.
    ///
    /// An exceeded budget or an error would reveal properties of such a document.
    let unmeteredWritable: SubscriptionMatcher
    let readable: SubscriptionMatcher
    /// The rule for the deletions that the peer may learn of.
    var deletions: DeletionRule
    /// Earlier writes of the peer to documents that are hidden from it.
    var shadows: ShadowTable
}

/// A write of a peer to a document that it may not read.
package struct HiddenWrite: Sendable {
    /// The join of all writes of the peer to the document; nil if it is too long to keep.
    package let shadow: [UInt8]?
    /// The document as the peer knew it before the write.
    package let before: StoredDocument?
    /// Whether the document has writes that the peer has not sent this time.
    package let hasOtherWrites: Bool
    /// Whether the write was joined with the stored document; otherwise it was dropped.
    package var isWritten = false
    /// Whether the write changed the stored document.
    package var isNew = false
}

/// Writes to documents that are hidden from their writer.
extension DocumentTransaction {
    /// Whether a peer may not read a document, or may not learn of its deletion.
    ///
    /// No response to the peer may depend on such a document.
    func isHidden(
        _ document: BufferedDocument, at position: Int, _ rule: WriteRule
    ) throws(EngineError) -> Bool {
        let key = working[position].key.bytes
        guard let original = working[position].original, !original.isRemnant else { return false }
        guard original.isTombstone else {
            return try !rule.readable.matches(
                original, key: key, in: document.collection, catalog.names, of: self)
        }
        if rule.shadows.documents[document.address] != nil { return true }
        return try !rule.deletions.mayKnowDeletion(
            key, document.address, DocumentSnapshot(snapshot, catalog))
    }

    /// Receives a write to a document that is hidden from the peer.
    ///
    /// The write is judged as if the store had only the writes of the peer to the document, so the
    /// response reveals nothing else. If the peer may also write the stored document, the write is
    /// joined with it; otherwise, or if the result exceeds a limit, the write is dropped.
    mutating func receiveHidden(
        _ document: BufferedDocument, _ key: DocumentKey, _ rule: WriteRule, at position: Int,
        _ seen: ReceivedTime
    ) throws(EngineError) -> Reception {
        let (alone, result) = try receiveIsolated(document, key, rule, at: position, seen)
        guard var write = result?.write, let peerState = result?.peerState else { return alone }
        guard try isPermitted(working[position].original, at: key, rule.unmeteredWritable),
            let reception = try joinHidden(document, peerState, key, rule, at: position, seen)
        else { return .hidden(write) }
        if case .accepted(let isNew) = reception { write.isNew = isNew }
        guard try isHiddenResult(at: position, document, rule) else {
            // The write made the document readable to the peer, which lacks the writes of other
            // peers.
            if case .merged = reception { return .merged(before: nil, lacksOwn: false) }
            return reception
        }
        write.isWritten = true
        return .hidden(write)
    }

    /// Joins a write with the stored document, which is hidden from the peer.
    ///
    /// Returns nil and leaves the document unchanged if that is not permitted or exceeds a limit.
    /// `peerState` is the document as the peer knows it after the write.
    private mutating func joinHidden(
        _ document: BufferedDocument, _ peerState: [UInt8], _ key: DocumentKey, _ rule: WriteRule,
        at position: Int, _ seen: ReceivedTime
    ) throws(EngineError) -> Reception? {
        let (untouched, tokens) = (working[position], tokens)
        do throws(EngineError) {
            var reception = try receive(
                document, key, rule.unmeteredWritable, at: position, seen, isHidden: true)
            if case .gap = reception {
                // An earlier write was dropped, and the peer regards it as written.
                reception = try peerState.span.withUnsafeBytes { (bytes) throws(EngineError) in
                    try receive(
                        document.replaced(by: bytes, peerState), key, rule.unmeteredWritable,
                        at: position, seen, isHidden: true)
                }
            }
            let length = hiddenLength + working[position].changedLength
            switch reception {
            case .accepted, .merged:
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
            case .invalidDocument, .limit: break
            default: throw error
            }
        }
        (working[position], self.tokens) = (untouched, tokens)
        return nil
    }

    /// Receives a document as if the store had only the earlier writes of the peer.
    ///
    /// Returns the outcome and, if it was accepted, the write and the resulting document. The
    /// stored document is not changed.
    private mutating func receiveIsolated(
        _ document: BufferedDocument, _ key: DocumentKey, _ rule: WriteRule, at position: Int,
        _ seen: ReceivedTime
    ) throws(EngineError) -> (Reception, (write: HiddenWrite, peerState: [UInt8])?) {
        let (hidden, tokens) = (working[position], tokens)
        let before = rule.shadows.documents[document.address].map { StoredDocument($0) }
        working[position] = try WorkingDocument.open(key, before)
        defer { (working[position], self.tokens) = (hidden, tokens) }
        let reception = try receive(
            document, key, rule.writable, at: position, seen, isHidden: true)
        // The stored document is not counted: an exceeded limit would reveal its length.
        try addLength(working[position].changedLength)
        let isKnown: Bool
        switch reception {
        case .accepted: isKnown = false
        case .merged: isKnown = true
        default: return (reception, nil)
        }
        let write = try hiddenWrite(at: position, before, hasOtherWrites: isKnown)
        return (reception, (write, working[position].state ?? []))
    }

    /// Returns the outcome for a document that was readable to the peer, or did not exist.
    ///
    /// If the peer may not read the result, the outcome is that of a hidden document.
    func hideIfUnreadable(
        _ reception: Reception, _ document: BufferedDocument, at position: Int, _ rule: WriteRule
    ) throws(EngineError) -> Reception {
        var (isKnown, isNew) = (false, false)
        switch reception {
        case .accepted(let changed): isNew = changed
        case .merged: isKnown = true
        default: return reception
        }
        guard try isHiddenResult(at: position, document, rule) else { return reception }
        var write = try hiddenWrite(
            at: position, working[position].original, hasOtherWrites: isKnown)
        (write.isWritten, write.isNew) = (true, isNew)
        return .hidden(write)
    }

    /// Whether a peer may not read the result of a write, or may not learn of the deletion.
    private func isHiddenResult(
        at position: Int, _ document: BufferedDocument, _ rule: WriteRule
    ) throws(EngineError) -> Bool {
        guard let state = working[position].state else { return false }
        let key = working[position].key.bytes
        let result = StoredDocument(state)
        guard result.isTombstone else {
            return try !rule.readable.matches(
                result, key: key, in: document.collection, catalog.names, of: self)
        }
        // The peer may learn of the deletion of a document that it could read.
        if let original = working[position].original, !original.isRemnant {
            return try isHidden(document, at: position, rule)
        }
        return try !rule.deletions.isReadableByID(key, document.address, catalog.names)
    }

    private func hiddenWrite(
        at position: Int, _ before: StoredDocument?, hasOtherWrites: Bool
    ) throws(EngineError) -> HiddenWrite {
        HiddenWrite(
            shadow: try spelledState(position), before: before, hasOtherWrites: hasOtherWrites)
    }

    /// Returns a state with all names spelled out; nil if it is too long for a shadow.
    ///
    /// Snapshots lack the latest name numbers.
    private func spelledState(_ position: Int) throws(EngineError) -> [UInt8]? {
        guard let state = working[position].state, state.count <= ShadowTable.maximumBytes else {
            return nil
        }
        return try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).renamed(from: catalog.names, to: NameTable())
            }
        }
    }
}

extension BufferedDocument {
    /// Returns the document with a complete state instead of a delta.
    fileprivate func replaced(by bytes: UnsafeRawBufferPointer, _ state: [UInt8])
        -> BufferedDocument
    {
        BufferedDocument(
            collection: collection, beginsCollection: beginsCollection, id: id,
            marks: marks.subtracting(.isPartial).union([.maySpellNames, .hasTokens]), bytes: bytes,
            contents: state[...], unproven: unproven)
    }
}
