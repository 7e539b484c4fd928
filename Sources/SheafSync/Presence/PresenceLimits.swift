/// How much anybody can make a peer know of the mesh (`format-spec/sync.md`, tables 22 and 24).
package enum PresenceLimits {
    /// Of how many peers there are records, this one with them; of more the farthest are dropped.
    package static let records = 1_024
    /// How many bytes all records may take; of more the farthest are dropped.
    package static let recordBytes = 4 << 20
    /// How many connections a record names; a peer that has more names the oldest.
    package static let neighbors = 1_023
    /// How long the metadata of a peer may be, as JSON.
    package static let metadataLength = 4 << 10
    /// How long the name of an operating system may be, and that of a version.
    package static let systemLength = 64
    /// How many bytes of records may be on their way to one neighbor: one message.
    package static let messageLength = 64 << 10
    /// A neighbor is told that its message was taken no sooner than this after the one before.
    package static let paceNanoseconds: UInt64 = 100_000_000
    /// For this long a record is kept of a peer that cannot be reached any more.
    package static let forgettingNanoseconds: UInt64 = 120_000_000_000
    /// Who hears that a newer record of its own is about takes a greater version: at once the first
    /// time, then after a wait that doubles up to the longest, and begins anew after the rest.
    package static let firstWaitNanoseconds: UInt64 = 1_000_000_000
    package static let longestWaitNanoseconds: UInt64 = 64_000_000_000
    package static let restNanoseconds: UInt64 = 600_000_000_000
    /// By how much the openings of records grow, that several peers with one key make behind each other, before
    /// all of them have heard of it.
    package static let rivalSteps: UInt64 = 100
}
