import Synchronization

/// The thread that prepares segments, writes checkpoints and compacts, at a bounded rate.
final class Housekeeper: Sendable {
    private struct Wish: Sendable {
        var isAwaited = true
        var isStopping = false
    }

    private let engine: StoreEngine
    private let wish = Monitor(Wish())
    private let thread = Mutex<Thread?>(nil)

    init(engine: StoreEngine) {
        self.engine = engine
    }

    func start() throws(ThreadRefused) {
        let started = try Thread(name: "sheaf-keeper") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Ends the thread, in the middle of a compaction if need be: nothing is lost.
    func stop() {
        wish.withLock { $0.isStopping = true }
        wish.broadcast()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Asks for a look at the house.
    func wake() {
        wish.withLock { $0.isAwaited = true }
        wish.broadcast()
    }

    private func run() {
        while true {
            let isStopping = wish.wait(
                while: { !$0.isAwaited && !$0.isStopping },
                then: { wish in
                    wish.isAwaited = false
                    return wish.isStopping
                })
            guard !isStopping else { return }
            keepHouse()
        }
    }

    /// Does what there is to do; the next segment comes first, for writers wait for it.
    private func keepHouse() {
        var hasMore = true
        while hasMore, !wish.withLock({ $0.isStopping }) {
            // What fails here fails no writer: a full disk, for one, is theirs to meet. The engine
            // remembers why compaction stopped.
            try? engine.prepareNextSegment()
            try? engine.trimSealedSegments()
            try? engine.writeCheckpointIfWorthwhile { length in
                pause(after: length)
                try? engine.prepareNextSegment()
            }
            hasMore = (try? engine.compactionStep { pause(after: $0) }) ?? false
            engine.notePressure()
        }
    }

    /// Waits as long as `length` bytes should take; less where garbage grows faster than it goes.
    private func pause(after length: Int) {
        let rate = Double(max(engine.options.compactionBytesPerSecond, 1))
        // Where compaction starts the full pause, at the limit none.
        let share = min(max((1 - engine.garbagePressure()) * 10, 0), 1)
        guard share > 0 else { return }
        let pause = UInt64(Double(length) * share * 1e9 / rate)
        let deadline = Clock.system.monotonicNanoseconds() + pause
        _ = wish.wait(until: deadline, while: { !$0.isStopping })
    }
}
