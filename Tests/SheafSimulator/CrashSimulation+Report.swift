import SheafStorage
import Synchronization

extension CrashSimulation {
    /// What the store was doing when an image was taken.
    package enum Phase: String, CaseIterable, Sendable {
        case create, commit, roll, prepare, checkpoint, compact, recover, close
        case recoverInRecover = "recover in recover"

        /// How many states of the disk are drawn at one call: more where there are few calls.
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

    /// What decides which images there can be, and which of them are right.
    struct Situation: Equatable {
        let changes: Int
        let acknowledged: CommitID
        let seen: CommitID
        let last: CommitID
    }

    /// How many images were checked in each phase.
    package struct Report: Sendable {
        package var images: [Phase: Int] = [:]
        package var runs = 0
        package var commits = 0
        /// Images whose every byte was verified, before they were opened and afterwards.
        package var verified = 0
        /// Images that were opened once more without their checkpoints.
        package var replayed = 0
        /// A number that two lives of the same seed share.
        package var digest: UInt64 = 0
        package var total: Int { images.values.reduce(0, +) }

        package init() {}

        /// Adds the counts of another report.
        package mutating func add(_ other: Report) {
            images.merge(other.images, uniquingKeysWith: +)
            runs += other.runs
            commits += other.commits
            verified += other.verified
            replayed += other.replayed
            digest &+= other.digest
        }
    }
}

/// The number of a commit that a callback may change.
final class LastCommit: Sendable {
    private let commit = Atomic<CommitID>(0)

    var value: CommitID {
        get { commit.load(ordering: .relaxed) }
        set { commit.store(newValue, ordering: .relaxed) }
    }
}
