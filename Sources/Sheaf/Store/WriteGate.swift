/// Decides who may write: statements one after the other, or one transaction of several.
///
/// First come, first served: who comes while somebody waits waits behind him. Statements that run by
/// themselves are let in together, since each of them holds the engine's lock for its moment; a
/// transaction is alone. A machine: it returns whom to wake, and wakes nobody.
package struct WriteGate: Sendable {
    package enum Kind: Sendable {
        case statement, transaction
    }

    /// How waiting ends.
    package enum Outcome: Sendable {
        case entered, cancelled, closed
    }

    /// Somebody who waits.
    package struct Waiter: Sendable {
        package let number: UInt64
        let kind: Kind
        let wake: @Sendable (Outcome) -> Void

        package init(number: UInt64, kind: Kind, wake: @escaping @Sendable (Outcome) -> Void) {
            self.number = number
            self.kind = kind
            self.wake = wake
        }
    }

    private var statements = 0
    private var hasTransaction = false
    /// The first of them came first; those before `first` are gone.
    private var waiting: [Waiter] = []
    private var first = 0
    /// Those who gave up before they began to wait.
    private var cancelled: Set<UInt64> = []
    private var isClosing = false
    private var whenIdle: (@Sendable () -> Void)?

    package init() {}

    /// Whether nobody writes and nobody waits.
    package var isIdle: Bool { statements == 0 && !hasTransaction && first == waiting.count }

    /// How many wait.
    var waitingCount: Int { waiting.count - first }

    /// Lets somebody in who does not have to wait.
    package mutating func enter(_ kind: Kind) -> Bool {
        guard first == waiting.count, !isClosing else { return false }
        return admit(kind)
    }

    private mutating func admit(_ kind: Kind) -> Bool {
        switch kind {
        case .statement:
            guard !hasTransaction else { return false }
            statements += 1
        case .transaction:
            guard !hasTransaction, statements == 0 else { return false }
            hasTransaction = true
        }
        return true
    }

    /// Lets somebody in or wait; returns how that ended, if it has.
    package mutating func wait(_ waiter: Waiter) -> Outcome? {
        if cancelled.remove(waiter.number) != nil { return .cancelled }
        if isClosing { return .closed }
        if enter(waiter.kind) { return .entered }
        waiting.append(waiter)
        return nil
    }

    /// Lets somebody out; returns who is in now.
    package mutating func leave(_ kind: Kind) -> [Waiter] {
        switch kind {
        case .statement: statements -= 1
        case .transaction: hasTransaction = false
        }
        return admitWaiting()
    }

    private mutating func admitWaiting() -> [Waiter] {
        var admitted: [Waiter] = []
        while first < waiting.count, admit(waiting[first].kind) {
            admitted.append(waiting[first])
            first += 1
        }
        // What is gone is dropped some at a time: each drop moves what is left.
        if first == waiting.count || first > 64 {
            waiting.removeFirst(first)
            first = 0
        }
        return admitted
    }

    /// Takes away somebody who gives up; returns him, if he waited, and who is in now.
    package mutating func cancel(_ number: UInt64) -> (cancelled: Waiter?, admitted: [Waiter]) {
        guard let index = waiting[first...].firstIndex(where: { $0.number == number }) else {
            cancelled.insert(number)
            return (nil, [])
        }
        return (waiting.remove(at: index), admitWaiting())
    }

    /// Forgets that somebody gave up, who has his answer.
    package mutating func forget(_ number: UInt64) {
        cancelled.remove(number)
    }

    /// Refuses all who come from now on; true where nobody writes and nobody waits, and otherwise
    /// `whenIdle` is kept for that moment.
    package mutating func close(_ whenIdle: @escaping @Sendable () -> Void) -> Bool {
        isClosing = true
        if isIdle { return true }
        self.whenIdle = whenIdle
        return false
    }

    /// Whom to tell that nobody writes and nobody waits any more; once.
    package mutating func takeIdleWaiter() -> (@Sendable () -> Void)? {
        guard isIdle else { return nil }
        defer { whenIdle = nil }
        return whenIdle
    }
}
