import SheafStorage
import Synchronization

extension CrashSimulation {
    /// The activity of the store when an image was taken.
    package enum Phase: String, CaseIterable, Sendable {
        case create, commit, roll, prepare, checkpoint, compact, recover, close
        case recoverInRecover = "recover in recover"

        /// Images drawn per call; more in phases with few calls.
        var imagesPerCall: Int {
            switch self {
            case .commit, .close: 4
            case .roll: 3
            case .checkpoint, .recover: 5
            case .prepare: 10
            case .create: 16
            case .compact: 20
            case .recoverInRecover: 1
            }
        }
    }

    /// The state that determines the possible images and their expected content.
    struct Situation: Equatable {
        let changes: Int
        let acknowledged: CommitID
        let seen: CommitID
        let last: CommitID
    }

    /// Counts of one or more runs; `images` is the number of images checked in each phase.
    package struct Report: Sendable {
        package var images: [Phase: Int] = [:]
        package var runs = 0
        package var commits = 0
        /// The number of commits with staged records.
        package var stagedCommits = 0
        /// The numbers of readers opened, of their refreshes, and of those that read all keys anew.
        package var openedReaders = 0
        package var refreshes = 0
        package var reloads = 0
        /// The number of images verified byte by byte, before they were opened and afterwards.
        package var verified = 0
        /// The number of images opened a second time without their checkpoints.
        package var replayed = 0
        /// A digest that is equal for two runs of the same seed.
        package var digest: UInt64 = 0
        package var total: Int { images.values.reduce(0, +) }

        package init() {}

        /// Adds the counts of another report.
        package mutating func add(_ other: Report) {
            images.merge(other.images, uniquingKeysWith: +)
            runs += other.runs
            commits += other.commits
            stagedCommits += other.stagedCommits
            verified += other.verified
            openedReaders += other.openedReaders
            refreshes += other.refreshes
            reloads += other.reloads
            replayed += other.replayed
            digest &+= other.digest
        }
    }
}

/// A commit ID that a callback may update.
final class LastCommit: Sendable {
    private let commit = Atomic<CommitID>(0)

    var value: CommitID {
        get { commit.load(ordering: .relaxed) }
        set { commit.store(newValue, ordering: .relaxed) }
    }
}
