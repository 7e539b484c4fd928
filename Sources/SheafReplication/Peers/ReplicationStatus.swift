package import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// The status of replication with one peer.
package struct ReplicationStatus: Sendable, Equatable {
    package var isConnected = false
    package var isServer = false
    package var name = ""
    package var site = Site.initial
    /// The local commit up to which the peer has all documents of its subscription.
    package var syncedUpTo: UInt64?
    /// The newest local commit of which the peer has stored documents.
    package var deliveredUpTo: UInt64?
    /// The reason why the last connection ended; nil if none has ended.
    package var lastCloseReason: String?
    /// The time at which the last connection ended, in milliseconds since 1970.
    package var endedMilliseconds: UInt64 = 0
    /// The address of the newest connection.
    package var address = ""
    /// Number of consecutive short connections; 1 after a long one.
    package var shortConnections: UInt64 = 0
    /// Number of write jobs in which the peer delivered new changes.
    package var updates = 0
    /// The reason why the peer's attachments are not fetched for other peers; nil if they are.
    package var attachmentQuotaReason: String?
    /// The progress of the documents that the peer sends, and of those sent to it; nil if none are.
    package var receiving: SyncProgress?
    package var sending: SyncProgress?
    /// Clock deviations of the peer, and the documents quarantined for them.
    package var clock = ClockReport()

    package init() {}
}
