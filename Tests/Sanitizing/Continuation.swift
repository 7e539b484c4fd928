/// Stands in for the continuation of the standard library in a copy of the sources that the thread
/// sanitizer looks at.
///
/// Where a continuation is resumed before its task waits, the runtime hands the result over by an atomic
/// that the sanitizer does not see. Here a lock that it knows is passed from one to the other as well.
struct UnsafeContinuation<Value, Failure: Error>: Sendable {
    fileprivate let runtime: _Concurrency.UnsafeContinuation<Value, Failure>
    fileprivate let handover: Handover
}

extension UnsafeContinuation where Failure == Never {
    func resume(returning value: sending Value) {
        handover.pass()
        runtime.resume(returning: value)
    }
}

extension UnsafeContinuation where Value == Void, Failure == Never {
    func resume() { resume(returning: ()) }
}

/// What was done before somebody passes has been done for who passes later.
private final class Handover: Sendable {
    private let lock = Mutex(())

    func pass() { lock.withLock { _ in } }
}

nonisolated(nonsending) func withUnsafeContinuation<Value>(
    _ body: (UnsafeContinuation<Value, Never>) -> Void
) async -> sending Value {
    let handover = Handover()
    let value = await _Concurrency.withUnsafeContinuation {
        (runtime: _Concurrency.UnsafeContinuation<Value, Never>) in
        body(UnsafeContinuation(runtime: runtime, handover: handover))
    }
    handover.pass()
    return value
}
