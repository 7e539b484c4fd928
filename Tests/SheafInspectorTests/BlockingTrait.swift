import SheafSystem
import Testing

/// A trait of tests that wait for sockets: their code runs on threads of its own.
///
/// Otherwise the tests would occupy the few threads that all tasks of the process share.
struct BlockingTrait: SuiteTrait, TestTrait, TestScoping {
    private final class ThreadPerJob: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let executor = asUnownedTaskExecutor()
            do throws(ThreadRefused) {
                _ = try Thread(name: "sheaf-test") { job.runSynchronously(on: executor) }
            } catch {
                preconditionFailure("The system has no thread for a test.")
            }
        }
    }

    private static let executor = ThreadPerJob()

    var isRecursive: Bool { true }

    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(Self.executor) { try await function() }
    }
}

extension Trait where Self == BlockingTrait {
    /// The code of the tests waits for sockets.
    static var blocking: BlockingTrait { BlockingTrait() }
}
