import SheafDocument
package import SheafHubLog
package import SheafStorage

/// The state of a hub, as it reports it about itself.
package struct HubFeedStatus: Sendable {
    /// A shard of the hub log.
    package struct Shard: Sendable {
        package let number: UInt16
        /// The entries that the hub has read, and that its store has.
        package let progress: ShardProgress
        /// Number of messages appended and not stored.
        package let pendingCount: Int
        /// Number of groups of other hubs that wait to be written.
        package let waitingCount: Int
        /// The contradictions in the shard; with one, the hub acknowledges nothing of the shard.
        package let incidents: [ShardIncident]
        /// Whether the hub has read messages or documents that a newer version has written.
        package let isBlocked: Bool
    }

    /// Another hub.
    package struct Other: Sendable {
        package let key: [UInt8]
        package let isLive: Bool
        package let isDraining: Bool
    }

    /// Whether clients may use the hub: its store has all that was in the log at its opening.
    package let isReady: Bool
    /// The local commit up to which all commits are hub-durable.
    package let durable: CommitID
    package let shards: [Shard]
    package let others: [Other]
}

extension HubFeed {
    /// Returns the state of this hub.
    func status(at now: UInt64) -> HubFeedStatus {
        HubFeedStatus(
            isReady: isReady, durable: hubDurable(at: now),
            shards: shards.map { shard in
                HubFeedStatus.Shard(
                    number: shard.number, progress: shard.progress,
                    pendingCount: shard.appender.pending.count,
                    waitingCount: shard.waiting.count + shard.writing.count,
                    incidents: shard.reader.incidents,
                    isBlocked: shard.isBlocked || shard.reader.newerVersion != nil)
            },
            others: hubs.sorted { $0.key < $1.key }.map { _, hub in
                HubFeedStatus.Other(
                    key: hub.key, isLive: hub.isLive(at: now, limits), isDraining: hub.isDraining)
            })
    }
}
