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
        guard connection.sender != nil else {
            // The queries are not known before the subscription is active.
            guard rateLimiters.hasSubscribed(key) else { return }
            for document in known {
                if let limited = connection.exchange.limitedPeer {
                    limited.judgeLater(document.address)
                } else {
                    repairs.insert(document.address, for: key)
                }
            }
            return discardExcessRepairs()
        }
        runSender(of: connection) { sender, context, exchange in
            sender.repair(known, after: localCommit, context, on: &exchange)
        }
        discardExcessRepairs()
    }

    /// Discards read repairs beyond the limit; the affected peers reconcile instead.
    private func discardExcessRepairs() {
        guard repairs.isOverfull else { return }
        let discarded = repairs.discardExcess(
            connected: table.keys, newest: recent.snapshot.log.commit)
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

    func recordRepaired(through commit: CommitID, on connection: Connection) {
        guard let key = connection.session.remote?.peerKey else { return }
        repairs.recordAcknowledged(commit, by: key)
    }
}
