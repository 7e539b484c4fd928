import SheafBytes
import Synchronization

/// How writers and flushes follow each other lately: who should wait awake, and for how long.
///
/// To sleep and be woken takes about as long as a quarter of a fast disk's flush. Everything here
/// is a guess that only costs or saves time.
final class FlushRhythm: Sendable {
    /// After so many flushes of one commit each, a writer counts as alone.
    private static let loneCount = 8
    /// A flush that takes longer than this is waited for asleep.
    private static let briefNanoseconds: UInt64 = 250_000
    /// One that takes longer than this keeps no thread but the one that is there for it.
    private static let shortNanoseconds: UInt64 = 1_000_000
    /// No flush waits longer for writers to come back.
    private static let longestGathering: UInt64 = 100_000
    /// When writers did not come back so many times, they are only waited for now and then.
    private static let toleratedMisses = 4
    private static let flushesBetweenTrials = 16

    private let engine: StoreEngine
    /// How many flushes in a row had one commit to write.
    private let loneFlushes = Atomic(0)
    /// A running average of what a flush takes.
    private let typicalNanoseconds = Atomic<UInt64>(0)
    /// How often in a row writers were waited for in vain, and how many flushes went by.
    private let misses = Atomic(0)
    private let flushes = Atomic(0)

    init(engine: StoreEngine) {
        self.engine = engine
    }

    /// Whether a lone writer makes one commit after the other, on a disk that is fast.
    var hasLoneWriter: Bool { isLone(within: Self.briefNanoseconds) }

    /// The same, on one that is fast enough for the writer to flush by himself.
    var mayFlushAlone: Bool { isLone(within: Self.shortNanoseconds) }

    private func isLone(within nanoseconds: UInt64) -> Bool {
        loneFlushes.load(ordering: .relaxed) >= Self.loneCount
            && typicalNanoseconds.load(ordering: .relaxed) <= nanoseconds
    }

    /// Notes that two writers met.
    func noteCompany() {
        loneFlushes.store(0, ordering: .relaxed)
    }

    /// Stays awake while `commit` should become durable; false when it is not by then.
    func stayAwake(for commit: CommitID) -> Bool {
        wait(for: 2 * typicalNanoseconds.load(ordering: .relaxed), gently: false) {
            engine.durableCommit >= commit
        }
    }

    /// Notes a flush that made `commits` durable.
    func note(commits: CommitID, nanoseconds: UInt64) {
        let lone = commits == 1 ? loneFlushes.load(ordering: .relaxed) + 1 : 0
        loneFlushes.store(lone, ordering: .relaxed)
        let typical = typicalNanoseconds.load(ordering: .relaxed)
        typicalNanoseconds.store((typical * 7 + nanoseconds) / 8, ordering: .relaxed)
    }

    /// Gives the writers who were just served a moment to come back, so that one flush serves them
    /// all: the first of them would otherwise go alone, and the rest wait for two.
    func gather() {
        let expected = CommitID(engine.knownWriters.load(ordering: .relaxed))
        guard expected > 1 else { return }
        let missed = misses.load(ordering: .relaxed)
        let number = flushes.wrappingAdd(1, ordering: .relaxed).newValue
        guard missed < Self.toleratedMisses || number % Self.flushesBetweenTrials == 0 else {
            return
        }
        let patience = typicalNanoseconds.load(ordering: .relaxed) / 2
        let isComplete = wait(for: min(patience, Self.longestGathering), gently: true) {
            engine.pendingCommits >= expected
        }
        misses.store(isComplete ? 0 : missed + 1, ordering: .relaxed)
    }

    /// Waits awake until `condition` holds; gently lets other threads have the core.
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
