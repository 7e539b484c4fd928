import SheafBytes
import SheafSystem
import Synchronization

/// Heuristics for group commit: whether to spin or to sleep, and for how long.
///
/// Sleeping and waking take about a quarter of the flush time of a fast disk. All values are
/// estimates that affect only latency.
final class GroupCommitPolicy: Sendable {
    /// The number of consecutive flushes of one commit after which a writer counts as alone.
    private static let loneCount = 8
    /// The flush duration up to which a lone writer spins instead of sleeping.
    private static let briefNanoseconds: UInt64 = 250_000
    /// The flush duration up to which a lone writer flushes on its own thread.
    private static let shortNanoseconds: UInt64 = 1_000_000
    /// The maximum time that a flush waits for returning writers, in nanoseconds.
    private static let longestGathering: UInt64 = 100_000
    /// The number of failed waits after which waiting is attempted only occasionally.
    private static let toleratedMisses = 4
    private static let flushesBetweenTrials = 16

    private let engine: StoreEngine
    /// The number of consecutive flushes with a single commit.
    private let loneFlushes = Atomic(0)
    /// A moving average of the duration of a flush.
    private let typicalNanoseconds = Atomic<UInt64>(0)
    /// The number of consecutive failed waits, and of flushes for which several writers waited.
    private let misses = Atomic(0)
    private let flushes = Atomic(0)

    init(engine: StoreEngine) {
        self.engine = engine
    }

    /// Whether a single writer commits sequentially on a fast disk.
    var hasLoneWriter: Bool { isLone(within: Self.briefNanoseconds) }

    /// Whether a single writer commits sequentially and should flush on its own thread.
    var mayFlushAlone: Bool { isLone(within: Self.shortNanoseconds) }

    private func isLone(within nanoseconds: UInt64) -> Bool {
        loneFlushes.load(ordering: .relaxed) >= Self.loneCount
            && typicalNanoseconds.load(ordering: .relaxed) <= nanoseconds
    }

    /// Records that two writers committed concurrently.
    func recordConcurrentWriters() {
        loneFlushes.store(0, ordering: .relaxed)
    }

    /// Spins while `commit` is expected to become durable; returns whether it did.
    func stayAwake(for commit: CommitID) -> Bool {
        wait(for: 2 * typicalNanoseconds.load(ordering: .relaxed), gently: false) {
            engine.durableCommit >= commit
        }
    }

    /// Records a flush that made `commits` commits durable.
    func recordFlush(commits: CommitID, nanoseconds: UInt64) {
        let lone = commits == 1 ? loneFlushes.load(ordering: .relaxed) + 1 : 0
        loneFlushes.store(lone, ordering: .relaxed)
        let typical = typicalNanoseconds.load(ordering: .relaxed)
        typicalNanoseconds.store((typical * 7 + nanoseconds) / 8, ordering: .relaxed)
    }

    /// Waits briefly for the writers of the last flush to commit again.
    ///
    /// Without this, the first of them would be flushed alone, and the others would wait for two
    /// flushes.
    func gather() {
        let expected = CommitID(engine.lastWriterCount.load(ordering: .relaxed))
        guard expected > 1 else { return }
        let missed = misses.load(ordering: .relaxed)
        let number = flushes.wrappingAdd(1, ordering: .relaxed).newValue
        guard missed < Self.toleratedMisses || number % Self.flushesBetweenTrials == 0 else {
            return
        }
        let waitNanoseconds = typicalNanoseconds.load(ordering: .relaxed) / 2
        let isComplete = wait(for: min(waitNanoseconds, Self.longestGathering), gently: true) {
            engine.pendingCommits >= expected
        }
        misses.store(isComplete ? 0 : missed + 1, ordering: .relaxed)
    }

    /// Spins until `condition` holds or the time is up; `gently` yields to other threads.
    private func wait(
        for nanoseconds: UInt64, gently: Bool, until condition: () -> Bool
    ) -> Bool {
        let end = Clock.system.monotonicNanoseconds() + nanoseconds
        while !condition() {
            guard Clock.system.monotonicNanoseconds() < end else { return false }
            if gently { Thread.yield() }
        }
        return true
    }
}
