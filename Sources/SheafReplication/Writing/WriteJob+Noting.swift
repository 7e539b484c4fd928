package import SheafDocument
import SheafEngine
import SheafSync

extension DocumentEngine.Reception {
    /// Records a formerly quarantined document that is written.
    mutating func recordReleased(_ document: BufferedDocument, _ watched: WatchedDocuments) {
        guard !watched.awaited.isEmpty, watched.awaited.contains(document.address) else {
            return
        }
        settled.append(document.address)
    }

    /// Records a document received from a peer with limited rights and not hidden from it.
    mutating func recordReceived(_ document: BufferedDocument, _ exists: Bool, _ rule: WriteRule) {
        let address = document.address
        if rule.shadows.documents[address] != nil { revealed.append(address) }
        guard exists else { return }
        // `ReceivedDocuments` keeps only the last documents, so older ones are dropped.
        if received.count >= 2 * ReceivedDocuments.maximumCount {
            received.removeFirst(ReceivedDocuments.maximumCount)
        }
        received.append(address)
    }

    /// Records a document as covered by the peer, if it is disputed.
    mutating func cover(_ document: BufferedDocument, _ watched: WatchedDocuments) {
        guard !watched.disputed.isEmpty, watched.disputed.contains(document.address) else {
            return
        }
        covered.append(document.address)
    }

    /// Records a document that the peer may not write.
    mutating func refuse(_ document: BufferedDocument, _ reason: RefusedNotice.Reason) {
        refused.append(WriteJob.Refused(address: document.address, reason: reason))
    }

    /// Records a write of a peer to a document that is hidden from it.
    mutating func hide(
        _ document: BufferedDocument, _ write: HiddenWrite, _ watched: WatchedDocuments
    ) {
        let address = document.address
        // `ShadowTable` keeps only the last documents, so older ones are dropped.
        if hidden.count >= ShadowTable.maximumCount { hidden.removeFirst() }
        hidden.append(WriteJob.Hidden(address: address, write: write))
        if write.hasOtherWrites {
            outdated.append(WriteJob.OutdatedDocument(address: address, before: write.before))
        }
        guard write.isWritten else { return dropped = ((dropped?.count ?? 0) + 1, address) }
        if write.isNew { appliedCount += 1 }
        recordReleased(document, watched)
        cover(document, watched)
    }
}

extension WriteJob.Outcome {
    /// Adds the results of a batch, and updates the rule for later batches.
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
        hidden.removeFirst(max(hidden.count - ShadowTable.maximumCount, 0))
        if let last = reception.dropped {
            dropped = ((dropped?.count ?? 0) + last.count, last.last)
        }
        received += reception.received
        for address in reception.received { rule?.deletions.received.add(address) }
    }
}

/// The documents whose arrival a write job records.
package struct WatchedDocuments: Sendable {
    /// Quarantined documents.
    var awaited: Set<DocumentAddress> = []
    /// Documents that the peer may have refused.
    var disputed: Set<DocumentAddress> = []
}

/// Received documents stamped too far ahead of the clock.
package struct AheadDocuments: Sendable {
    package private(set) var documents: [(address: DocumentAddress, time: HybridTime)] = []
    /// Number of documents beyond the maximum, and their earliest time.
    package private(set) var omitted: (count: Int, earliest: HybridTime)?

    package init() {}

    package var isEmpty: Bool { documents.isEmpty && omitted == nil }

    package mutating func add(_ address: DocumentAddress, _ time: HybridTime) {
        guard documents.count < QuarantineTable.maximumCount else { return omit(1, time) }
        documents.append((address, time))
    }

    package mutating func add(_ others: AheadDocuments) {
        for (address, time) in others.documents { add(address, time) }
        if let (count, earliest) = others.omitted { omit(count, earliest) }
    }

    private mutating func omit(_ count: Int, _ time: HybridTime) {
        omitted = ((omitted?.count ?? 0) + count, min(omitted?.earliest ?? time, time))
    }
}
