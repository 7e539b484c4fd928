package import SheafBytes
package import SheafSync

/// The log IDs under which peers have connected, by peer key.
///
/// Each opening of a store draws an ID. If an earlier one reappears, two peers have the key.
package struct PeerOpenings {
    private struct Openings {
        /// The log ID of the last connection.
        var lastLogID: XXH3.Hash128
        /// The most recent log IDs before it.
        var earlier: [XXH3.Hash128] = []
        /// Whether an earlier log ID reappeared, which shows that two peers have the key.
        var isContested = false
        /// The time at which the conflict was last logged.
        var notedAt: UInt64?
    }

    /// Maximum number of peers; beyond it all are discarded.
    private let maximumCount: Int
    /// Maximum number of earlier log IDs that are remembered for a key.
    package static let maximumEarlierLogIDs = 4
    /// Minimum time between two log messages about one key, in nanoseconds.
    private static let logInterval: UInt64 = 60_000_000_000

    private var peers: [[UInt8]: Openings] = [:]

    package init(most maximumCount: Int) {
        self.maximumCount = maximumCount
    }

    /// Whether two peers have the key.
    package func isContested(_ key: [UInt8]) -> Bool { peers[key]?.isContested ?? false }

    /// Records the log ID of a peer; returns whether two peers have its key.
    package mutating func record(_ hello: Hello) -> Bool {
        guard var known = peers[hello.peerKey] else {
            if peers.count >= maximumCount { peers = [:] }
            peers[hello.peerKey] = Openings(lastLogID: hello.log)
            return false
        }
        guard known.lastLogID != hello.log else { return known.isContested }
        if known.earlier.contains(hello.log) { known.isContested = true }
        known.earlier = known.earlier.filter { $0 != hello.log }.suffix(
            Self.maximumEarlierLogIDs - 1)
        known.earlier.append(known.lastLogID)
        known.lastLogID = hello.log
        peers[hello.peerKey] = known
        return known.isContested
    }

    /// Whether a conflict of keys must be logged; if so, calls return false for `logInterval`.
    package mutating func isMessageDue(_ key: [UInt8], _ log: XXH3.Hash128, at now: UInt64) -> Bool
    {
        var known = peers[key] ?? Openings(lastLogID: log)
        if let notedAt = known.notedAt, now < notedAt + Self.logInterval { return false }
        known.notedAt = now
        peers[key] = known
        return true
    }
}
