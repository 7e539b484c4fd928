import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// The status of the remembered peers.
extension Replicator {
    /// The status of all remembered peers, by peer key.
    package var allStatuses: [[UInt8]: ReplicationStatus] { peers.statuses }

    /// Returns the statuses that have changed since the last call, by peer key.
    package func drainChangedStatuses() -> [[UInt8]: ReplicationStatus] { peers.drainChanged() }

    func record(connected connection: Connection, _ hello: Hello) {
        change(connection) { status in
            status.isConnected = true
            status.address = connection.address
            status.isServer = hello.isServer
            status.name = hello.name
            status.site = hello.site
        }
        emit(.presenceChanged)
    }

    func change(_ connection: Connection, _ body: (inout ReplicationStatus) -> Void) {
        guard let key = connection.session.remote?.peerKey else { return }
        if peers.change(key, body) { emit(.statusChanged) }
    }

    /// Records the progress of long batches.
    func recordProgress(on connection: Connection) {
        let progress = (connection.receiver.progress, connection.sender?.outgoing?.progress)
        guard progress != connection.progress else { return }
        connection.progress = progress
        change(connection) { ($0.receiving, $0.sending) = progress }
    }

    func acknowledged(_ connection: Connection, _ commit: UInt64) {
        guard !connection.isLimited else {
            return runSender(of: connection) { sender, context, _ in
                sender.acknowledgeLimited(through: commit, context)
            }
        }
        // An acknowledged commit never exceeds the newest local one.
        let commit = min(commit, recent.snapshot.log.commit)
        let known = connection.sender?.acknowledged ?? 0
        connection.sender?.acknowledged = max(known, commit)
        recordRepaired(through: commit, on: connection)
        handleAcknowledgment(through: commit, on: connection)
        recordSynced(through: commit, connection)
    }

    /// Records an acknowledgment, which confirms deliveries and accepts formerly refused documents.
    func handleAcknowledgment(through commit: UInt64, on connection: Connection) {
        let key = connection.session.remote?.peerKey ?? []
        guard peers[key]?.clock.quarantinedRemotely == nil else { return }
        refusals.recordAcknowledged(commit, by: key)
        guard let delivered = connection.sender?.removeDelivered(commit) else { return }
        change(connection) { $0.deliveredUpTo = max($0.deliveredUpTo ?? 0, delivered) }
    }

    /// Records that a peer has acknowledged all documents of its subscription up to a local commit.
    func recordSynced(through commit: UInt64, _ connection: Connection) {
        connection.acknowledged = max(connection.acknowledged, commit)
        recordSynced(connection)
    }

    /// Records that a peer has all documents of its subscription up to the acknowledged commit.
    ///
    /// It waits until the documents that this peer may not send are known.
    func recordSynced(_ connection: Connection) {
        let commit = connection.acknowledged
        guard commit > 0, connection.knowsRefusals else { return }
        connection.acknowledged = 0
        change(connection) { status in
            // The peer lacks documents that it has quarantined, and any commit may have written
            // these.
            guard status.clock.quarantinedRemotely == nil else { return }
            status.syncedUpTo = max(status.syncedUpTo ?? 0, commit)
        }
    }
}
