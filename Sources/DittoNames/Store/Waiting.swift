import Dispatch
import Synchronization

/// Keeps the thread until a task has done something, for calls that the reference system has no `await` for.
///
/// The task has a thread of its own: those of all tasks may be kept by somebody who waits here.
func waiting<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
) throws -> Result {
    let outcome = Outcome<Result>()
    Task.detached(executorPreference: QueueExecutor()) {
        do {
            let result = try await body()
            outcome.put(.success(result))
        } catch {
            outcome.put(.failure(error))
        }
    }
    return try inDittoWords { try outcome.wait() }
}

/// Runs a task on a queue.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "ditto-waiting")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// What came of a task.
private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    func put(_ outcome: Result<Value, any Error>) {
        result.withLock { $0 = outcome }
        isThere.signal()
    }

    func wait() throws -> Value {
        isThere.wait()
        guard let outcome = result.withLock({ $0 }) else {
            preconditionFailure("There is a result when somebody says so.")
        }
        return try outcome.get()
    }
}
