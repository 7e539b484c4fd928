#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A mutex and a condition variable around a value whose changes threads can await.
package final class Monitor<State: Sendable>: Sendable {
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private nonisolated(unsafe) let condition: UnsafeMutablePointer<pthread_cond_t>
    private nonisolated(unsafe) let state: UnsafeMutablePointer<State>

    package init(_ initial: State) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        Self.prepare(condition)
        state = .allocate(capacity: 1)
        state.initialize(to: initial)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Calls `body` with exclusive access to the state; `body` must not use the monitor.
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state.pointee)
    }

    /// Waits while `predicate` holds; returns whether it stopped holding before the deadline.
    ///
    /// The deadline refers to `Clock.system.monotonicNanoseconds`; nil means no deadline. Each
    /// change must be followed by a call of `signal` or `broadcast`.
    @discardableResult
    package func wait(until deadline: UInt64? = nil, while predicate: (State) -> Bool) -> Bool {
        wait(until: deadline, while: predicate) { !predicate($0) }
    }

    /// Waits while `predicate` holds, then calls `body` without releasing the lock in between.
    ///
    /// `body` is also called after the deadline, so it must check the state again. While the thread
    /// polls, it notices changes without a signal.
    package func wait<Result, Failure: Error>(
        until deadline: UInt64? = nil, polling: BusyPoll = .off, while predicate: (State) -> Bool,
        then body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        polling.poll(until: deadline) { withLock { !predicate($0) } }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while predicate(state.pointee) {
            guard let deadline else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            guard Clock.system.monotonicNanoseconds() < deadline else { break }
            timedWait(until: deadline)
        }
        return try body(&state.pointee)
    }

    /// Wakes one waiting thread.
    package func signal() {
        pthread_cond_signal(condition)
    }

    /// Wakes all waiting threads.
    package func broadcast() {
        pthread_cond_broadcast(condition)
    }

    #if canImport(Darwin)
        private static func prepare(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
            pthread_cond_init(condition, nil)
        }

        private func timedWait(until deadline: UInt64) {
            let now = Clock.system.monotonicNanoseconds()
            var rest = Self.time(deadline > now ? deadline - now : 0)
            pthread_cond_timedwait_relative_np(condition, mutex, &rest)
        }
    #else
        private static func prepare(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
            // By default deadlines refer to wall time, which can be set back.
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        }

        private func timedWait(until deadline: UInt64) {
            var end = Self.time(deadline)
            pthread_cond_timedwait(condition, mutex, &end)
        }
    #endif

    private static func time(_ nanoseconds: UInt64) -> timespec {
        timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
