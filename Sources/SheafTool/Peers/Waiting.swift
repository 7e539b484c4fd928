import SheafStorage
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Blocks the thread until a task has ended; `started` receives the task, for cancellation.
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

/// A wait for the signals SIGINT and SIGTERM.
final class StopSignals: Sendable {
    private struct State {
        var hasCome = false
        /// The action that the first signal causes.
        var action: (@Sendable () -> Void)?
    }

    private let state = Monitor(State())

    /// Blocks the signals; must be called before other threads start, which inherit the mask.
    init() throws(ToolError) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let (awaited, state) = (signals, state)
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-signals") {
                var signals = awaited
                var number: Int32 = 0
                while sigwait(&signals, &number) != 0 {}
                let action = state.withLock { state in
                    state.hasCome = true
                    return state.action
                }
                state.broadcast()
                action?()
                // A second signal ends the process without closing the store.
                while sigwait(&signals, &number) != 0 {}
                _exit(ExitCode.failed.rawValue)
            }
        } catch {
            throw .failed("cannot create a thread (error \(error.code))")
        }
    }

    /// Waits for a signal; returns false if the timeout expires first.
    func wait(milliseconds: UInt64? = nil) -> Bool {
        let deadline = milliseconds.map {
            Clock.system.monotonicNanoseconds() + $0 * 1_000_000
        }
        return state.wait(until: deadline) { !$0.hasCome }
    }

    /// Whether a signal has arrived.
    var hasCome: Bool { state.withLock { $0.hasCome } }

    /// Calls `action` when the first signal arrives, or at once if it has.
    func onFirst(_ action: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.action = action
            return state.hasCome
        }
        if hasCome { action() }
    }
}
