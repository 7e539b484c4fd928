/// The outcome of salvaging a damaged store.
package struct SalvageReport: Sendable {
    /// Bytes that belong to no valid record and were not copied.
    package struct DamagedRange: Equatable, Sendable {
        package let file: String
        package let range: Range<Int>
        package let reason: String
    }

    /// The identity of the damaged store; the new store has a different one.
    package internal(set) var store: StoreID?
    package internal(set) var damagedRanges: [DamagedRange] = []
    /// Segments for which there is no file.
    package internal(set) var missingSegments: [ClosedRange<UInt32>] = []
    /// Files that were ignored because they belong to another store.
    package internal(set) var otherStoreFiles: [String] = []
    /// Other observations, which are not losses.
    package internal(set) var notes: [String] = []

    /// The number of valid records.
    package internal(set) var recordCount = 0
    /// The last commit with at least one valid record.
    package internal(set) var lastCommit: CommitID = 0
    /// The number of commits without a valid record.
    package internal(set) var lostCommitCount: UInt64 = 0
    /// The number of commits of which some records are lost.
    package internal(set) var incompleteCommitCount = 0
    /// Whether base files have lost operations; the number of affected commits is unknown.
    package internal(set) var hasLostCompactedOperations = false

    /// The number of deltas dropped because an operation they are based on is lost.
    package internal(set) var lostDeltaCount = 0

    package internal(set) var keptKeyCount = 0
    package internal(set) var keptPayloadBytes = 0
    /// The number of commits in the new store.
    package internal(set) var writtenCommitCount = 0
    /// The checkpoint used to determine lost keys; without one, the following counts are zero.
    package internal(set) var witness: String?
    /// The number of keys in the checkpoint of which no operation was found.
    package internal(set) var lostKeyCount = 0
    /// The number of keys whose operation is older than the one in the checkpoint.
    package internal(set) var outdatedKeyCount = 0

    /// Whether nothing was lost.
    package var isComplete: Bool {
        missingSegments.isEmpty && lostCommitCount == 0 && incompleteCommitCount == 0
            && !hasLostCompactedOperations && lostDeltaCount == 0 && lostKeyCount == 0
            && outdatedKeyCount == 0
    }
}
