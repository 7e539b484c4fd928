import SheafDocument
import SheafSync

extension DocumentEngine.Reception {
    /// Records a document that was set aside before, and is written now.
    mutating func settle(_ document: PiledDocument, _ watched: WatchedDocuments) {
        guard !watched.awaited.isEmpty, watched.awaited.contains(document.address) else {
            return
        }
        settled.append(document.address)
    }

    /// Records a document received from a peer with limited rights that is not hidden from the peer.
    mutating func bring(_ document: PiledDocument, _ exists: Bool, _ rule: WriteRule) {
        let address = document.address
        if rule.shadows.documents[address] != nil { revealed.append(address) }
        guard exists else { return }
        // Only the last ones are kept.
        if brought.count >= 2 * BroughtDocuments.most { brought.removeFirst(BroughtDocuments.most) }
        brought.append(address)
    }

    /// Records a disputed document of which the peer has sent all writes that this store has.
    mutating func cover(_ document: PiledDocument, _ watched: WatchedDocuments) {
        guard !watched.disputed.isEmpty, watched.disputed.contains(document.address) else {
            return
        }
        covered.append(document.address)
    }

    /// Records a document that the peer may not write, and that no correction is sent for.
    mutating func refuse(_ document: PiledDocument, _ reason: RefusedNotice.Reason) {
        refused.append(WriteJob.Refused(address: document.address, reason: reason))
    }

    /// Records a write of a peer to a document that is hidden from it.
    mutating func hide(
        _ document: PiledDocument, _ write: HiddenWrite, _ watched: WatchedDocuments
    ) {
        let address = document.address
        // The shadow table keeps no more than these.
        if hidden.count >= ShadowTable.most { hidden.removeFirst() }
        hidden.append(WriteJob.Hidden(address: address, write: write))
        if write.isKnown { known.append(WriteJob.Known(address: address, before: write.before)) }
        guard write.isWritten else { return dropped = ((dropped?.count ?? 0) + 1, address) }
        if write.isNew { takenCount += 1 }
        settle(document, watched)
        cover(document, watched)
    }
}

extension WriteJob.Outcome {
    /// Adds the results of a step, and updates the rule for the steps after it.
    mutating func take(
        _ reception: DocumentEngine.Reception, of commit: UInt64, _ rule: inout WriteRule?
    ) {
        for var document in reception.hidden {
            document.commit = commit
            hidden.append(document)
            revealed.remove(document.address)
            rule?.shadows.set(document.address, document.write.shadow)
        }
        for address in reception.revealed {
            hidden.removeAll { $0.address == address }
            revealed.insert(address)
            rule?.shadows.remove(address)
        }
        hidden.removeFirst(max(hidden.count - ShadowTable.most, 0))
        if let last = reception.dropped {
            dropped = ((dropped?.count ?? 0) + last.count, last.last)
        }
        brought += reception.brought
        for address in reception.brought { rule?.deletions.brought.add(address) }
    }
}

/// Documents whose arrival a write job records.
struct WatchedDocuments: Sendable {
    /// Documents that were set aside before.
    var awaited: Set<DocumentAddress> = []
    /// Documents that the peer may have refused.
    var disputed: Set<DocumentAddress> = []
}

/// Documents with stamps too far ahead of the clock: the first ones, and the number of the others.
package struct AheadDocuments: Sendable {
    private(set) var documents: [(address: DocumentAddress, time: HybridTime)] = []
    /// Number of the other documents, and their earliest time.
    private(set) var omitted: (count: Int, earliest: HybridTime)?

    var isEmpty: Bool { documents.isEmpty && omitted == nil }

    mutating func add(_ address: DocumentAddress, _ time: HybridTime) {
        guard documents.count < SetAsideTable.most else { return omit(1, time) }
        documents.append((address, time))
    }

    mutating func add(_ others: AheadDocuments) {
        for (address, time) in others.documents { add(address, time) }
        if let (count, earliest) = others.omitted { omit(count, earliest) }
    }

    private mutating func omit(_ count: Int, _ time: HybridTime) {
        omitted = ((omitted?.count ?? 0) + count, min(omitted?.earliest ?? time, time))
    }
}
