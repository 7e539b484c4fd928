import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Keeps the thread until a task has ended; `started` gets the task, which can be cancelled.
func waitFor<Value: Sendable>(
    started: (Task<Void, Never>) -> Void = { _ in },
    _ body: @escaping @Sendable () async throws -> Value
) throws(ToolError) -> Value {
    let answer = Monitor<Result<Value, any Error>?>(nil)
    let task = Task.detached {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        answer.withLock { $0 = result }
        answer.broadcast()
    }
    started(task)
    let result = answer.wait(while: { $0 == nil }, then: { $0 })
    return try asTool { () throws in
        guard let result else { throw CancellationError() }
        return try result.get()
    }
}

/// Hears of the signals by which people end a program.
final class StopSignals: Sendable {
    private let hasCome = Monitor(false)

    /// To be made before other threads are, which would take the signals otherwise.
    init() throws(ToolError) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let (awaited, hasCome) = (signals, hasCome)
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-signals") {
                var signals = awaited
                var number: Int32 = 0
                while sigwait(&signals, &number) != 0 {}
                hasCome.withLock { $0 = true }
                hasCome.broadcast()
                // Who asks twice does not want to wait.
                while sigwait(&signals, &number) != 0 {}
                _exit(ExitCode.failed.rawValue)
            }
        } catch {
            throw .failed("the system has no room for a thread (error \(error.code))")
        }
    }

    /// Returns true when a signal has come, and false after so many milliseconds.
    func wait(milliseconds: UInt64? = nil) -> Bool {
        let deadline = milliseconds.map {
            Clock.system.monotonicNanoseconds() + $0 * 1_000_000
        }
        return hasCome.wait(until: deadline) { !$0 }
    }
}
