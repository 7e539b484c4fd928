package import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// The status of the remembered peers.
extension Replicator {
    /// The status of one peer.
    package struct Status: Sendable, Equatable {
        package internal(set) var isConnected = false
        package internal(set) var isServer = false
        package internal(set) var name = ""
        package internal(set) var site = Site.initial
        /// The local commit up to which the peer has all documents of its subscription.
        package internal(set) var syncedUpTo: UInt64?
        /// The newest local commit of which the peer has stored documents.
        package internal(set) var deliveredUpTo: UInt64?
        /// The reason why the last connection ended; nil if none has ended.
        package internal(set) var lastCloseReason: String?
        /// The time at which the last connection ended, in milliseconds since 1970.
        package internal(set) var endedMilliseconds: UInt64 = 0
        /// The address of the newest connection.
        package internal(set) var address = ""
        /// Number of consecutive connections that ended soon after they began.
        package internal(set) var shortConnections: UInt64 = 0
        /// Number of write jobs in which the peer delivered new changes.
        package internal(set) var updates = 0
        /// The reason why the peer's attachments are not fetched for other peers; nil if they are.
        package internal(set) var attachmentQuotaReason: String?
        /// Clock deviations of the peer, and the documents quarantined for them.
        package internal(set) var clock = ClockReport()
    }

    /// The status of all remembered peers, by peer key.
    package var allStatuses: [[UInt8]: Status] { peers.statuses }

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

    func change(_ connection: Connection, _ body: (inout Status) -> Void) {
        guard let key = connection.session.remote?.peerKey else { return }
        if peers.change(key, body) { emit(.statusChanged) }
    }

    func acknowledged(_ connection: Connection, _ commit: UInt64) {
        guard !connection.isLimited else {
            return runSender(of: connection) { sender, context, _ in
                sender.acknowledgeLimited(through: commit, context)
            }
        }
        // An acknowledged commit never exceeds the newest local one.
        let commit = min(commit, news.snapshot.log.commit)
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

    /// Records that a peer has all documents of its subscription up to a local commit.
    func recordSynced(through commit: UInt64, _ connection: Connection) {
        change(connection) { status in
            // The peer lacks documents that it has quarantined, and any commit may have written
            // these.
            guard status.clock.quarantinedRemotely == nil else { return }
            status.syncedUpTo = max(status.syncedUpTo ?? 0, commit)
        }
    }
}
