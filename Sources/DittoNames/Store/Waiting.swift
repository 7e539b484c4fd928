import Dispatch
import Synchronization

/// Blocks the thread until a task has ended, for synchronous calls of the reference system.
///
/// The task has its own dispatch queue: all threads of the task pool may be blocked here.
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

/// An executor that runs a task on a dispatch queue.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "ditto-waiting")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// The result of a task, awaited by a thread.
private final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let hasValue = DispatchSemaphore(value: 0)

    func put(_ outcome: Result<Value, any Error>) {
        result.withLock { $0 = outcome }
        hasValue.signal()
    }

    func wait() throws -> Value {
        hasValue.wait()
        guard let outcome = result.withLock({ $0 }) else {
            preconditionFailure("The result is stored before the semaphore is signaled.")
        }
        return try outcome.get()
    }
}
