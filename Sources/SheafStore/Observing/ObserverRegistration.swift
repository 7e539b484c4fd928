package import SheafDocument
import SheafEngine
package import SheafStatements
import SheafStorage
import Synchronization

/// The registration of a callback or a sequence for the result of a query and its changes.
///
/// The dispatcher retains it, and callers have a `StoreObserver`, whose release cancels it.
package final class ObserverRegistration: Sendable {
    /// The observed query.
    package let query: DQL
    package let number: UInt64
    private let state: Mutex<State>
    private let callback: Callback
    /// The dispatcher, which removes canceled observers and schedules callbacks.
    private let dispatcher: WeakDispatcher
    /// The handle of the caller; it retains the registration, which must not retain it.
    private let handle = Mutex(WeakHandle())
    private let counters = Mutex(ObserverStatistics())

    /// The way in which results are delivered.
    package enum Callback: Sendable {
        case result(@Sendable (QueryResult) throws -> Void)
        /// No further result is delivered until the second argument is called.
        case signal(@Sendable (QueryResult, _ next: @escaping @Sendable () -> Void) throws -> Void)
        /// An asynchronous sequence requests each result.
        case sequence
    }

    /// A weak reference, so that an observer does not keep its store alive.
    struct WeakDispatcher: Sendable {
        weak let dispatcher: ObserverDispatcher?
    }

    private struct WeakHandle: Sendable {
        weak var observer: StoreObserver?
    }

    package typealias Outcome = Result<QueryResult, StoreError>
    package typealias Waiter = @Sendable (Outcome?) -> Void

    private struct State: Sendable {
        var newest: Outcome?
        /// Whether this observer is in the list of observers to call.
        var isScheduled = false
        /// Whether the callback is running.
        var isRunning = false
        /// Whether the next delivery must wait for a signal of the callback.
        var awaitsSignal = false
        /// The number of the newest call; signals of earlier calls are ignored.
        var signalNumber: UInt32 = 0
        var isCancelled = false
        /// The loop that waits for the next result of a sequence.
        var waiter: Waiter?

        /// Marks the observer as scheduled; returns false if it cannot be called now.
        mutating func schedule() -> Bool {
            guard newest != nil, !isScheduled, !isRunning, !awaitsSignal else { return false }
            isScheduled = true
            return true
        }
    }

    /// Creates an observer without a callback, for a schedule without a dispatcher.
    package convenience init(unattended query: DQL, number: UInt64) {
        self.init(query, number: number, .sequence, dispatcher: nil)
    }

    init(_ query: DQL, number: UInt64, _ callback: Callback, dispatcher: ObserverDispatcher?) {
        self.query = query
        self.number = number
        self.callback = callback
        self.dispatcher = WeakDispatcher(dispatcher: dispatcher)
        state = Mutex(State())
    }

    /// The results so far.
    package var statistics: ObserverStatistics { counters.withLock { $0 } }

    /// Counts a result.
    func record(_ body: (inout ObserverStatistics) -> Void) { counters.withLock { body(&$0) } }

    /// The handle of the caller; nil once it is released.
    var observer: StoreObserver? {
        get { handle.withLock { $0.observer } }
        set { handle.withLock { $0.observer = newValue } }
    }

    /// Whether nothing more will be delivered.
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Stops the delivery: no call begins after this has returned.
    ///
    /// It does not wait: a callback that is already running continues. Further calls do nothing.
    package func cancel() {
        guard end() else { return }
        dispatcher.dispatcher?.remove(self)
    }

    /// Ends the delivery; returns false if it had already ended.
    func end() -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            defer { state = State(isCancelled: true) }
            return (!state.isCancelled, state.waiter)
        }
        waiter?(nil)
        return isFirst
    }

    /// Stores a result or passes it to a waiting loop; returns whether a call must be queued.
    func put(_ outcome: Outcome) -> Bool {
        let (waiter, isToBeCalled) = state.withLock { state -> (Waiter?, Bool) in
            guard !state.isCancelled else { return (nil, false) }
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, false)
            }
            if case .success(let missed) = state.newest, case .success(let result) = outcome {
                state.newest = .success(result.following(missed))
            } else {
                state.newest = outcome
            }
            if case .sequence = callback { return (nil, false) }
            return (nil, state.schedule())
        }
        waiter?(outcome)
        return isToBeCalled
    }

    /// Calls the callback with the newest result; returns whether it must be called again.
    func call() -> Bool {
        let outcome = state.withLock { state -> Outcome? in
            state.isScheduled = false
            guard let outcome = state.newest, !state.isCancelled else { return nil }
            state.newest = nil
            state.isRunning = true
            if case .signal = callback, case .success = outcome {
                state.awaitsSignal = true
                state.signalNumber &+= 1
            }
            return outcome
        }
        guard let outcome else { return false }
        do {
            switch (callback, outcome) {
            case (.result(let body), .success(let result)): try body(result)
            case (.signal(let body), .success(let result)):
                let number = state.withLock { $0.signalNumber }
                try body(result) { [weak self] in self?.signal(number) }
            case (_, .failure(let error)): throw error
            case (.sequence, .success): break
            }
        } catch {
            dispatcher.dispatcher?.recordError(error, of: self)
            // A callback that throws may not have signaled.
            state.withLock { $0.awaitsSignal = false }
        }
        return state.withLock { state in
            state.isRunning = false
            return state.schedule()
        }
    }

    /// Allows the next delivery, if the signal belongs to the newest call.
    private func signal(_ number: UInt32) {
        let isToBeCalled = state.withLock { state in
            guard number == state.signalNumber else { return false }
            state.awaitsSignal = false
            return state.schedule()
        }
        if isToBeCalled { dispatcher.dispatcher?.deliver(self) }
    }

    /// The error of a loop that requests a result while another loop waits for one.
    static let secondLoopError = StoreError(
        .limit, "an observation supports one loop at a time, and another loop is already waiting",
        hint: "observe the query once for each loop")

    /// Calls `waiter` with the newest result or the next one, or with nil if none will follow.
    ///
    /// If another loop waits, calls it with `secondLoopError`.
    func requestNext(_ waiter: @escaping Waiter) {
        let outcome: Outcome?? = state.withLock { state in
            if state.waiter != nil { return .some(.failure(Self.secondLoopError)) }
            if let newest = state.newest {
                state.newest = nil
                return .some(newest)
            }
            if state.isCancelled { return .some(nil) }
            state.waiter = waiter
            return .none
        }
        if let outcome { waiter(outcome) }
    }
}
