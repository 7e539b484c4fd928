public import SheafTransport

/// The state of a hub, as `sheaf hub status`, `/ready` and `/metrics` show it.
public struct HubStatus: Hashable, Sendable {
    /// The progress of a hub in one shard of the log.
    public struct Shard: Hashable, Sendable {
        /// The number of the shard, from 0.
        public let number: Int
        /// The number of the last entry that the hub has read without a gap.
        public let readEntry: UInt64
        /// The number of an entry up to which all documents are durable in the store of the hub.
        public let storedEntry: UInt64
        /// Whether the hub has read everything that was in the shard when it started.
        public let hasCaughtUp: Bool
        /// Number of messages that are appended and not stored.
        public let unstoredMessages: Int
        /// Number of bytes of these messages.
        public let unstoredBytes: Int
        /// Contradictions in the shard that have not ended, as text.
        public let incidents: [String]
    }

    /// Another hub of the same log, as its last beat shows it.
    public struct OtherHub: Hashable, Sendable {
        /// The key of the hub.
        public let key: PeerKey
        /// Whether a beat has arrived within the last 10 seconds.
        public let isLive: Bool
        /// Whether the hub was ready.
        public let isReady: Bool
        /// Whether the hub was draining.
        public let isDraining: Bool
        /// Number of its connections.
        public let clientCount: Int
        /// The versions of messages that it reads.
        public let formats: ClosedRange<Int>
        /// Its clock minus that of this hub.
        public let clockDifferenceMilliseconds: Int64
        /// Time since its last beat arrived.
        public let silentMilliseconds: UInt64
    }

    /// The key of the hub.
    public let key: PeerKey
    /// Reasons why the hub is not ready, as sentences without their period; empty if it is.
    public let reasons: [String]
    /// Whether the hub has been asked to stop.
    public let isDraining: Bool
    /// Whether the thread of the peer has responded within the last 5 seconds.
    public let isLive: Bool
    /// The id of the log.
    public let log: String
    /// The number of the log among those of the database, from 1.
    public let logNumber: UInt64
    /// The version of messages that all hubs write.
    public let format: Int
    /// The versions of messages that this hub reads.
    public let formats: ClosedRange<Int>
    /// The newest durable commit of the store.
    public let commit: UInt64
    /// The commit up to which all commits are hub-durable, so that clients may rely on them.
    public let hubDurableCommit: UInt64
    /// Time for which `hubDurableCommit` has been less than some durable commit.
    public let lagMilliseconds: UInt64
    /// Number of connections.
    public let clientCount: Int
    /// Number of received batches that are not acknowledged.
    public let unacknowledgedCount: Int
    /// Number of bytes of documents of clients that are not hub-durable.
    public let pendingBytes: Int
    /// Time for which clients have been held because of `pendingBytes`; nil while they are not.
    ///
    /// A client that is held sends no more documents, and everything else works.
    public let heldMilliseconds: UInt64?
    /// Number of attachments that documents reference and that the engine may not have.
    public let unstoredFileCount: Int
    /// Why some attachment cannot be put there, or read from there; it is tried again.
    public let fileFailure: String?
    /// The shards.
    public let shards: [Shard]
    /// The other hubs, by their keys.
    public let hubs: [OtherHub]
    /// Numbers that only grow, by name, such as `appended_messages`.
    public let counts: [String: UInt64]

    /// Whether clients should use this hub.
    public var isReady: Bool { reasons.isEmpty }
}
