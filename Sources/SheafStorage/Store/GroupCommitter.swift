import SheafSystem
import Synchronization

/// The thread that makes commits durable, writing all pending commits together.
package final class GroupCommitter: Sendable {
    /// The time for which the thread polls for another commit before it sleeps.
    ///
    /// Waking a thread takes as long, and a lone writer commits again within it.
    private static let spinNanoseconds: UInt64 = 50_000

    /// The maximum delay of writers in favor of compaction.
    private static let longestPauseNanoseconds: UInt64 = 10_000_000

    private let engine: StoreEngine
    private let onNewSegment: @Sendable () -> Void
    private let policy: GroupCommitPolicy
    private let request = Monitor(FlushRequest())
    private let isAwake = Atomic(false)
    /// The identifier of the thread while it runs; its callbacks may still run while `stop` waits.
    private let identifier = Atomic<UInt>(0)
    private let thread = Mutex<Thread?>(nil)
    /// The segment in use at the last check.
    private let segment = Atomic<UInt32>(0)

    package init(
        engine: StoreEngine, policy: GroupCommitPolicy,
        onNewSegment: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        self.policy = policy
        self.onNewSegment = onNewSegment
    }

    /// Starts the thread, which retains this object until `stop`.
    func start() throws(ThreadRefused) {
        let started = try Thread(name: "sheaf-log") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Whether the caller runs on this thread.
    var isCurrent: Bool {
        identifier.load(ordering: .relaxed) == Thread.currentIdentifier
    }

    /// Stops the thread once pending commits are written; waits for its end, unless called on it.
    func stop() {
        request.withLock { $0.isStopping = true }
        request.broadcast()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Requests a flush of the pending commits.
    func flushNow() {
        // The engine's lock guarantees that a commit that sees the thread awake precedes the
        // thread's last check.
        guard !isAwake.load(ordering: .sequentiallyConsistent) else { return }
        request.withLock { $0.isUrgent = true }
        request.signal()
    }

    /// Whether a commit is likely to be flushed before its writer could fall asleep.
    var servesAtOnce: Bool {
        isAwake.load(ordering: .relaxed) && policy.hasLoneWriter
    }

    /// Spins for at most two typical flushes; returns whether `commit` became durable.
    func stayAwake(for commit: CommitID) -> Bool {
        policy.stayAwake(for: commit)
    }

    /// Requests a flush within `milliseconds`.
    func flush(within milliseconds: Int) {
        let now = Clock.system.monotonicNanoseconds()
        let isFirst = request.withLock { $0.flush(within: milliseconds, at: now) }
        if isFirst { request.signal() }
    }

    private func run() {
        identifier.store(Thread.currentIdentifier, ordering: .relaxed)
        // The system may reuse the identifier after this thread has ended.
        defer { identifier.store(0, ordering: .relaxed) }
        while sleep() {
            isAwake.store(true, ordering: .sequentiallyConsistent)
            repeat {
                // `onNewSegment` must be called between flushes, since under load they never stop.
                while flush() { prepareNextSegment() }
            } while spin()
            isAwake.store(false, ordering: .sequentiallyConsistent)
            // A commit appended while the thread was still awake did not wake it.
            if engine.hasPendingCommits { request.withLock { $0.isUrgent = true } }
        }
        // Waiting callers are resumed even if the store was released without being closed.
        while flush() {}
    }

    /// Whether a lone writer that has just committed should flush on its own thread.
    private var shouldFlushInline: Bool {
        policy.mayFlushAlone && !isAwake.load(ordering: .sequentiallyConsistent)
            && engine.writerDelay == 0
    }

    /// Flushes on the writer's thread; returns false if the group-commit thread must do it.
    ///
    /// Without a disk, another thread has no benefit. A lone writer has no other commits to
    /// share a flush with, and switching threads twice would add half of the flush time.
    package func flushInline() throws(StorageError) -> Bool {
        if engine.volume.isInstant, engine.writerDelay == 0 {
            if try engine.flush() { prepareNextSegment() }
            return true
        }
        guard shouldFlushInline else { return false }
        let start = policy.clock.monotonicNanoseconds()
        let before = engine.durableCommit
        guard let isDone = try engine.flushIfIdle() else {
            policy.recordConcurrentWriters()
            return false
        }
        guard isDone else { return true }
        policy.recordFlush(
            commits: engine.durableCommit - before,
            nanoseconds: policy.clock.monotonicNanoseconds() - start)
        prepareNextSegment()
        return true
    }

    private func prepareNextSegment() {
        let current = engine.begunSegment
        guard segment.exchange(current, ordering: .relaxed) != current else { return }
        onNewSegment()
    }

    /// Flushes the pending commits; returns false if there were none or the flush failed.
    ///
    /// If writers create garbage faster than compaction removes it, a flush takes up to twice as
    /// long.
    private func flush() -> Bool {
        let start = Clock.system.monotonicNanoseconds()
        let before = engine.durableCommit
        guard (try? engine.flush()) == true else { return false }
        let end = Clock.system.monotonicNanoseconds()
        policy.recordFlush(commits: engine.durableCommit - before, nanoseconds: end - start)
        let delay = engine.writerDelay
        guard delay > 0 else {
            policy.gather()
            return true
        }
        let pause = Self.pause(afterFlushOf: end - start, delay: delay)
        _ = request.wait(until: end + pause, while: { !$0.isStopping })
        return true
    }

    /// Returns the time for which writers wait after a flush, in nanoseconds.
    ///
    /// `delay` is a multiple of the time that the flush took.
    package static func pause(afterFlushOf nanoseconds: UInt64, delay: Double) -> UInt64 {
        min(UInt64(Double(nanoseconds) * delay), longestPauseNanoseconds)
    }

    /// Waits for work; returns false if the thread must stop.
    private func sleep() -> Bool {
        while true {
            let deadline = request.withLock { $0.deadline }
            let next = request.wait(
                until: deadline,
                while: { !$0.isUrgent && !$0.isStopping && $0.deadline == deadline },
                then: { request -> Bool? in
                    request.begin(at: Clock.system.monotonicNanoseconds())
                })
            if let next { return next }
        }
    }

    /// Polls for commits for a short time; returns whether there are any.
    private func spin() -> Bool {
        if case .relaxed = engine.options.durability { return false }
        let end = Clock.system.monotonicNanoseconds() + Self.spinNanoseconds
        repeat {
            if engine.hasPendingCommits { return true }
        } while Clock.system.monotonicNanoseconds() < end
        return false
    }
}
