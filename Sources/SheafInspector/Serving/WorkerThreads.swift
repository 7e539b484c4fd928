import SheafSystem

/// A few threads that run the tasks of requests, which may compute for long.
///
/// The threads of Swift's concurrency are few, and belong to the tasks of the app.
final class WorkerThreads: TaskExecutor {
    private struct State: Sendable {
        var jobs: [UnownedJob] = []
        var threads: [Thread] = []
        var isStopped = false
    }

    private let state = Monitor(State())

    /// Starts the threads; they run until `stop`.
    func start(count: Int) throws(ThreadRefused) {
        do throws(ThreadRefused) {
            for number in 1...count {
                let thread = try Thread(name: "sheaf-inspect-\(number)") { [self] in
                    while let job = next() { run(job) }
                }
                state.withLock { $0.threads.append(thread) }
            }
        } catch {
            stop()
            throw error
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isStopped = state.withLock { state in
            if !state.isStopped { state.jobs.append(job) }
            return state.isStopped
        }
        // A task that outlives the threads ends on the thread that continues it.
        if isStopped { run(job) } else { state.signal() }
    }

    /// Ends the threads after the queued jobs.
    func stop() {
        let threads = state.withLock { state in
            state.isStopped = true
            defer { state.threads = [] }
            return state.threads
        }
        state.broadcast()
        for thread in threads { thread.join() }
    }

    private func next() -> UnownedJob? {
        state.wait(while: { $0.jobs.isEmpty && !$0.isStopped }) { state in
            state.jobs.isEmpty ? nil : state.jobs.removeFirst()
        }
    }

    private func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
