import SheafEngine
package import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

/// The slow-transaction monitor: logs slow transactions, and times out writers that wait for one.
///
/// Its thread starts when a transaction begins while there is a log or a waiting writer, or when a
/// writer waits for a transaction.
package final class SlowTransactionMonitor: Sendable {
    /// The parameters that concern slow transactions.
    package struct Settings: Equatable, Sendable {
        package let schedule: SlowTransactionSchedule
        /// Maximum time that a writer waits for one transaction, in nanoseconds.
        package let waitLimit: UInt64

        package init(_ parameters: SystemParameters) {
            schedule = parameters.transactionSchedule
            waitLimit = parameters.transactionWaitMilliseconds * 1_000_000
        }
    }

    private struct State: Sendable {
        var times = TransactionTimes()
        var hasThread = false
        var isStopping = false
        /// Incremented by each change, so that the thread updates its deadline before it sleeps.
        var changeCount: UInt64 = 0
        /// The time at which the sleeping thread wakes without a signal, if any.
        var wakesAt: UInt64?
    }

    private let log: StoreLog?
    private let gate: WriteGateLock
    private let settings: @Sendable () -> Settings
    private let state = Monitor(State())
    private let thread = Mutex<Thread?>(nil)

    init(
        _ log: StoreLog?, _ gate: WriteGateLock, _ settings: @escaping @Sendable () -> Settings
    ) {
        self.log = log
        self.gate = gate
        self.settings = settings
    }

    /// Starts to monitor a transaction that has entered the gate.
    func begin(_ info: TransactionInfo) {
        let now = Clock.system.monotonicNanoseconds()
        let keepsWaiting = gate.withLock { $0.hold(info, at: now) }
        guard log != nil || keepsWaiting else { return }
        updateDeadline(at: now) { [log] state in
            if log != nil { state.times.begin(info, at: now) }
        }
    }

    /// Starts to monitor a waiting writer, if a transaction holds the gate.
    func monitorWaiter() {
        guard gate.withLock({ $0.isHeldByTransaction }) else { return }
        updateDeadline(at: Clock.system.monotonicNanoseconds()) { _ in }
    }

    /// Stops monitoring a transaction that has left the gate.
    func end(_ info: TransactionInfo) {
        guard log != nil else { return }
        state.withLock { $0.times.end(info) }
    }

    /// Ends the thread, and waits for it.
    func stop() {
        state.withLock { $0.isStopping = true }
        state.broadcast()
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
    }

    /// Starts the thread, or makes it update its deadline, unless it wakes early enough anyway.
    private func updateDeadline(at now: UInt64, _ change: (inout State) -> Void) {
        let settings = settings()
        let wait = min(
            settings.waitLimit, settings.schedule.firstMilliseconds.multipliedClamped(by: 1_000_000)
        )
        let (needsThread, needsSignal) = state.withLock { state in
            change(&state)
            state.changeCount += 1
            defer { state.hasThread = true }
            let isEarly = state.wakesAt.map { $0 <= now.addedClamped(wait) } ?? false
            return (!state.hasThread && !state.isStopping, !isEarly)
        }
        guard needsThread else {
            if needsSignal { state.signal() }
            return
        }
        let started = try? Thread(name: "sheaf-watch") { [weak self] in self?.run() }
        guard let started else {
            state.withLock { $0.hasThread = false }
            return
        }
        thread.withLock { $0 = started }
    }

    private func run() {
        while true {
            let settings = settings()
            let changes = state.withLock { $0.changeCount }
            let limit = gate.withLock { $0.deadline(limit: settings.waitLimit) }
            let deadline = state.withLock { state in
                let report = state.times.deadline(settings.schedule)
                state.wakesAt = [limit, report].compactMap(\.self).min()
                return state.wakesAt
            }
            let warnings: [TransactionTimes.Warning]? = state.wait(
                until: deadline, while: { !$0.isStopping && $0.changeCount == changes },
                then: { state in
                    state.wakesAt = nil
                    guard !state.isStopping else { return nil }
                    return state.times.warnings(
                        settings.schedule, at: Clock.system.monotonicNanoseconds())
                })
            guard let warnings else { return }
            for warning in warnings {
                log?.write(warning.level, warning.message, warning.metadata)
            }
            let overdue = gate.withLock {
                $0.takeOverdue(
                    limit: settings.waitLimit, at: Clock.system.monotonicNanoseconds())
            }
            guard let overdue else { continue }
            for waiter in overdue.waiters { waiter.wake(.overdue(overdue.holder)) }
        }
    }
}

extension UInt64 {
    fileprivate func multipliedClamped(by factor: UInt64) -> UInt64 {
        let (product, isTooLarge) = multipliedReportingOverflow(by: factor)
        return isTooLarge ? .max : product
    }

    fileprivate func addedClamped(_ more: UInt64) -> UInt64 {
        let (sum, isTooLarge) = addingReportingOverflow(more)
        return isTooLarge ? .max : sum
    }
}
