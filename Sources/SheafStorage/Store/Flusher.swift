import Synchronization

/// The thread that makes commits durable: it writes out together whatever came together.
final class Flusher: Sendable {
    private struct Wish: Sendable {
        var isUrgent = false
        var isStopping = false
        /// When relaxed commits have to be on the disk at the latest.
        var deadline: UInt64?
    }

    /// After a flush the thread looks for the next commit for so long before it sleeps: to wake a
    /// thread takes as long, and a lone writer is back by then.
    private static let spinNanoseconds: UInt64 = 50_000

    private static let longestWaitMilliseconds = 365 * 86_400_000
    /// No writer waits longer for compaction than this.
    private static let longestPauseNanoseconds: UInt64 = 10_000_000

    private let engine: StoreEngine
    private let onNewSegment: @Sendable () -> Void
    private let rhythm: FlushRhythm
    private let wish = Monitor(Wish())
    private let isAwake = Atomic(false)
    /// Of the thread, while it runs; it may still call others when `stop` waits for it.
    private let identifier = Atomic<UInt>(0)
    private let thread = Mutex<Thread?>(nil)
    /// The segment in use at the last look.
    private let segment = Atomic<UInt32>(0)

    init(engine: StoreEngine, onNewSegment: @escaping @Sendable () -> Void) {
        self.engine = engine
        rhythm = FlushRhythm(engine: engine)
        self.onNewSegment = onNewSegment
    }

    func start() throws(ThreadRefused) {
        // The thread keeps the flusher alive, and `stop` ends the thread.
        let started = try Thread(name: "sheaf-log") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Whether the caller is called by this thread.
    var isCurrent: Bool {
        identifier.load(ordering: .relaxed) == Thread.currentIdentifier
    }

    /// Ends the thread once what is pending is written; waits for that on any other thread.
    func stop() {
        wish.withLock { $0.isStopping = true }
        wish.broadcast()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Asks for a flush of what is pending.
    func flushNow() {
        // The engine's lock orders this: who finds the thread awake came before its last look.
        guard !isAwake.load(ordering: .sequentiallyConsistent) else { return }
        wish.withLock { $0.isUrgent = true }
        wish.signal()
    }

    /// Whether a writer that commits now is likely to be served before it could fall asleep.
    var servesAtOnce: Bool {
        isAwake.load(ordering: .relaxed) && rhythm.hasLoneWriter
    }

    /// Stays awake about as long as a flush takes; false when `commit` is still not durable then.
    func stayAwake(for commit: CommitID) -> Bool {
        rhythm.stayAwake(for: commit)
    }

    /// Asks for a flush within some milliseconds.
    func flush(within milliseconds: Int) {
        let now = Clock.system.monotonicNanoseconds()
        // Long waits are cut to a year, so that no number can be too large.
        let wait = UInt64(min(max(milliseconds, 0), Self.longestWaitMilliseconds)) * 1_000_000
        let deadline = now + wait
        let isFirst = wish.withLock { wish in
            guard wish.deadline == nil else { return false }
            wish.deadline = deadline
            return true
        }
        if isFirst { wish.signal() }
    }

    private func run() {
        identifier.store(Thread.currentIdentifier, ordering: .relaxed)
        // The system may give the number to another thread when this one has ended.
        defer { identifier.store(0, ordering: .relaxed) }
        while sleep() {
            isAwake.store(true, ordering: .sequentiallyConsistent)
            repeat {
                // Not after all flushes: under load there is no last one.
                while flush() { noteSegment() }
            } while spin()
            isAwake.store(false, ordering: .sequentiallyConsistent)
            // A commit that came while the thread was still awake did not wake it.
            if engine.hasPendingCommits { wish.withLock { $0.isUrgent = true } }
        }
        // Those who committed are told, also when nobody is left who could close the store.
        while flush() {}
    }

    /// Whether a lone writer who has just committed had better flush by himself.
    var mayFlushHere: Bool {
        rhythm.mayFlushAlone && !isAwake.load(ordering: .sequentiallyConsistent)
            && engine.writerDelay == 0
    }

    /// Flushes on the thread of a writer; false where this thread has to do it.
    ///
    /// Where there is no disk, nobody waits for one. A lone writer has nobody to share a flush with: to wake a
    /// thread for it, and to be woken by that, would take half as long again.
    func flushHere() throws(StorageError) -> Bool {
        if engine.volume.isInstant, engine.writerDelay == 0 {
            if try engine.flush() { noteSegment() }
            return true
        }
        guard mayFlushHere else { return false }
        let start = Clock.system.monotonicNanoseconds()
        let before = engine.durableCommit
        guard let isDone = try engine.flushIfIdle() else {
            rhythm.noteCompany()
            return false
        }
        guard isDone else { return true }
        rhythm.note(
            commits: engine.durableCommit - before,
            nanoseconds: Clock.system.monotonicNanoseconds() - start)
        noteSegment()
        return true
    }

    private func noteSegment() {
        let current = engine.tailSegment
        guard segment.exchange(current, ordering: .relaxed) != current else { return }
        onNewSegment()
    }

    /// Writes what is pending; false when there was nothing.
    ///
    /// Where writers make garbage faster than it can be removed, a flush takes up to twice as long.
    private func flush() -> Bool {
        let start = Clock.system.monotonicNanoseconds()
        let before = engine.durableCommit
        guard (try? engine.flush()) == true else { return false }
        let end = Clock.system.monotonicNanoseconds()
        rhythm.note(commits: engine.durableCommit - before, nanoseconds: end - start)
        let delay = engine.writerDelay
        guard delay > 0 else {
            rhythm.gather()
            return true
        }
        let pause = min(UInt64(Double(end - start) * delay), Self.longestPauseNanoseconds)
        _ = wish.wait(until: end + pause, while: { !$0.isStopping })
        return true
    }

    /// Waits for work; false when the thread is to end.
    private func sleep() -> Bool {
        while true {
            let deadline = wish.withLock { $0.deadline }
            let next = wish.wait(
                until: deadline,
                while: { !$0.isUrgent && !$0.isStopping && $0.deadline == deadline },
                then: { wish -> Bool? in
                    if wish.isStopping { return false }
                    let isDue =
                        wish.deadline.map { $0 <= Clock.system.monotonicNanoseconds() } ?? false
                    guard wish.isUrgent || isDue else { return nil }
                    wish.isUrgent = false
                    wish.deadline = nil
                    return true
                })
            if let next { return next }
        }
    }

    /// Looks for commits for a while; true when there are some.
    private func spin() -> Bool {
        if case .relaxed = engine.options.durability { return false }
        let end = Clock.system.monotonicNanoseconds() + Self.spinNanoseconds
        repeat {
            if engine.hasPendingCommits { return true }
        } while Clock.system.monotonicNanoseconds() < end
        return false
    }
}
