/// What could be saved from a damaged store, and what could not.
package struct SalvageReport: Sendable {
    /// Bytes that are no part of a right record, and are left behind.
    package struct DamagedRange: Equatable, Sendable {
        package let file: String
        package let range: Range<Int>
        package let reason: String
    }

    /// The identity of the damaged store; the new one has an identity of its own.
    package internal(set) var store: StoreID?
    package internal(set) var damagedRanges: [DamagedRange] = []
    /// Segments of which there is no file.
    package internal(set) var missingSegments: [ClosedRange<UInt32>] = []
    /// Files that were left behind whole, since they belong to another store.
    package internal(set) var otherStoreFiles: [String] = []
    /// What was found besides, and is no loss.
    package internal(set) var notes: [String] = []

    /// How many records were right.
    package internal(set) var recordCount = 0
    /// The last commit of which a record was found.
    package internal(set) var lastCommit: CommitID = 0
    /// Commits of which no record was found.
    package internal(set) var lostCommitCount: UInt64 = 0
    /// Commits of which some records are lost and the others were kept.
    package internal(set) var incompleteCommitCount = 0
    /// Whether base files have lost operations; of how many commits is not known.
    package internal(set) var hasLostFoldedOperations = false

    /// Extensions that were left behind, because something that they stand on is lost.
    package internal(set) var lostExtensionCount = 0

    package internal(set) var keptKeyCount = 0
    package internal(set) var keptPayloadBytes = 0
    /// The commits that the new store has.
    package internal(set) var writtenCommitCount = 0
    /// The checkpoint that told which keys there have been; without one, none of the following
    /// counts is known.
    package internal(set) var witness: String?
    /// Keys that the witness knows and of which nothing was found.
    package internal(set) var lostKeyCount = 0
    /// Keys of which an older payload than the witness knows was kept.
    package internal(set) var outdatedKeyCount = 0

    /// Whether nothing was lost.
    package var isComplete: Bool {
        missingSegments.isEmpty && lostCommitCount == 0 && incompleteCommitCount == 0
            && !hasLostFoldedOperations && lostExtensionCount == 0 && lostKeyCount == 0
            && outdatedKeyCount == 0
    }
}
