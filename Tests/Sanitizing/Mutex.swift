#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Replacement for the `Mutex` of the standard library in thread sanitizer builds.
///
/// The original waits in an uninstrumented library, so the sanitizer would report every guarded
/// access as a race. This one uses a `pthread` mutex, which the sanitizer intercepts.
package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    nonisolated(unsafe) private let lock: UnsafeMutablePointer<pthread_mutex_t>
    nonisolated(unsafe) private let value: UnsafeMutablePointer<Value>

    init(_ initial: consuming sending Value) {
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
        value = .allocate(capacity: 1)
        value.initialize(to: initial)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Runs `body` with exclusive access to the value.
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }

    /// Runs `body` with exclusive access to the value, or returns nil if another thread has it.
    borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }
}
