import Synchronization

/// Decides who may write: one at a time, be it a statement or a transaction of several.
///
/// First come, first served: who comes while somebody waits waits behind him. A machine: it returns whom
/// to wake, and wakes nobody.
package struct WriteGate: Sendable {
    /// How waiting ends.
    package enum Outcome: Equatable, Sendable {
        case entered, cancelled, closed
        /// One transaction has held the gate for too long.
        case overdue(TransactionInfo)
    }

    /// Somebody who waits.
    package struct Waiter: Sendable {
        package let number: UInt64
        let wake: @Sendable (Outcome) -> Void
        /// Does what he waits for in his place, on the thread of whoever had his turn before.
        ///
        /// False where he has to do it himself after all; none where it would take long.
        let serve: (@Sendable () -> Bool)?
        /// When it began to wait; nil if it waits however long a transaction takes.
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

    private var isTaken = false
    /// The first of them came first; those before `first` are gone.
    private var waiting: [Waiter] = []
    private var first = 0
    /// Those who gave up before they began to wait.
    private var cancelled: Set<UInt64> = []
    private var isClosing = false
    /// Read-only transactions that run; closing waits for them as well.
    private var readerCount = 0
    private var whenIdle: (@Sendable () -> Void)?
    /// The transaction that writes, and when it began; nil while a single statement writes.
    private var holder: (info: TransactionInfo, since: UInt64)?

    package init() {}

    /// Whether nobody writes; nobody waits then.
    package var isIdle: Bool { !isTaken }

    /// How many wait.
    var waitingCount: Int { waiting.count - first }

    /// Lets somebody in who does not have to wait.
    package mutating func enter() -> Bool {
        guard !isTaken, !isClosing else { return false }
        isTaken = true
        return true
    }

    /// Lets somebody in or wait; returns how that ended, if it has.
    package mutating func wait(_ waiter: Waiter) -> Outcome? {
        if cancelled.remove(waiter.number) != nil { return .cancelled }
        if isClosing { return .closed }
        if enter() { return .entered }
        waiting.append(waiter)
        return nil
    }

    /// Lets somebody out; returns who is in now.
    package mutating func leave() -> Waiter? {
        holder = nil
        guard first < waiting.count else {
            isTaken = false
            return nil
        }
        let next = waiting[first]
        first += 1
        // What is gone is dropped some at a time: each drop moves what is left.
        if first == waiting.count || first > 64 {
            waiting.removeFirst(first)
            first = 0
        }
        return next
    }

    /// Takes away somebody who gives up; returns him, if he waited.
    package mutating func cancel(_ number: UInt64) -> Waiter? {
        guard let index = waiting[first...].firstIndex(where: { $0.number == number }) else {
            cancelled.insert(number)
            return nil
        }
        return waiting.remove(at: index)
    }

    /// Forgets that somebody gave up, who has his answer.
    package mutating func forget(_ number: UInt64) {
        cancelled.remove(number)
    }

    /// Refuses all who come from now on; true where nobody writes, and otherwise `whenIdle` is kept for
    /// that moment.
    package mutating func close(_ whenIdle: @escaping @Sendable () -> Void) -> Bool {
        isClosing = true
        if isIdle, readerCount == 0 { return true }
        self.whenIdle = whenIdle
        return false
    }

    /// Whom to tell that nobody writes any more; once.
    package mutating func takeIdleWaiter() -> (@Sendable () -> Void)? {
        guard isIdle, readerCount == 0 else { return nil }
        defer { whenIdle = nil }
        return whenIdle
    }

    // MARK: Reading

    /// Counts a read-only transaction that begins; false if the store is being closed.
    package mutating func beginReading() -> Bool {
        guard !isClosing else { return false }
        readerCount += 1
        return true
    }

    /// Counts a read-only transaction that has ended.
    package mutating func endReading() {
        precondition(readerCount > 0, "A transaction ends once.")
        readerCount -= 1
    }

    // MARK: Waiting too long

    /// Marks the transaction that was let in as the one that writes; returns whether a waiter is limited.
    package mutating func hold(_ info: TransactionInfo, at now: UInt64) -> Bool {
        holder = (info, now)
        return waiting[first...].contains { $0.since != nil }
    }

    /// Whether a transaction writes.
    package var isHeldByTransaction: Bool { holder != nil }

    /// When the next waiter has waited for the same transaction for `limit` nanoseconds.
    package func deadline(limit: UInt64) -> UInt64? {
        guard let holder else { return nil }
        return waiting[first...].compactMap(\.since).min().map {
            let (end, isNever) = max($0, holder.since).addingReportingOverflow(limit)
            return isNever ? .max : end
        }
    }

    /// Takes away those who have waited for the same transaction for `limit` nanoseconds; returns it, too.
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

/// The gate of a store, shared with the thread that limits how long a writer waits.
final class WriteGateLock: Sendable {
    private let gate = Mutex(WriteGate())

    func withLock<Result>(_ body: (inout sending WriteGate) -> sending Result) -> Result {
        gate.withLock(body)
    }
}
