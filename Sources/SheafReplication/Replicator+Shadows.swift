import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
import SheafTransport

/// Hidden, deleted and evicted documents in the view of a peer with limited rights.
extension Replicator {
    /// Records the peer's writes to hidden documents, and logs those that were dropped.
    func recordHidden(_ outcome: WriteJob.Outcome, from connection: Connection) {
        let documents = outcome.hidden
        guard let key = connection.session.remote?.peerKey else { return }
        for address in outcome.revealed { connection.exchange.limitedPeer?.shadows.remove(address) }
        guard !documents.isEmpty else { return }
        for document in documents {
            connection.exchange.limitedPeer?.shadows.set(
                document.address, document.write.shadow)
        }
        // For the peer, the changes are the same as if the documents had been written.
        let changes = documents.compactMap { document in
            news.snapshot.key(of: document.address).map {
                ChangedDocument(
                    key: $0, before: document.write.before, shadowCommit: document.commit)
            }
        }
        runSender(of: connection) { sender, context, exchange throws(EngineError) in
            try sender.collect(changes, context, on: &exchange)
        }
        guard let (count, last) = outcome.dropped else { return }
        queries.log?.write(
            .warning,
            "dropped writes of a peer with limited rights to documents that it may not read: it may "
                + "not write them, or the results exceed a limit",
            [
                "peer": PeerKey(unchecked: key).description, "documents": "\(count)",
            ].merging(last.logFields) { $1 })
    }

    // MARK: Deleted documents

    /// Records documents that were received from a peer with limited rights and written.
    func recordReceived(_ outcome: WriteJob.Outcome) {
        guard let key = outcome.limitedPeer, !outcome.received.isEmpty else { return }
        for address in outcome.received {
            peers.limitedPeer(key)?.received.add(address)
        }
    }
}
