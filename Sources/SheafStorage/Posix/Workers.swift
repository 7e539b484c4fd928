import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A few threads that help with what takes all cores; between, they wait and cost nothing.
///
/// The threads of Swift's concurrency belong to the program: who computes there for long keeps its
/// other work waiting.
package final class Workers: Sendable {
    /// Work that is cut into parts, which are taken in their order.
    private final class Job: Sendable {
        private let body: @Sendable (Int) -> Void
        private let count: Int
        private let next = Atomic(0)

        init(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
            self.count = count
            self.body = body
        }

        /// Does parts until none are left that nobody has begun.
        func work() {
            while true {
                let part = next.add(1, ordering: .relaxed).oldValue
                guard part < count else { return }
                body(part)
            }
        }
    }

    private struct State: Sendable {
        var job: Job?
        /// Which job it is.
        var number = 0
        /// How many threads were started, or refused by the system.
        var started = 0
        /// How many are at work.
        var busy = 0
    }

    private let state = Monitor(State())
    private let most: Int

    /// The workers of the process: one for each core but the caller's, and not more than three.
    package static let shared = Workers(most: min(coreCount, 4) - 1)

    private static var coreCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

    package init(most: Int) {
        self.most = most
    }

    /// Does all parts of some work, here and on the other threads; returns when all are done.
    ///
    /// One caller is helped at a time; others do their parts alone.
    package func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let job = Job(count, body)
        guard count > 1, most > 0, offer(job) else { return job.work() }
        job.work()
        withdraw()
    }

    private func offer(_ job: Job) -> Bool {
        let (isTaken, isFirst) = state.withLock { state in
            guard state.job == nil else { return (false, false) }
            state.job = job
            state.number += 1
            defer { state.started = most }
            return (true, state.started < most)
        }
        guard isTaken else { return false }
        if isFirst { start() }
        state.broadcast()
        return true
    }

    /// Waits until nobody works any more on what was offered.
    private func withdraw() {
        // Whoever begins now finds no parts.
        state.wait(while: { $0.busy > 0 }) { $0.job = nil }
    }

    private func start() {
        for number in 1...most {
            // Without the thread there is one less to help.
            _ = try? Thread(name: "sheaf-work-\(number)") { [self] in
                var done = 0
                while true { done = help(after: done) }
            }
        }
    }

    /// Waits for another job than the last one, and does parts of it; returns which it was.
    private func help(after last: Int) -> Int {
        let (job, number) = state.wait(while: { $0.job == nil || $0.number == last }) { state in
            state.busy += 1
            return (state.job, state.number)
        }
        job?.work()
        state.withLock { $0.busy -= 1 }
        state.broadcast()
        return number
    }
}
