import SheafDocument
import SheafSync

/// Limits on hub logs, and on what hubs send each other (`format-spec/hub.md`).
///
/// Lengths are in bytes.
package enum HubLimits {
    /// Maximum number of shards of a log.
    package static let shards = 256
    /// Maximum length of a message.
    package static let messageLength = 1_000_000
    /// Length of the payload of a message; those of very long groups are longer.
    package static let messagePayloadLength = 64 << 10
    /// Maximum number of messages of a group.
    package static let groupMessages = 4_096
    /// Maximum expanded length of a group.
    package static let groupLength = SyncLimits.stagedLength
    /// Maximum length of a segment of a group, its own length field excluded.
    package static let segmentLength = SyncLimits.segmentLength + 64
    /// Maximum number of sites with pauses in a group, and in a manifest.
    package static let pausedSites = 256
    /// Maximum number of authors that a reader remembers.
    package static let authors = ShardPosition.maximumAuthors
    /// Maximum length of a broadcast.
    package static let broadcastLength = 64 << 10
    /// Maximum number of ranges of missing messages in a broadcast.
    package static let neededRanges = 256
    /// Maximum number of split collections, of groups of collections, and of collections in groups.
    package static let configuredCollections = 1_024
    /// Length of the documents of a part of a snapshot, after which the next one begins.
    package static let partLength = 4 << 20
    /// Maximum number of parts of a snapshot.
    package static let snapshotParts = 1 << 20
    /// Maximum number of bytes that an engine delivers before the reader has consumed them.
    package static let unreadLength = 64 << 20
    /// Maximum number of broadcasts that wait to be sent; beyond it, the oldest are discarded.
    package static let waitingBroadcasts = 1_024
}
