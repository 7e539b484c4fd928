import SheafBytes
package import SheafSystem
import Synchronization

/// Heuristics for group commit: whether to spin or to sleep, and for how long.
///
/// Sleeping and waking take about a quarter of the flush time of a fast disk. All values are
/// estimates that affect only latency.
package final class GroupCommitPolicy: Sendable {
    /// The number of consecutive flushes of one commit after which a writer counts as alone.
    private static let loneCount = 8
    /// The flush duration up to which a lone writer spins instead of sleeping.
    private static let briefNanoseconds: UInt64 = 250_000
    /// The flush duration up to which a lone writer flushes on its own thread.
    private static let shortNanoseconds: UInt64 = 1_000_000

    private let engine: StoreEngine
    /// The clock that measures flushes and waits.
    let clock: Clock
    /// The number of consecutive flushes with a single commit.
    private let loneFlushes = Atomic(0)
    /// A moving average of the duration of a flush.
    private let typicalNanoseconds = Atomic<UInt64>(0)
    private let gathering = Mutex(GroupCommitDelay())

    package init(engine: StoreEngine, clock: Clock = .system) {
        self.engine = engine
        self.clock = clock
    }

    /// Whether a single writer commits sequentially on a fast disk.
    package var hasLoneWriter: Bool { isLone(within: Self.briefNanoseconds) }

    /// Whether a single writer commits sequentially and should flush on its own thread.
    package var mayFlushAlone: Bool { isLone(within: Self.shortNanoseconds) }

    private func isLone(within nanoseconds: UInt64) -> Bool {
        loneFlushes.load(ordering: .relaxed) >= Self.loneCount
            && typicalNanoseconds.load(ordering: .relaxed) <= nanoseconds
    }

    /// Records that two writers committed concurrently.
    package func recordConcurrentWriters() {
        loneFlushes.store(0, ordering: .relaxed)
    }

    /// Spins while `commit` is expected to become durable; returns whether it did.
    package func stayAwake(for commit: CommitID) -> Bool {
        wait(for: 2 * typicalNanoseconds.load(ordering: .relaxed), gently: false) {
            engine.durableCommit >= commit
        }
    }

    /// Records a flush that made `commits` commits durable.
    package func recordFlush(commits: CommitID, nanoseconds: UInt64) {
        let lone = commits == 1 ? loneFlushes.load(ordering: .relaxed) + 1 : 0
        loneFlushes.store(lone, ordering: .relaxed)
        let typical = typicalNanoseconds.load(ordering: .relaxed)
        typicalNanoseconds.store((typical * 7 + nanoseconds) / 8, ordering: .relaxed)
    }

    /// Waits briefly for the writers of the last flush to commit again.
    package func gather() {
        let expected = engine.lastWriterCount.load(ordering: .relaxed)
        let typical = typicalNanoseconds.load(ordering: .relaxed)
        let limit = gathering.withLock { $0.wait(for: expected, typicalFlush: typical) }
        guard limit > 0 else { return }
        let isComplete = wait(for: limit, gently: true) {
            engine.pendingCommits >= CommitID(expected)
        }
        gathering.withLock { $0.recordWait(isComplete: isComplete) }
    }

    /// Spins until `condition` holds or the time is up; `gently` yields to other threads.
    private func wait(
        for nanoseconds: UInt64, gently: Bool, until condition: () -> Bool
    ) -> Bool {
        let end = clock.monotonicNanoseconds() + nanoseconds
        while !condition() {
            guard clock.monotonicNanoseconds() < end else { return false }
            if gently { Thread.yield() }
        }
        return true
    }
}
