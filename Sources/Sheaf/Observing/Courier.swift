import SheafStorage

/// The threads that call observers.
///
/// One is enough as long as callbacks return. Where one does not for a while, another thread takes over
/// what is left on the list.
final class Courier: Sendable {
    private struct State: Sendable {
        /// Those at and behind `first` have to be called.
        var list: [Observer] = []
        var first = 0
        /// How many threads there are, and how many of them wait for work.
        var threads = 0
        var idle = 0
        /// How many callbacks were begun: what does not move is stuck.
        var begun: UInt64 = 0
        var isStopping = false

        var isEmpty: Bool { first == list.count }

        mutating func next() -> Observer? {
            guard first < list.count else { return nil }
            defer { first += 1 }
            begun += 1
            return list[first]
        }

        mutating func append(_ observers: [Observer]) {
            if first > 0, first == list.count {
                list.removeAll(keepingCapacity: list.count < 1 << 14)
                first = 0
            }
            list += observers
        }
    }

    /// So many callbacks can be stuck before others wait for them.
    static let maximumThreads = 64
    /// A thread that finds nothing to do for so long ends.
    private static let idleNanoseconds: UInt64 = 2_000_000_000

    private let state = Monitor(State())

    /// Has observers called, in this order.
    func deliver(_ observers: [Observer]) {
        guard !observers.isEmpty else { return }
        let needsThread = state.withLock { state in
            guard !state.isStopping else { return false }
            state.append(observers)
            guard state.idle == 0, state.threads == 0 else { return false }
            state.threads += 1
            return true
        }
        if needsThread { startThread() } else { state.signal() }
    }

    /// What tells whether the threads make progress; none where there is nothing to do.
    var progress: UInt64? {
        state.withLock { $0.isEmpty ? nil : $0.begun }
    }

    /// Starts one more thread where nothing has moved since `progress` was asked.
    func help(_ progress: UInt64) {
        let isNeeded = state.withLock { state in
            guard !state.isEmpty, state.begun == progress, !state.isStopping, state.idle == 0,
                state.threads < Self.maximumThreads
            else { return false }
            state.threads += 1
            return true
        }
        if isNeeded { startThread() }
    }

    private func startThread() {
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-observers") { self.run() }
        } catch {
            // The pump asks again as long as the list is not empty.
            state.withLock { $0.threads -= 1 }
        }
    }

    /// Ends the threads, once those callbacks return that run.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            state.list = []
            state.first = 0
        }
        state.broadcast()
    }

    private func run() {
        while let observer = nextObserver() {
            // Behind the others: who changes without end shall not keep them waiting.
            if observer.call() { deliver([observer]) }
        }
    }

    /// Waits for somebody to call; none where the thread is to end.
    private func nextObserver() -> Observer? {
        if let next = state.withLock({ $0.isStopping ? nil : $0.next() }) { return next }
        state.withLock { $0.idle += 1 }
        let deadline = Clock.system.monotonicNanoseconds() + Self.idleNanoseconds
        return state.wait(
            until: deadline, while: { $0.isEmpty && !$0.isStopping },
            then: { state in
                state.idle -= 1
                if !state.isStopping, let next = state.next() { return next }
                state.threads -= 1
                return nil
            })
    }
}
