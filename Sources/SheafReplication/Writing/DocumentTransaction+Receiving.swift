import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafSync

extension DocumentTransaction {
    /// The outcome of a document that a peer has sent.
    package enum Reception {
        /// The document was accepted; `isNew` is whether it changed the stored document.
        case accepted(isNew: Bool)
        /// The document was joined, and the store has writes that the peer lacks.
        ///
        /// `before` is the state before the join; `lacksOwn` is whether some of these writes are
        /// this store's.
        case merged(before: StoredDocument?, lacksOwn: Bool)
        /// The delta builds on changes that the store lacks: the complete document is needed.
        case gap
        /// The peer may not write the document; the reason names the state that is not permitted.
        case refused(before: StoredDocument?, RefusedNotice.Reason)
        /// The peer may not delete the document; `isSeen` is whether the deletion was seen before.
        case deletionRefused(isSeen: Bool)
        /// A dot has this time, which is too far ahead of the clock; nothing was written.
        case tooFarAhead(HybridTime)
        /// The stored document is hidden from the peer.
        ///
        /// The response treats the join of all that the peer has sent as the document.
        case hidden(HiddenWrite)
    }

    /// Joins a document that a peer has sent, as far as the write rule of the peer permits.
    ///
    /// A batch has each document once, so earlier changes of the transaction are to other
    /// documents.
    package mutating func receive(
        _ document: BufferedDocument, _ key: DocumentKey, _ rule: WriteRule?
    ) throws(EngineError) -> Reception {
        // With a rule, the result of the join must be checked.
        if rule == nil, try receiveNew(document, key) { return .accepted(isNew: true) }
        guard positions[key] == nil, encoded.index(of: key) == nil else {
            throw .invalidDocument(.invalid("a document that occurs twice in a batch", at: 0))
        }
        let seen = try receivedTime(in: document, key)
        if case .tooFarAhead(let time) = seen { return .tooFarAhead(time) }
        let position = try open(key)
        if let rule, try isHidden(document, at: position, rule) {
            return try receiveHidden(document, key, rule, at: position, seen)
        }
        let reception = try receive(document, key, rule?.writable, at: position, seen)
        try addLength(working[position].changedLength)
        guard let rule else { return reception }
        return try hideIfUnreadable(reception, document, at: position, rule)
    }

    /// Receives a document, which may be hidden from the peer, at its position in the transaction.
    package mutating func receive(
        _ document: BufferedDocument, _ key: DocumentKey, _ rule: SubscriptionMatcher?,
        at position: Int, _ seen: ReceivedTime, isHidden: Bool = false
    ) throws(EngineError) -> Reception {
        let before = !working[position].hasState ? nil : try vector(at: position)
        let isPartial = document.marks.contains(.isPartial)
        guard before != nil || !isPartial else { return .gap }
        if let rule, try isForbiddenDeletion(document, of: position, rule) {
            return .deletionRefused(isSeen: try isCovered(document, key, by: before))
        }
        let overlap = try overlap(of: document, key, before)
        // Peers can see that the store draws another site, so a hidden document must not cause
        // that.
        checkOwnWrites(
            overlap.ownTime, of: position, seen: isHidden ? nil : before?.time(of: clock.site))
        try recordOwnLostWrites(in: document, overlap.ownTime)
        if let before { try recordLostWrite(of: document, before: before) }
        if case .acceptable(let latest) = seen { try observe(latest) }
        let untouched = rule == nil ? nil : working[position]
        var kept = KeptWrites()
        // Kept writes are visible to peers, so writes of a hidden document are not kept.
        if !isHidden, let before {
            guard
                let writes = try keepWrites(
                    of: document, at: position, before: before, receiving: overlap.received)
            else { return .gap }
            kept = writes
        }
        let isNew: Bool
        switch try join(document, key, kept, rule, at: position) {
        case .joined(let isChange): isNew = isChange
        case .gap: return .gap
        case .refused:
            if let untouched { working[position] = untouched }
            return .refused(before: working[position].original, .original)
        }
        var hasRemoved = false
        if !isHidden, let before {
            // Writes that were just assigned have a site that neither vector has.
            let vectors = kept.hasAny ? [try vector(at: position)] : [before, overlap.received]
            hasRemoved = removeLostSums(at: position, vectors, document.address)
        }
        if let rule, let untouched, working[position].isChanged,
            let reason = try refusalReason(of: position, rule)
        {
            working[position] = untouched
            return .refused(before: untouched.original, reason)
        }
        if kept.hasAny { lostWrites.kept.append(document.address) }
        if hasRemoved { lostWrites.removed.append(document.address) }
        try recordTokenSource(of: document, at: position)
        recordAttachmentIDs(document.bytes)
        let hasChangedMore = kept.hasAny || hasRemoved
        return overlap.coversLocal && !hasChangedMore
            ? .accepted(isNew: isNew)
            // The peer lacks this change, whether the document matched before or not.
            : .merged(
                before: hasChangedMore ? nil : working[position].original,
                lacksOwn: overlap.lacksOwn)
    }

