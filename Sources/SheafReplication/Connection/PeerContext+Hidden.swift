import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Hidden, deleted and evicted documents in the view of a peer with limited rights.
extension PeerContext {
    // MARK: Hidden documents

    /// Returns a snapshot in which the peer's shadows replace documents that are hidden from it.
    func shown(_ snapshot: DocumentSnapshot) -> DocumentSnapshot {
        guard let limitedPeer, !limitedPeer.shadows.documents.isEmpty else { return snapshot }
        var shown = snapshot
        for (address, bytes) in limitedPeer.shadows.documents {
            guard let key = snapshot.key(of: address),
                isHidden(address, key, in: snapshot, from: limitedPeer)
            else { continue }
            shown.shadows[key] = StoredDocument(bytes)
        }
        return shown
    }

    /// Whether a document with a shadow is hidden from the peer.
    ///
    /// The read rule is evaluated once per version of the document.
    private func isHidden(
        _ address: DocumentAddress, _ key: [UInt8], in snapshot: DocumentSnapshot,
        from peer: LimitedPeer
    ) -> Bool {
        guard let readable = access.readable,
            let pointer = key.span.withUnsafeBytes({ snapshot.log.recordPointer(of: $0) })
        else { return false }
        let known = peer.shadows.isHidden(address, at: pointer.position)
        if let known { return known }
        guard let document = try? snapshot.document(key) else { return false }
        let counted = access.readMeter.counted
        defer {
            slice.charge(EvaluationSlice.visitUnits + access.readMeter.counted - counted)
        }
        let isReadable =
            document.isRemnant
            ? true
            : try? readable.matches(document, key: key, in: address.collection, snapshot.names)
        // Errors are recorded, too: otherwise each iteration would evaluate the same documents
        // again.
        let isHidden = isReadable == false
        peer.shadows.record(address, isHidden: isHidden, at: pointer.position)
        return isHidden
    }

    // MARK: Deleted documents

    /// The rule for deletions that may be revealed to a limited peer; nil for other peers.
    private var deletionRule: DeletionRule? {
        guard let readable = access.readable, let readableByID = access.readableByID else {
            return nil
        }
        return DeletionRule(
            readable: readable, readableByID: readableByID,
            received: limitedPeer?.received ?? ReceivedDocuments())
    }

    /// Whether the deletion of a document may be sent to the peer.
    func mayKnowDeletion(
        _ key: [UInt8], _ address: DocumentAddress, _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> Bool {
        guard let rule = deletionRule else { return true }
        // The tombstone of a shadow was written by the peer.
        if snapshot.shadows[key] != nil { return true }
        return try rule.mayKnowDeletion(key, address, snapshot)
    }

    // MARK: Evicted documents

    /// Whether evictions require a new subscription at the peer.
    ///
    /// A peer with limited rights must not observe evictions of documents that it may not read.
    func isConcerned(by evicted: [EvictedDocument]) -> Bool {
        guard isLimited else { return true }
        return evicted.contains { document in
            let (key, address) = (document.key, document.address)
            let isShown =
                document.before.isTombstone
                ? try? deletionRule?.isReadableByID(key, address, snapshot.names)
                : try? access.isShown(
                    document.before, key, address, snapshot.names, isOwn: true)
            return isShown ?? false
        }
    }
}

/// A document that was evicted locally.
struct EvictedDocument {
    let key: [UInt8]
    let address: DocumentAddress
    let before: StoredDocument
}
