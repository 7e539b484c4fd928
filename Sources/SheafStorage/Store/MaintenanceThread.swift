import SheafSystem
import Synchronization

/// The thread that prepares segments, writes checkpoints and compacts, at a limited rate.
///
/// In an idle store it releases memory.
package final class MaintenanceThread: Sendable {
    private struct Request: Sendable {
        var isAwaited = true
        var isStopping = false
    }

    private let engine: StoreEngine
    private let request = Monitor(Request())
    private let thread = Mutex<Thread?>(nil)

    init(engine: StoreEngine) {
        self.engine = engine
    }

    /// Starts the thread, which retains this object until `stop`.
    func start() throws(ThreadRefused) {
        let started = try Thread(name: "sheaf-maintain") { self.run() }
        engine.stagedFileSync.start { [weak self] in self?.wake() }
        thread.withLock { $0 = started }
    }

    /// Stops the thread, interrupting a compaction if one is running, which loses no data.
    func stop() {
        engine.stagedFileSync.stop()
        request.withLock { $0.isStopping = true }
        request.broadcast()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Wakes the thread to check for work.
    func wake() {
        request.withLock { $0.isAwaited = true }
        request.broadcast()
    }

    private func run() {
        while true {
            let current = nextRequest()
            guard !current.isStopping else { return }
            if current.isAwaited { performDueWork() } else { engine.releaseBuffers() }
        }
    }

    /// Waits for a request; returns an empty one if the store is idle and has memory to release.
    private func nextRequest() -> Request {
        let end =
            engine.hasLargeBuffers
            ? Clock.system.monotonicNanoseconds() + engine.options.idleMilliseconds * 1_000_000
            : nil
        return request.wait(
            until: end, while: { !$0.isAwaited && !$0.isStopping },
            then: { request in
                defer { request.isAwaited = false }
                return request
            })
    }

    /// Performs all due work; preparing the next segment has priority, because writers wait for it.
    private func performDueWork() {
        var hasMore = true
        while hasMore, !request.withLock({ $0.isStopping }) {
            // Errors are ignored: a writer that hits the same condition, such as a full disk,
            // reports it. The engine records why compaction stopped.
            try? engine.prepareNextSegment()
            engine.stagedFileSync.syncRequestedFiles()
            try? engine.trimSealedSegments()
            try? engine.writeCheckpointIfWorthwhile { length in
                pause(after: length)
                try? engine.prepareNextSegment()
            }
            hasMore = (try? engine.compactionStep { pause(after: $0) }) ?? false
            engine.updatePressure()
        }
    }

    private func pause(after length: Int) {
        let pause = Self.pause(
            after: length, pressure: engine.garbagePressure(),
            bytesPerSecond: engine.options.compactionBytesPerSecond)
        guard pause > 0 else { return }
        let deadline = Clock.system.monotonicNanoseconds() + pause
        _ = request.wait(until: deadline, while: { !$0.isStopping })
    }

    /// Returns the time to wait after a read or write of `length` bytes, in nanoseconds.
    ///
    /// `pressure` is the size of the directory relative to its limit. The time decreases as garbage
    /// nears the limit, and is zero beyond it.
    package static func pause(
        after length: Int, pressure: Double, bytesPerSecond: Int
    ) -> UInt64 {
        // The share is 1 where compaction starts and 0 at the limit.
        let share = min(max((1 - pressure) * 10, 0), 1)
        return UInt64(Double(length) * share * 1e9 / Double(max(bytesPerSecond, 1)))
    }
}
