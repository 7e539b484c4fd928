/// Replacement for the continuation of the standard library in thread sanitizer builds.
///
/// If a continuation is resumed before its task waits, the runtime passes the result through an
/// atomic that the sanitizer does not instrument. Locking a mutex on both sides exposes the
/// synchronization to the sanitizer.
package struct UnsafeContinuation<Value, Failure: Error>: Sendable {
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

/// A lock on nothing: code before a call of `pass` happens before code after a later call.
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
