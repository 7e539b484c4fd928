import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import Synchronization

/// The observers of a store, and what they hear.
final class ObserverHub: Sendable {
    private let crew = ObserverCrew()
    /// Who hears what; the thread that looks has it.
    private let schedule: Mutex<ObserverSchedule>
    private let queries: QueryEngine
    private let observers = Mutex<[UInt64: Observer]>([:])
    private let numbers = Atomic<UInt64>(0)

    init(_ queries: QueryEngine) {
        self.queries = queries
        schedule = Mutex(ObserverSchedule(queries))
    }

    /// All observers, in the order in which they came.
    var all: [Observer] {
        observers.withLock { $0.values.sorted { $0.number < $1.number } }
    }

    /// Counts what a callback has thrown.
    func note(_ error: any Error, of observer: Observer) {
        queries.noteObserverFailure()
        // Without the line of the statement, which has values in it.
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

    private var documents: DocumentEngine {
        get throws(StoreError) {
            guard case .engine(let documents) = queries.source else {
                throw StoreError(.readOnly, "a store that is only read does not change")
            }
            return documents
        }
    }

    /// Begins to tell somebody what a query results in.
    func observe(
        _ query: Query, _ arguments: QueryArguments, _ callback: Observer.Callback
    ) throws(StoreError) -> Observer {
        let (statement, values) = try onStore { () throws(QueryError) in
            let statement = try queries.statement(query)
            let values = try query.bind(arguments)
            // Whatever is wrong with the statement is said now.
            _ = try queries.run(statement, values).watch()
            return (statement, values)
        }
        _ = try documents
        let number = numbers.add(1, ordering: .relaxed).newValue
        let observer = Observer(query, number: number, callback, hub: self)
        observers.withLock { $0[number] = observer }
        let arrival = Newcomer(
            observer, statement, values, missedThrough: try documents.wantFeed())
        // Before anybody looks, so that no commit is published between the two without a word.
        try documents.store.onPublishing { [weak self] in self?.ring() }
        let isIn: Bool
        // A thread that is stuck in a callback must not keep a store that was dropped, and its lock.
        let look: ObserverCrew.Look = { [weak self] in self?.look($0) ?? ([], nil) }
        do throws(ThreadRefused) { isIn = try crew.add(arrival, look) } catch {
            observer.cancel()
            throw StoreError(
                .failed, "the system has no room for a thread (error \(error.code))",
                hint: "end some threads, and try again")
        }
        guard isIn else {
            observers.withLock { $0[number] = nil }
            throw .closed
        }
        return observer
    }

    /// Forgets an observer that was cancelled.
    func remove(_ observer: Observer) {
        observers.withLock { $0[observer.number] = nil }
        crew.remove(observer)
    }

    /// Has an observer called, once the calls before it are done.
    func deliver(_ observer: Observer) {
        crew.deliver(observer)
    }

    /// Ends everything: observers hear nothing more.
    func stop() {
        for observer in all { _ = observer.end() }
        observers.withLock { $0 = [:] }
        let documents = try? documents
        documents?.store.onPublishing(nil)
        crew.stop()
        documents?.feed.want(false)
    }

    // MARK: Looking

    /// Has somebody look, if there is anybody: at what was published, or at parameters that were set.
    func ring() {
        crew.ring()
    }

    /// Works out who hears what, and puts it where they find it.
    private func look(_ wishes: CrewRoster.Wishes) -> (called: [Observer], next: UInt64?) {
        let (deliveries, next) = schedule.withLock { schedule in
            (step(&schedule, wishes), schedule.deadline)
        }
        var called: [Observer] = []
        for delivery in deliveries where delivery.observer.put(delivery.outcome) {
            called.append(delivery.observer)
        }
        return (called, next)
    }

    private func step(
        _ schedule: inout ObserverSchedule, _ wishes: CrewRoster.Wishes
    ) -> [ObserverSchedule.Delivery] {
        schedule.remove(wishes.departures)
        let hasNews = wishes.hasPublished || !wishes.arrivals.isEmpty
        var deliveries = hasNews ? schedule.look(adding: wishes.arrivals) : []
        let ticks = schedule.tick(Clock.system.monotonicNanoseconds()) {
            queries.reader(queries.parameters)
        }
        if !ticks.isEmpty { deliveries += ticks }
        return deliveries
    }
}
