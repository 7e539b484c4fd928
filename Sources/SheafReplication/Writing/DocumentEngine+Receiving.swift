import SheafBytes
package import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStatements
package import SheafStorage
import SheafSync
package import SheafSystem

extension DocumentEngine {
    /// Milliseconds by which documents from a hub log may be further ahead of the clock than those
    /// of a peer.
    ///
    /// No hub quarantines documents that another one accepted, while their clocks differ by less.
    private static let hubAheadAllowance: UInt64 = 60_000

    package struct Reception {
        var gaps: [DocumentAddress] = []
        var outdated: [WriteJob.OutdatedDocument] = []
        package var refused: [WriteJob.Refused] = []
        var covered: [DocumentAddress] = []
        var hidden: [WriteJob.Hidden] = []
        var dropped: (count: Int, last: DocumentAddress)?
        var received: [DocumentAddress] = []
        var revealed: [DocumentAddress] = []
        var ahead = AheadDocuments()
        var settled: [DocumentAddress] = []
        var appliedCount = 0
        var isNew = false
        /// Whether the peer has writes of this store's site that the store does not have.
        var lacksOwnWrites = false
        /// Time up to which the writes of this store are unique; nil unless `lacksOwnWrites`.
        var uniqueThrough: HybridTime?
        /// Documents whose writes could not be assigned to the new site of this store.
        var unmoved: [UnmovedDocument] = []
        /// Documents with writes that were lost by the store that made them.
        var lostWrites = LostWrites()
        /// Time of a write that the peer has made and lost.
        var lostByPeer: HybridTime?
    }

    /// Applies a batch of a peer in one commit; makes no commit if the batch cannot be applied.
    ///
    /// The returned reception contains the reason. If the peer has writes of this store's site that
    /// the store does not have, the site is replaced first.
    package func receive(
        _ step: PreparedStep, from peer: Site, _ pauses: [WritePause] = [],
        _ rule: WriteRule?, _ watched: WatchedDocuments = WatchedDocuments(),
        until stop: EvaluationStop? = nil, hasSeparated: Bool = false,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        let stamp = step.stamp ?? Stamp(.initial, peer)
        let origin = CommitOrigin(stamp: stamp, peer: peer, commit: step.commit)
        var reception = Reception()
        do throws(EngineError) {
            let (commit, _) = try write(from: origin, append: append) {
                (transaction) throws(EngineError) in
                if !pauses.isEmpty { transaction.peerPauses = (peer, pauses) }
                transaction.unproven.senderKey = step.senderKey
                transaction.connection = step.connection
                if let shard = step.storedShard {
                    transaction.storedShards = [shard]
                    transaction.aheadAllowance = Self.hubAheadAllowance
                }
                try Self.receive(
                    step.documents, rule, watched, until: stop, in: &transaction, &reception)
                reception.lostWrites = transaction.lostWrites
                reception.lostByPeer = transaction.lostByPeer
                if transaction.lostByPeer != nil { throw .rolledBack }
                if transaction.lacksOwnWrites, !hasSeparated {
                    reception.lacksOwnWrites = true
                    reception.uniqueThrough = transaction.uniqueThrough
                    throw .rolledBack
                }
                if !reception.gaps.isEmpty || step.mustWait(reception) { throw .rolledBack }
                reception.isNew = transaction.hasChanges
            }
            return (commit, reception)
        } catch {
            if reception.lostByPeer != nil { return (0, reception) }
            if reception.lacksOwnWrites {
                return try receiveSeparated(
                    step, from: peer, after: reception.uniqueThrough, rule, watched, until: stop,
                    append: append)
            }
            if !reception.gaps.isEmpty || step.mustWait(reception) { return (0, reception) }
            throw error
        }
    }

    /// Replaces the site of the store, and applies a batch again.
    private func receiveSeparated(
        _ step: PreparedStep, from peer: Site, after time: HybridTime?,
        _ rule: WriteRule?, _ watched: WatchedDocuments, until stop: EvaluationStop?,
        append: (WriteBatch) throws(StorageError) -> CommitID
    ) throws(EngineError) -> (CommitID, Reception) {
        let separation = try separate(after: time, append: append)
        var (commit, reception) = try receive(
            step, from: peer, [], rule, watched, until: stop, hasSeparated: true,
            append: append)
        reception.lacksOwnWrites = true
        reception.unmoved = separation?.unmoved ?? []
        return (commit, reception)
    }

    private static func receive(
        _ documents: SpillBuffer, _ rule: WriteRule?,
        _ watched: WatchedDocuments, until stop: EvaluationStop?,
        in transaction: inout DocumentTransaction,
        _ reception: inout Reception
    ) throws(EngineError) {
        transaction.reserveEncoded(documents.count)
        var collection: UInt16 = 0
        try documents.forEach { (document) throws(EngineError) in
            if let stop, stop.isSet { throw .stopped }
            if document.beginsCollection {
                collection = try transaction.number(ofCollection: document.collection)
            }
            let key = DocumentKey(StoreKey.document(collection, id: document.id))
            switch try transaction.receive(document, key, rule) {
            case .gap: reception.gaps.append(document.address)
            case .accepted(let isNew):
                if isNew { reception.appliedCount += 1 }
                reception.recordReleased(document, watched)
                reception.cover(document, watched)
                if let rule {
                    reception.recordReceived(document, try transaction.exists(key), rule)
                }
            case .tooFarAhead(let time): reception.ahead.add(document.address, time)
            case .merged(let before, let lacksOwn):
                reception.recordReleased(document, watched)
                if let rule {
                    reception.recordReceived(document, try transaction.exists(key), rule)
                }
                reception.outdated.append(
                    WriteJob.OutdatedDocument(
                        address: document.address, before: before, lacksOwn: lacksOwn))
            case .deletionRefused(let isSeen):
                if !isSeen { reception.refuse(document, .original) }
            case .refused(let before, let reason):
                reception.refuse(document, reason)
                // Read repair sends the local state to the peer as far as it may read it.
                reception.outdated.append(
                    WriteJob.OutdatedDocument(address: document.address, before: before))
            case .hidden(let write): reception.hide(document, write, watched)
            }
        }
    }
}

extension PreparedStep {
    /// Whether documents of a hub log are too far ahead of the clock, so that none is written.
    ///
    /// The progress in the shard would cover them.
    fileprivate func mustWait(_ reception: DocumentEngine.Reception) -> Bool {
        storedShard != nil && !reception.ahead.isEmpty
    }
}