    /// Whether a version vector has all writes of a received document.
    private func isCovered(
        _ document: BufferedDocument, _ key: DocumentKey, by vector: VersionVector?
    ) throws(EngineError) -> Bool {
        try onDocument(key.bytes) { () throws(Malformed) in
            try vector?.covers(EncodedDocument(document.bytes).vector()) ?? false
        }
    }

    /// The writes that a received document and the local state have in common.
    private struct Overlap {
        /// Time of the newest write of the local site in the received document.
        var ownTime: HybridTime
        /// The version vector of the received document; empty if there is no local state.
        var received = VersionVector()
        /// Whether the received document has all local writes.
        var coversLocal = true
        /// Whether the received document lacks a write of the local site or of a former one.
        var lacksOwn = false
    }

    private func overlap(
        of document: BufferedDocument, _ key: DocumentKey, _ before: VersionVector?
    ) throws(EngineError) -> Overlap {
        try onDocument(key.bytes) { () throws(Malformed) in
            let document = try EncodedDocument(document.bytes)
            var overlap = Overlap(ownTime: try document.header().time(of: clock.site))
            guard let before else { return overlap }
            overlap.received = try document.vector()
            guard !overlap.received.covers(before) else { return overlap }
            overlap.coversLocal = false
            overlap.lacksOwn = (formerSites + [clock.site]).contains {
                before.time(of: $0) > overlap.received.time(of: $0)
            }
            return overlap
        }
    }

    /// The outcome of joining a received document with the local state.
    private enum JoinOutcome {
        case joined(isNew: Bool)
        /// The complete document is needed.
        case gap
        /// The complete document is needed, but would be refused.
        case refused
    }

    private mutating func join(
        _ document: BufferedDocument, _ key: DocumentKey, _ kept: KeptWrites,
        _ rule: SubscriptionMatcher?, at position: Int
    ) throws(EngineError) -> JoinOutcome {
        do throws(EngineError) {
            let changed = ChangedBytes(
                bytes: kept.assigned ?? Array(document.bytes),
                spellsNames: kept.assigned != nil || document.marks.contains(.maySpellNames))
            let isPartial = document.marks.contains(.isPartial)
            return .joined(
                isNew: try working[position].applyIfNew(
                    changed, isPartial: isPartial, catalog.names))
        } catch {
            switch error {
            case .gap:
                guard let rule, try !isPermitted(working[position].original, at: key, rule)
                else { return .gap }
                return .refused
            case .document(.malformed(let reason)): throw .invalidDocument(reason)
            default: throw error
            }
        }
    }

    /// The writes that are kept although the store that made them has lost them.
    private struct KeptWrites {
        var hasAny = false
        /// The received document, with its lost writes assigned to another site; nil if none.
        var assigned: [UInt8]?
    }

    /// Keeps the writes that their store has lost; returns nil if the complete document is needed.
    private mutating func keepWrites(
        of document: BufferedDocument, at position: Int, before: VersionVector,
        receiving received: VersionVector
    ) throws(EngineError) -> KeptWrites? {
        var kept = KeptWrites()
        kept.hasAny = reassignLostWrites(
            at: position, before: before, receiving: received, document.address)
        do throws(EngineError) {
            kept.assigned = try reassignLostWrites(
                in: document, before: before, receiving: received)
        } catch {
            guard case .gap = error else { throw error }
            return nil
        }
        kept.hasAny = kept.hasAny || kept.assigned != nil
        return kept
    }

    private func vector(at position: Int) throws(EngineError) -> VersionVector {
        guard let state = working[position].state else { return VersionVector() }
        return try onDocument(working[position].key.bytes) { () throws(Malformed) in
            try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try EncodedDocument(bytes).vector()
            }
        }
    }

    /// Whether a peer has sent the deletion of a document that it may not write.
    ///
    /// A peer also reports a deletion when this peer names the document, without knowing its local
    /// state. So the document is kept, and nothing is sent in response.
    private func isForbiddenDeletion(
        _ document: BufferedDocument, of position: Int, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard !document.marks.contains(.isPartial), let original = working[position].original,
            !original.isTombstone, !original.isRemnant
        else { return false }
        guard StoredDocument(Array(document.bytes)).isTombstone else { return false }
        return try !rule.matches(
            original, key: working[position].key.bytes, in: document.collection, catalog.names,
            of: self)
    }

    /// Returns which state of a changed document the rule forbids; nil if it permits the write.
    private func refusalReason(
        of position: Int, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> RefusedNotice.Reason? {
        let (key, original) = (working[position].key, working[position].original)
        let after = working[position].state.map { StoredDocument($0) }
        guard try isPermitted(after, at: key, rule) else { return .result }
        return try isPermitted(original, at: key, rule) ? nil : .original
    }

    /// Whether the rule permits writing this state; true for nil, tombstones and remnants.
    func isPermitted(
        _ image: StoredDocument?, at key: DocumentKey, _ rule: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard let image, !image.isTombstone, !image.isRemnant else { return true }
        let number = key.bytes.span.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
        guard let number, let collection = catalog.collectionName(number) else { return true }
        return try rule.matches(image, key: key.bytes, in: collection, catalog.names, of: self)
    }
}
