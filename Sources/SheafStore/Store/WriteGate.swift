import SheafEngine
import SheafStorage
import Synchronization

/// The queue of writers: one statement or transaction holds the gate at a time.
///
/// Waiters are served in order of arrival. A state machine: it returns the waiters that the caller
/// must wake.
package struct WriteGate: Sendable {
    /// The outcome of a wait.
    package enum Outcome: Equatable, Sendable {
        case entered, cancelled, closed
        /// This transaction has held the gate for too long.
        case overdue(TransactionInfo)
    }

    /// A waiting writer.
    package struct Waiter: Sendable {
        package let number: UInt64
        let wake: @Sendable (Outcome) -> Void
        /// The closure that runs the waiter's work on the thread of the previous writer.
        ///
        /// It returns false if the waiter must do the work itself. It is nil if the work may take
        /// long.
        let serve: (@Sendable () -> Bool)?
        /// The start of the wait; nil if the wait is unlimited.
        let since: UInt64?

        package init(
            number: UInt64, since: UInt64? = nil, serve: (@Sendable () -> Bool)? = nil,
            wake: @escaping @Sendable (Outcome) -> Void
        ) {
            self.number = number
            self.since = since
            self.serve = serve
            self.wake = wake
        }
    }

    private var isHeld = false
    /// Waiters in order of arrival, from index `first` on; earlier ones have been served.
    private var waiting: [Waiter] = []
    private var first = 0
    /// Numbers of waiters that were canceled before they began to wait.
    private var cancelled: Set<UInt64> = []
    private var isClosing = false
    /// The number of running read-only transactions; closing waits for them as well.
    private var readerCount = 0
    private var whenIdle: (@Sendable () -> Void)?
    /// The transaction that holds the gate, and its start; nil while a single statement does.
    private var holder: (info: TransactionInfo, since: UInt64)?

    package init() {}

    /// Whether the gate is free; then no writer waits either.
    package var isIdle: Bool { !isHeld }

    /// The number of waiting writers.
    var waitingCount: Int { waiting.count - first }

    /// Enters the gate without waiting; returns false if it is occupied or closing.
    package mutating func enter() -> Bool {
        guard !isHeld, !isClosing else { return false }
        isHeld = true
        return true
    }

    /// Enters the gate or queues the waiter; returns the outcome, or nil if it is queued.
    package mutating func wait(_ waiter: Waiter) -> Outcome? {
        if cancelled.remove(waiter.number) != nil { return .cancelled }
        if isClosing { return .closed }
        if enter() { return .entered }
        waiting.append(waiter)
        return nil
    }

    /// Leaves the gate; returns the waiter that now holds it.
    package mutating func leave() -> Waiter? {
        holder = nil
        guard first < waiting.count else {
            isHeld = false
            return nil
        }
        let next = waiting[first]
        first += 1
        // Served waiters are removed in batches, because each removal moves all remaining ones.
        if first == waiting.count || first > 64 {
            waiting.removeFirst(first)
            first = 0
        }
        return next
    }

    /// Cancels a wait; returns the waiter if it was queued, otherwise its later wait fails.
    package mutating func cancel(_ number: UInt64) -> Waiter? {
        guard let index = waiting[first...].firstIndex(where: { $0.number == number }) else {
            cancelled.insert(number)
            return nil
        }
        return waiting.remove(at: index)
    }

    /// Removes the mark of a cancellation that arrived after the waiter's outcome.
    package mutating func clearCancellation(_ number: UInt64) {
        cancelled.remove(number)
    }

    /// Refuses further writers and readers; returns whether none is active.
    ///
    /// If one is, `whenIdle` is retained until none is.
    package mutating func close(_ whenIdle: @escaping @Sendable () -> Void) -> Bool {
        isClosing = true
        if isIdle, readerCount == 0 { return true }
        self.whenIdle = whenIdle
        return false
    }

    /// Returns the closure passed to `close`, once, if neither a writer nor a reader is active.
    package mutating func takeIdleWaiter() -> (@Sendable () -> Void)? {
        guard isIdle, readerCount == 0 else { return nil }
        defer { whenIdle = nil }
        return whenIdle
    }

    // MARK: Reading

    /// Records the start of a read-only transaction; returns false if the store is being closed.
    package mutating func beginReading() -> Bool {
        guard !isClosing else { return false }
        readerCount += 1
        return true
    }

    /// Records the end of a read-only transaction.
    package mutating func endReading() {
        precondition(readerCount > 0, "A transaction ends once.")
        readerCount -= 1
    }

    // MARK: Wait limit

    /// Records the transaction that holds the gate; returns whether a waiter has a time limit.
    package mutating func hold(_ info: TransactionInfo, at now: UInt64) -> Bool {
        holder = (info, now)
        return waiting[first...].contains { $0.since != nil }
    }

    /// Whether a transaction holds the gate.
    package var isHeldByTransaction: Bool { holder != nil }

    /// Returns when the first waiter will have waited `limit` nanoseconds for the same transaction.
    package func deadline(limit: UInt64) -> UInt64? {
        guard let holder else { return nil }
        return waiting[first...].compactMap(\.since).min().map {
            let (end, isNever) = max($0, holder.since).addingReportingOverflow(limit)
            return isNever ? .max : end
        }
    }

    /// Removes waiters that waited `limit` nanoseconds for the holder; returns them and the holder.
    package mutating func takeOverdue(
        limit: UInt64, at now: UInt64
    ) -> (holder: TransactionInfo, waiters: [Waiter])? {
        guard let holder, let deadline = deadline(limit: limit), deadline <= now else { return nil }
        let overdue = waiting[first...].filter { waiter in
            waiter.since.map { now - min(max($0, holder.since), now) >= limit } ?? false
        }
        let numbers = Set(overdue.map(\.number))
        waiting = waiting[first...].filter { !numbers.contains($0.number) }
        first = 0
        return (holder.info, overdue)
    }
}

/// The gate of a store, shared with the slow-transaction monitor.
package final class WriteGateLock: Sendable {
    private let gate = Mutex(WriteGate())

    package func withLock<Result>(_ body: (inout sending WriteGate) -> sending Result) -> Result {
        gate.withLock(body)
    }
}
