package import SheafDocument
package import SheafHubLog
import SheafStatements
import SheafSync

/// A hub and its log at one moment.
package struct HubView: Sendable {
    /// A shard as this hub has read it.
    package struct Shard: Sendable {
        /// The entries that were read, and those that are durable in this store.
        package let progress: ShardProgress
        package let incidents: [ShardIncident]
        /// Whether other hubs wait until this one has stored their documents.
        package let isFollowed: Bool
        /// Whether entries before others were not delivered.
        package let lacksEntries: Bool
        /// Length of the entries that were delivered since the hub began to read.
        package let readLength: UInt64
    }

    /// Another hub that is live.
    package struct Other: Sendable {
        package let key: [UInt8]
        package let author: HubAuthor
        /// The entries that it has read and stored, by shard.
        package let shards: [UInt16: ShardProgress]
    }

    package let log: HubLogID
    package let map: ShardMap
    package let author: HubAuthor
    package let key: [UInt8]
    package let shards: [Shard]
    /// The other live hubs, which do not leave.
    package let others: [Other]
    package let hasCaughtUp: Bool
    /// Whether the hub has read for as long as another one may be silent and live.
    package let isSettled: Bool
}

extension HubView {
    /// Whether this hub has the least key of those that are live.
    package var isChosen: Bool {
        others.allSatisfy { key.lexicographicallyPrecedes($0.key) }
    }

    /// Whether this hub has the least key of the live hubs that follow a shard, without those of
    /// a site.
    package func isChosen(for shard: UInt16, without site: Site? = nil) -> Bool {
        guard shards[Int(shard)].isFollowed, author.site != site else { return false }
        return followers(of: shard, without: site).allSatisfy {
            key.lexicographicallyPrecedes($0.key)
        }
    }

    /// Returns the other live hubs that follow a shard, without those of a site.
    package func followers(of shard: UInt16, without site: Site? = nil) -> [Other] {
        others.filter { $0.shards[shard] != nil && $0.author.site != site }
    }

    /// Whether no other live hub has stored more of a shard.
    package var hasMostStored: Bool {
        others.allSatisfy { other in
            other.shards.allSatisfy { number, progress in
                guard shards.indices.contains(Int(number)) else { return true }
                return progress.stored <= shards[Int(number)].progress.stored
            }
        }
    }
}

/// Sharing that begins and ends while the peer runs, and what the maintenance of a hub needs.
extension Replicator {
    /// Ends sharing; until `share`, no later commit is acknowledged.
    ///
    /// A job of the log that has begun is finished (`isWritingFromLog`).
    package func stopSharing() {
        if let feed { lastHubDurable = feed.hubDurable(at: now) }
        isHub = true
        guard let feed else { return }
        for shard in feed.shards { emit(.hub(.unfollow(shard.id))) }
        self.feed = nil
        mesh.setHubs([:], at: now)
    }

    /// Whether a job that writes documents of a log has no outcome yet.
    package var isWritingFromLog: Bool { feedJobCount > 0 }

    /// The hub and its log; nil if nothing is shared.
    package var hubView: HubView? {
        guard let feed else { return nil }
        let others = feed.hubs.filter { $0.value.isLive(at: now, feed.limits) }.map {
            HubView.Other(key: $0.value.key, author: $0.key, shards: $0.value.shards)
        }
        return HubView(
            log: feed.log, map: feed.map, author: feed.author, key: feed.key,
            shards: feed.shards.map { shard in
                HubView.Shard(
                    progress: shard.progress, incidents: shard.reader.incidents,
                    isFollowed: shard.isFollowing(at: now, feed.limits),
                    lacksEntries: shard.reader.lacksEntries, readLength: shard.readLength)
            },
            others: others.sorted { $0.author < $1.author }, hasCaughtUp: feed.hasCaughtUp,
            isSettled: now >= feed.openedAt + feed.limits.liveNanoseconds)
    }

    /// The position of a shard whose documents are durable, and a snapshot that has them; nil if
    /// the shard is not shared.
    package func hubSource(of shard: UInt16) -> HubShardSource? {
        guard let feed, feed.shards.indices.contains(Int(shard)) else { return nil }
        return HubShardSource(
            log: feed.log, shard: shard, map: feed.map, author: feed.author,
            position: feed.shards[Int(shard)].durable.continuation, snapshot: recent.snapshot)
    }

    /// Returns the digest at an entry of a shard; nil if it is not known, or no longer.
    package func hubDigest(at entry: UInt64, of shard: UInt16) -> UInt64? {
        guard let feed, feed.shards.indices.contains(Int(shard)) else { return nil }
        return feed.shards[Int(shard)].reader.digest(at: entry)
    }
}
