import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

extension Replicator {
    /// Number of documents kept for read repair, for all peers together.
    package var repairCount: Int { repairs.count }

    /// Sends newer documents to a peer that sent older states of them.
    ///
    /// If the older state matched the queries of the peer, the document is sent without a repair.
    /// With `localCommit`, the repairs wait until that commit is durable.
    func repair(
        _ known: [WriteJob.OutdatedDocument], after localCommit: CommitID? = nil,
        on connection: Connection
    ) {
        guard let key = connection.session.remote?.peerKey else { return }
        guard !connection.isLimited else {
            return repairLimited(known, after: localCommit, on: connection)
        }
        guard let matcher = connection.sender?.matcher else {
            // The queries are not known before the subscription is active.
            guard rateLimiters.hasSubscribed(key) else { return }
            for document in known { repairs.insert(document.address, for: key) }
            return discardExcessRepairs()
        }
        let snapshot = news.snapshot
        for document in known where matcher.selects(for: document.address.collection) {
            guard let documentKey = snapshot.key(of: document.address) else { continue }
            // Without a result, because the slice is used up, the document is sent although it need
            // not be.
            let hasMatched = try? matcher.matches(
                document.before, key: documentKey, in: document.address.collection, snapshot.names)
            if hasMatched != true {
                repairs.insert(document.address, for: key)
                connection.sender?.queueRepair(
                    of: document.address, after: localCommit, durable: snapshot.log.commit)
            }
        }
        discardExcessRepairs()
    }

    /// Discards read repairs beyond the limit; the affected peers reconcile instead.
    private func discardExcessRepairs() {
        let connected = Set(connections.values.compactMap { $0.session.remote?.peerKey })
        let discarded = repairs.discardExcess(
            connected: connected, newest: news.snapshot.log.commit)
        guard !discarded.isEmpty else { return }
        for connection in orderedConnections where connection.sender?.isStreaming == true {
            guard let key = connection.session.remote?.peerKey, discarded.contains(key) else {
                continue
            }
            connection.sender?.complete = []
            connection.sender?.completeLater = []
            restart(connection)
        }
    }

    /// Returns the read repairs that a new subscription of the peer must deliver.
    func outstandingRepairs(of connection: Connection) -> Set<DocumentAddress> {
        guard let key = connection.session.remote?.peerKey, let matcher = connection.sender?.matcher
        else {
            return []
        }
        repairs.beginAnew(key)
        return repairs.documents(for: key).filter { matcher.selects(for: $0.collection) }
    }

    /// Records which acknowledgment completes the read repairs of a batch.
    func recordSent(_ outgoing: Outgoing, on connection: Connection) {
        guard !connection.isLimited else { return recordSentToLimited(outgoing, on: connection) }
        guard !outgoing.complete.isEmpty, let key = connection.session.remote?.peerKey else {
            return
        }
        let commit = outgoing.snapshot.log.commit
        repairs.recordSent(
            outgoing.complete, with: outgoing.isRepeated ? commit + 1 : commit, to: key)
    }

    func recordRepaired(through commit: CommitID, on connection: Connection) {
        guard let key = connection.session.remote?.peerKey else { return }
        repairs.recordAcknowledged(commit, by: key)
    }
}
