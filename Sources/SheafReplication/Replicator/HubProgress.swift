package import SheafDocument
package import SheafHubLog
package import SheafStorage

/// The progress of a hub in reading and writing its log, at one moment.
package struct HubProgress: Sendable {
    /// The same for one shard.
    package struct Shard: Sendable {
        package let number: UInt16
        package let progress: ShardProgress
        /// Whether the hub has read a mark that it appended after it began to read.
        package let hasCaughtUp: Bool
        /// Whether the store cannot read documents that a newer version has written.
        package let isBlocked: Bool
        /// Messages that are appended and not stored, and their bytes.
        package let unstoredMessages: Int
        package let unstoredLength: Int
        /// The sequence of the first of these messages, or of the next message if there is none.
        package let firstUnstored: UInt64
        /// Groups of other hubs that are read and not written.
        package let unwrittenGroups: Int
        /// The contradictions that have not ended.
        package let incidents: [ShardIncident]
        /// The version of a message at which this hub stopped reading.
        package let newerVersion: UInt8?

        package init(
            number: UInt16, progress: ShardProgress, hasCaughtUp: Bool, isBlocked: Bool,
            unstoredMessages: Int, unstoredLength: Int, firstUnstored: UInt64,
            unwrittenGroups: Int, incidents: [ShardIncident], newerVersion: UInt8?
        ) {
            self.number = number
            self.progress = progress
            self.hasCaughtUp = hasCaughtUp
            self.isBlocked = isBlocked
            self.unstoredMessages = unstoredMessages
            self.unstoredLength = unstoredLength
            self.firstUnstored = firstUnstored
            self.unwrittenGroups = unwrittenGroups
            self.incidents = incidents
            self.newerVersion = newerVersion
        }
    }

    package let log: HubLogID
    package let author: HubAuthor
    package let shards: [Shard]
    /// The newest durable commit, and the one up to which all commits are hub-durable.
    package let commit: CommitID
    package let hubDurable: CommitID
    package let clientCount: Int
    /// Received batches that are not acknowledged.
    package let unacknowledgedCount: Int
    /// Number of bytes of documents of clients that are not hub-durable.
    package let pendingLength: Int
    /// Time for which clients have been held, because these are too many; nil if they are not.
    package let heldNanoseconds: UInt64?
    /// Number of deviations of the log, by the row of table 4 that they match, and of malformed
    /// broadcasts.
    package let faults: [String: UInt64]

    package init(
        log: HubLogID, author: HubAuthor, shards: [Shard], commit: CommitID, hubDurable: CommitID,
        clientCount: Int, unacknowledgedCount: Int, pendingLength: Int, heldNanoseconds: UInt64?,
        faults: [String: UInt64]
    ) {
        self.log = log
        self.author = author
        self.shards = shards
        self.commit = commit
        self.hubDurable = hubDurable
        self.clientCount = clientCount
        self.unacknowledgedCount = unacknowledgedCount
        self.pendingLength = pendingLength
        self.heldNanoseconds = heldNanoseconds
        self.faults = faults
    }
}
