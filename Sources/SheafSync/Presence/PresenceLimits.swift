/// Limits on the link-state database of a peer (`format-spec/sync.md`, tables 22 and 24).
package enum PresenceLimits {
    /// Maximum number of records, including the local one; beyond it the farthest are dropped.
    package static let records = 1_024
    /// Maximum length of all records in bytes; beyond it the farthest are dropped.
    package static let recordBytes = 4 << 20
    /// Maximum number of neighbors in a record; a peer with more lists the oldest.
    package static let neighbors = 1_023
    /// Maximum number of addresses in a record.
    package static let addresses = 16
    /// Maximum length of an address in a record, in bytes.
    static let addressLength = 19
    /// Maximum length of a peer's metadata as JSON, in bytes.
    package static let metadataLength = 4 << 10
    /// Maximum length of an operating system name and of a software version, in bytes.
    package static let systemLength = 64
    /// Maximum length of an unacknowledged message to one neighbor, in bytes.
    package static let messageLength = 64 << 10
    /// Maximum length of the records in one broadcast to other hubs; its other fields are shorter
    /// than the difference.
    static let broadcastLength = messageLength - 128
    /// Minimum interval between two broadcasts, on average.
    static let broadcastInterval: UInt64 = 1_000_000_000
    /// Interval after which a hub broadcasts all records again, since broadcasts may be lost.
    static let repetitionInterval: UInt64 = 10_000_000_000
    /// Maximum number of other hubs that a hub lists as neighbors.
    package static let hubs = 256
    /// Maximum number of records of clients of other hubs that a hub sends to a connected peer.
    package static let distantPeers = 256
    /// Minimum interval between two acknowledgments to one neighbor.
    package static let acknowledgmentInterval: UInt64 = 100_000_000
    /// Retention of the record of an unreachable peer.
    package static let retentionNanoseconds: UInt64 = 120_000_000_000
    /// Delay before superseding a conflicting record of the local peer.
    ///
    /// The first conflict is superseded immediately. The delay then doubles up to the longest, and
    /// is reset after `conflictReportInterval`.
    package static let firstWaitNanoseconds: UInt64 = 1_000_000_000
    package static let longestWaitNanoseconds: UInt64 = 64_000_000_000
    /// Minimum interval between two reported conflicts.
    package static let conflictReportInterval: UInt64 = 600_000_000_000
    /// Maximum gap between openings for a record to count as one that supersedes the local record.
    ///
    /// Several peers with one key raise the opening in turns before all of them learn of the
    /// conflict.
    package static let conflictSteps: UInt64 = 100
}
