import SheafDocument
import SheafQuery
import SheafStorage
import Synchronization

/// The thread that works out what observers hear, from the first observer on.
final class ObserverHub: Sendable {
    private struct Wishes: Sendable {
        /// Whether readers see more than before.
        var hasPublished = false
        var isStopping = false
        var hasThread = false
        var arrivals: [Newcomer] = []
        var departures: [UInt64] = []

        var isIdle: Bool {
            !hasPublished && !isStopping && arrivals.isEmpty && departures.isEmpty
        }

        /// Hands over everything.
        mutating func taken() -> Wishes {
            defer {
                hasPublished = false
                arrivals = []
                departures = []
            }
            return self
        }
    }

    let courier = Courier()
    private let queries: QueryEngine
    private let wishes = Monitor(Wishes())
    private let observers = Mutex<[UInt64: Observer]>([:])
    private let thread = Mutex<Thread?>(nil)
    private let numbers = Atomic<UInt64>(0)

    init(_ queries: QueryEngine) {
        self.queries = queries
    }

    /// All observers, in the order in which they came.
    var all: [Observer] {
        observers.withLock { $0.values.sorted { $0.number < $1.number } }
    }

    /// Counts what a callback has thrown.
    func note(_ error: any Error, of observer: Observer) {
        queries.noteObserverFailure()
        // Without the line of the statement, which has values in it.
        let text = (error as? StoreError)?.message ?? "\(error)"
        queries.log?.write(
            .error, "an observer has failed: \(text)",
            ["observer": "\(observer.number)", "query": RedactedText.of(observer.query.text)])
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
        let needsThread = try wishes.withLock { wishes throws(StoreError) in
            guard !wishes.isStopping else {
                observers.withLock { $0[number] = nil }
                throw .closed
            }
            wishes.arrivals.append(arrival)
            defer { wishes.hasThread = true }
            return !wishes.hasThread
        }
        guard needsThread else {
            wishes.signal()
            return observer
        }
        try documents.store.onPublishing { [weak self] in self?.ring() }
        do throws(ThreadRefused) {
            let started = try Thread(name: "sheaf-pump") { self.run() }
            thread.withLock { $0 = started }
        } catch {
            wishes.withLock { $0.hasThread = false }
            observer.cancel()
            throw StoreError(
                .failed, "the system has no room for a thread (error \(error.code))",
                hint: "end some threads, and try again")
        }
        return observer
    }

    /// Forgets an observer that was cancelled.
    func remove(_ observer: Observer) {
        observers.withLock { $0[observer.number] = nil }
        wishes.withLock { $0.departures.append(observer.number) }
        wishes.signal()
    }

    /// Ends everything: observers hear nothing more.
    func stop() {
        wishes.withLock { $0.isStopping = true }
        wishes.broadcast()
        courier.stop()
        for observer in all { _ = observer.end() }
        observers.withLock { $0 = [:] }
        let documents = try? documents
        documents?.store.onPublishing(nil)
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }?.join()
        documents?.feed.want(false)
    }

    // MARK: The thread

    /// Has the thread look, if there is one: at what was published, or at parameters that were set.
    func ring() {
        let isFirst = wishes.withLock { wishes in
            defer { wishes.hasPublished = true }
            return !wishes.hasPublished
        }
        if isFirst { wishes.signal() }
    }

    private func run() {
        var schedule = ObserverSchedule(queries)
        var standstill = Standstill()
        while true {
            let progress = courier.progress
            let now = Clock.system.monotonicNanoseconds()
            let deadlines = [schedule.deadline, standstill.deadline(progress, at: now)]
            let wishes = wishes.wait(
                until: deadlines.compactMap { $0 }.min(), while: { $0.isIdle },
                then: { $0.taken() })
            guard !wishes.isStopping else { return }
            if let progress, standstill.isReached(at: Clock.system.monotonicNanoseconds()) {
                courier.help(progress)
            }
            deliver(step(&schedule, wishes))
        }
    }

    private func step(
        _ schedule: inout ObserverSchedule, _ wishes: Wishes
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

    private func deliver(_ deliveries: [ObserverSchedule.Delivery]) {
        var called: [Observer] = []
        for delivery in deliveries where delivery.observer.put(delivery.outcome) {
            called.append(delivery.observer)
        }
        courier.deliver(called)
    }
}
