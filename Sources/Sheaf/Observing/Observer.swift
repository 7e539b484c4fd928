import Synchronization

/// Somebody who is told what the result of a query is, and what it becomes.
///
/// The first result comes at once, then one after each commit that changes it. A consumer who is slower
/// than that gets the newest result, and not those between. Nothing is delivered after `cancel`. An
/// observer that nobody holds goes on until it is cancelled, or the store is closed.
public final class Observer: Sendable {
    /// What is observed.
    public let query: Query
    package let number: UInt64
    private let state: Mutex<State>
    private let callback: Callback
    /// What is done to let go of an observer that was cancelled, and to have one called.
    private let hub: WeakHub

    enum Callback: Sendable {
        case result(@Sendable (QueryResult) throws -> Void)
        /// Nothing more comes until the second argument is called.
        case signal(@Sendable (QueryResult, _ next: @escaping @Sendable () -> Void) throws -> Void)
        /// An asynchronous sequence asks for each result.
        case sequence
    }

    struct WeakHub: Sendable {
        weak let hub: ObserverHub?
    }

    typealias Outcome = Result<QueryResult, StoreError>
    typealias Waiter = @Sendable (Outcome?) -> Void

    private struct State: Sendable {
        var newest: Outcome?
        /// Whether a thread has it on its list.
        var isScheduled = false
        /// Whether the callback runs.
        var isRunning = false
        /// Whether the callback has yet to ask for more.
        var hasToSignal = false
        /// Which of the calls has to: what an earlier one was handed asks for nothing any more.
        var signalNumber: UInt32 = 0
        var isCancelled = false
        /// Who waits for the next result of a sequence.
        var waiter: Waiter?

        /// Whether the callback can be called now, for somebody who sees to it.
        mutating func schedule() -> Bool {
            guard newest != nil, !isScheduled, !isRunning, !hasToSignal else { return false }
            isScheduled = true
            return true
        }
    }

    /// An observer that nobody calls: whoever drives a schedule by hand looks at its deliveries.
    package convenience init(unattended query: Query, number: UInt64) {
        self.init(query, number: number, .sequence, hub: nil)
    }

    init(_ query: Query, number: UInt64, _ callback: Callback, hub: ObserverHub?) {
        self.query = query
        self.number = number
        self.callback = callback
        self.hub = WeakHub(hub: hub)
        state = Mutex(State())
    }

    /// Whether nothing more will be delivered.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Stops the delivery: no call begins after this has returned.
    ///
    /// It waits for nobody, so a call that has begun by then goes on. Further calls do nothing.
    public func cancel() {
        guard end() else { return }
        hub.hub?.remove(self)
    }

    /// Ends the delivery; false where it had ended.
    func end() -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            defer { state = State(isCancelled: true) }
            return (!state.isCancelled, state.waiter)
        }
        waiter?(nil)
        return isFirst
    }

    // MARK: Delivery

    /// Takes a result in; true where the callback has to be called by somebody.
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

    /// Calls the callback with the newest result; true where it has to be called again.
    func call() -> Bool {
        let outcome = state.withLock { state -> Outcome? in
            state.isScheduled = false
            guard let outcome = state.newest, !state.isCancelled else { return nil }
            state.newest = nil
            state.isRunning = true
            if case .signal = callback, case .success = outcome {
                state.hasToSignal = true
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
            hub.hub?.note(error, of: self)
            // Who throws may not have come to ask for more.
            state.withLock { $0.hasToSignal = false }
        }
        return state.withLock { state in
            state.isRunning = false
            return state.schedule()
        }
    }

    /// Lets the next result come, if it is the newest one that is behind the signal.
    private func signal(_ number: UInt32) {
        let isToBeCalled = state.withLock { state in
            guard number == state.signalNumber else { return false }
            state.hasToSignal = false
            return state.schedule()
        }
        if isToBeCalled { hub.hub?.deliver(self) }
    }

    /// What somebody hears who asks for a result while somebody else waits for it.
    static let secondLoop = StoreError(
        .limit, "an observation feeds one loop at a time, and another one waits for it already",
        hint: "observe the query once for each loop")

    /// Calls `waiter` with the newest result, or the next one; with none when there will be none.
    func take(_ waiter: @escaping Waiter) {
        let outcome: Outcome?? = state.withLock { state in
            if state.waiter != nil { return .some(.failure(Self.secondLoop)) }
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
