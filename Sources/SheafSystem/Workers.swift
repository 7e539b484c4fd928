import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A small pool of threads for parallel computation.
///
/// Computing for long on the threads of Swift's concurrency would delay the program's other tasks.
package final class Workers: Sendable {
    /// A computation split into parts, which are claimed in order.
    private final class Job: Sendable {
        private let body: @Sendable (Int) -> Void
        private let count: Int
        private let next = Atomic(0)

        init(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
            self.count = count
            self.body = body
        }

        /// Runs parts until all have been claimed.
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
        /// The number of the current job.
        var number = 0
        /// The number of threads whose start was attempted.
        var started = 0
        /// The number of threads that are working.
        var busy = 0
    }

    private let state = Monitor(State())
    private let most: Int

    /// The pool of the process: one thread per core besides the caller's, at most three.
    package static let shared = Workers(most: min(coreCount, 4) - 1)

    private static var coreCount: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }

    package init(most: Int) {
        self.most = most
    }

    /// Runs all parts of a computation on the caller and the pool; returns when all are done.
    ///
    /// The pool serves one caller at a time; concurrent callers run their parts alone.
    package func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let job = Job(count, body)
        guard count > 1, most > 0, offer(job) else { return job.work() }
        job.work()
        withdraw()
    }

    private func offer(_ job: Job) -> Bool {
        let (isReceived, isFirst) = state.withLock { state in
            guard state.job == nil else { return (false, false) }
            state.job = job
            state.number += 1
            defer { state.started = most }
            return (true, state.started < most)
        }
        guard isReceived else { return false }
        if isFirst { start() }
        state.broadcast()
        return true
    }

    /// Waits until no thread of the pool works on the job, then removes it.
    private func withdraw() {
        // All parts are claimed by now, so a thread that takes the job later runs none.
        state.wait(while: { $0.busy > 0 }) { $0.job = nil }
    }

    private func start() {
        for number in 1...most {
            // If the thread cannot be started, the pool has one thread fewer.
            _ = try? Thread(name: "sheaf-work-\(number)") { [self] in
                var done = 0
                while true { done = help(after: done) }
            }
        }
    }

    /// Waits for a job other than `last` and works on it; returns its number.
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
