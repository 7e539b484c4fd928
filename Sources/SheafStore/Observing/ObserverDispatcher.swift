import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSystem
import Synchronization

/// The dispatcher of the observers of a store.
final class ObserverDispatcher: Sendable {
    private let workers = ObserverWorkerPool()
    /// The observer schedule; locked by the dispatching thread.
    private let schedule: Mutex<ObserverSchedule>
    private let queries: QueryEngine
    private let observers = Mutex<[UInt64: ObserverRegistration]>([:])
    private let lastNumber = Atomic<UInt64>(0)

    init(_ queries: QueryEngine) {
        self.queries = queries
        schedule = Mutex(ObserverSchedule(queries))
    }

    /// The observers in use, in order of creation.
    var all: [StoreObserver] { registrations.compactMap(\.observer) }

    var registrations: [ObserverRegistration] {
        observers.withLock { $0.values.sorted { $0.number < $1.number } }
    }

    /// Counts and logs an error of an observer's callback or statement.
    func recordError(_ error: any Error, of observer: ObserverRegistration) {
        queries.countObserverFailure()
        // The line of the statement is omitted: it may contain values.
        let text = (error as? StoreError)?.message ?? "\(error)".shortened(to: ErrorText.limit)
        queries.log?.write(
            .error, "an observer has failed: \(text)",
            [
                "observer": "\(observer.number)",
                "query": RedactedText.of(observer.query.text)
                    .shortened(to: ErrorText.loggedStatementLimit),
            ])
    }

    // MARK: Observers

    /// Adds an observer of a query; throws if the statement is invalid.
    func observe(
        _ query: DQL, _ arguments: QueryArguments, _ callback: ObserverRegistration.Callback
    ) throws(StoreError) -> ObserverRegistration {
        let (statement, values) = try queries.prepare(query, arguments)
        // Errors of the statement are thrown here, not delivered.
        _ = try queries.makeRun(statement, values).observedChanges()
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        let observer = ObserverRegistration(query, number: number, callback, dispatcher: self)
        observers.withLock { $0[number] = observer }
        let newObserver = NewObserver(
            observer, statement, values, missedThrough: queries.source.startFeed())
        // The hook is set before the first dispatch, so that no commit in between is missed.
        queries.source.onNewSnapshot { [weak self] in self?.wakeDispatcher() }
        let isIn: Bool
        // Weak: a thread stuck in a callback must not keep a released store and its lock.
        let dispatch: ObserverWorkerPool.DispatchBody = { [weak self] in
            self?.dispatch($0) ?? ([], nil)
        }
        do throws(ThreadRefused) { isIn = try workers.add(newObserver, dispatch) } catch {
            observer.cancel()
            throw StoreError(error)
        }
        guard isIn else {
            observers.withLock { $0[number] = nil }
            throw .closed
        }
        return observer
    }

    /// Removes a canceled observer.
    func remove(_ observer: ObserverRegistration) {
        observers.withLock { $0[observer.number] = nil }
        workers.remove(observer)
    }

    /// Queues an observer to be called after all others.
    func deliver(_ observer: ObserverRegistration) {
        workers.deliver(observer)
    }

    /// Cancels all observers and ends the threads.
    func stop() {
        for observer in registrations { _ = observer.end() }
        observers.withLock { $0 = [:] }
        queries.source.onNewSnapshot(nil)
        workers.stop()
        queries.source.stopFeed()
    }

    // MARK: Dispatching

    /// Wakes a thread, if there is one, to dispatch published commits or changed parameters.
    func wakeDispatcher() {
        workers.wakeDispatcher()
    }

    /// Computes new results and stores them in their observers; returns the observers to call.
    private func dispatch(_ work: WorkerScheduler.PendingWork) -> (
        called: [ObserverRegistration], next: UInt64?
    ) {
        let (deliveries, next) = schedule.withLock { schedule in
            (computeDeliveries(&schedule, work), schedule.deadline)
        }
        var called: [ObserverRegistration] = []
        for delivery in deliveries where delivery.observer.put(delivery.outcome) {
            called.append(delivery.observer)
        }
        return (called, next)
    }

    private func computeDeliveries(
        _ schedule: inout ObserverSchedule, _ work: WorkerScheduler.PendingWork
    ) -> [ObserverSchedule.Delivery] {
        schedule.remove(work.removedNumbers)
        let hasChanges = work.hasPublished || !work.addedObservers.isEmpty
        var deliveries = hasChanges ? schedule.dispatch(adding: work.addedObservers) : []
        let ticks = schedule.tick(Clock.system.monotonicNanoseconds()) {
            queries.reader()
        }
        if !ticks.isEmpty { deliveries += ticks }
        return deliveries
    }
}
