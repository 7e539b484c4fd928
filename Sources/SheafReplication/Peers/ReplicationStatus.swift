package import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// The status of replication with one peer.
package struct ReplicationStatus: Sendable, Equatable {
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
    /// Number of consecutive short connections; 1 after a long one.
    package internal(set) var shortConnections: UInt64 = 0
    /// Number of write jobs in which the peer delivered new changes.
    package internal(set) var updates = 0
    /// The reason why the peer's attachments are not fetched for other peers; nil if they are.
    package internal(set) var attachmentQuotaReason: String?
    /// The progress of the documents that the peer sends, and of those sent to it; nil if none are.
    package internal(set) var receiving: SyncProgress?
    package internal(set) var sending: SyncProgress?
    /// Clock deviations of the peer, and the documents quarantined for them.
    package internal(set) var clock = ClockReport()
}
