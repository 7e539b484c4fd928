import SheafStorage
import Synchronization

/// The thread that looks after transactions that run for long; there is none where nobody hears of them.
final class Watchman: Sendable {
    private struct State: Sendable {
        var watch = TransactionWatch()
        var hasThread = false
        var isStopping = false
        /// Goes up with each change: who sleeps until a deadline looks again.
        var changes: UInt64 = 0
    }

    private let log: StoreLog
    private let rhythm: @Sendable () -> TransactionWatch.Rhythm
    private let state = Monitor(State())
    private let thread = Mutex<Thread?>(nil)

    init(_ log: StoreLog, _ rhythm: @escaping @Sendable () -> TransactionWatch.Rhythm) {
        self.log = log
        self.rhythm = rhythm
    }

    func begin(_ info: TransactionInfo) {
        let needsThread = state.withLock { state in
            state.watch.begin(info, at: Clock.system.monotonicNanoseconds())
            state.changes += 1
            defer { state.hasThread = true }
            return !state.hasThread && !state.isStopping
        }
        // Who sleeps until a deadline wakes early enough: the next one is no sooner than that.
        guard needsThread else { return state.signal() }
        let started = try? Thread(name: "sheaf-watch") { [weak self] in self?.run() }
        guard let started else {
            state.withLock { $0.hasThread = false }
            return
        }
        thread.withLock { $0 = started }
    }

    func end(_ info: TransactionInfo) {
        state.withLock { $0.watch.end(info) }
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        state.broadcast()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    private func run() {
        while true {
            let rhythm = rhythm()
            let (deadline, changes) = state.withLock { ($0.watch.deadline(rhythm), $0.changes) }
            let warnings: [TransactionWatch.Warning]? = state.wait(
                until: deadline, while: { !$0.isStopping && $0.changes == changes },
                then: { state in
                    guard !state.isStopping else { return nil }
                    return state.watch.warnings(rhythm, at: Clock.system.monotonicNanoseconds())
                })
            guard let warnings else { return }
            for warning in warnings { log.write(warning.level, warning.message, warning.metadata) }
        }
    }
}
