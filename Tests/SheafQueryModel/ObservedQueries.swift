import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafStore

/// The observers of a store with a manually driven schedule, and the last result of each.
final class ObservedQueries {
    /// An observer with its statement and its last result.
    private struct ObserverState {
        let observer: ObserverRegistration
        let text: String
        let statement: Statement
        let arguments: [String: Value]
        let began: CommitID
        var last: Result<QueryResult, StoreError>?
        /// The first and the last earlier result, of which only the first counts as received.
        var missed: (first: QueryResult, last: QueryResult)?
        var commit: Int64 = 0
    }

    private let simulation: QuerySimulation
    private var schedule: ObserverSchedule
    private var observers: [UInt64: ObserverState] = [:]
    private var newObservers: [NewObserver] = []
    private var lastNumber: UInt64 = 0
    /// The documents at the last quiet point.
    private var shown: [String: [Value: Object]] = [:]
    /// Whether the schedule has run since the last quiet point.
    private var hasCheckedBetween = false
    private(set) var deliveryCount = 0
    /// The number of deliveries with changes.
    private(set) var changeCount = 0

    init(_ simulation: QuerySimulation) {
        self.simulation = simulation
        schedule = ObserverSchedule(simulation.queries)
    }

    var count: Int { observers.count }
    var numbers: [UInt64] { observers.keys.sorted() }
    /// The numbers of results computed from changes and by rerunning statements.
    var tally: ObserverSchedule.Tally { schedule.tally }

    /// Starts observing a SELECT; the next `check` delivers its first result.
    func observe(_ select: Select, _ arguments: [String: Value]) throws {
        let text = Statement(
            text: "", body: .select(select), directives: [], parameters: []
        ).description
        let query = DQL(verbatim: text)
        let statement = try simulation.queries.statement(query)
        lastNumber += 1
        let observer = ObserverRegistration(unattended: query, number: lastNumber)
        let missed = simulation.queries.documents.startFeed()
        newObservers.append(
            NewObserver(observer, statement, ArgumentValues(arguments), missedThrough: missed))
        observers[lastNumber] = ObserverState(
            observer: observer, text: text, statement: statement, arguments: arguments,
            began: missed)
    }

    func cancel(_ number: UInt64) {
        guard let observer = observers.removeValue(forKey: number) else { return }
        observer.observer.cancel()
        schedule.remove([number])
    }

    /// Runs the schedule on the durable commits and checks its deliveries.
    ///
    /// At a quiet point, all commits are durable.
    func check(_ context: String, isQuiet: Bool) throws {
        let known = newObservers.map(\.observer.number)
        var recovered: Set<UInt64> = []
        let deliveries = schedule.dispatch(adding: newObservers)
        newObservers = []
        deliveryCount += deliveries.count
        for delivery in deliveries {
            let number = delivery.observer.number
            guard var observer = observers[number] else {
                throw QueryDifference("a delivery after cancellation", "", [:], context)
            }
            if case .success(let result) = delivery.outcome {
                try checkChanges(of: result, since: observer, context)
            }
            if case .failure? = observer.last { recovered.insert(number) }
            observer.last = delivery.outcome
            if case .success(let result) = delivery.outcome {
                let now = Int64(simulation.store.snapshot().commit)
                guard result.commitID == now, now >= observer.commit else {
                    throw difference(
                        "a result of commit \(result.commitID ?? -1) at \(now), after "
                            + "\(observer.commit)", observer, context)
                }
                observer.commit = now
                try checkMissing(result, &observer, context)
            }
            observers[number] = observer
        }
        for number in known where observers[number]?.last == nil {
            guard let observer = observers[number] else { continue }
            throw difference("no first result", observer, context)
        }
        guard isQuiet else {
            hasCheckedBetween = true
            return
        }
        try checkSilence(
            deliveries.filter {
                !known.contains($0.observer.number) && !recovered.contains($0.observer.number)
            }, context)
    }

    /// Checks that changes turn the previous result into this one and equal those of a differ.
    private func checkChanges(
        of result: QueryResult, since observer: ObserverState, _ context: String
    ) throws {
        guard let changes = result.changes else { return }
        guard case .success(let before)? = observer.last else {
            throw difference("changes without a previous result", observer, context)
        }
        let (old, new) = (
            try before.items.map { try $0.value }, try result.items.map { try $0.value }
        )
        changeCount += 1
        var rows = old.map(RowComparison.json)
        rows.apply(changes, from: new.map(RowComparison.json))
        guard rows == new.map(RowComparison.json) else {
            throw difference("\(changes) yields other rows", observer, context)
        }
        // Without unique ids, a differ cannot recognize a changed row.
        guard (old + new).allSatisfy({ $0["_id"] != nil }),
            Set(new.map { $0["_id"] }).count == new.count
        else { return }
        let differ = Differ()
        _ = differ.diff(before.items)
        let expected = differ.diff(result.items)
        guard changes.insertions == expected.insertions, changes.deletions == expected.deletions,
            changes.updates == expected.updates, changes.moves.count == expected.moves.count
        else { throw difference("\(changes) instead of \(expected)", observer, context) }
    }

    /// Checks that the combined changes of missed results lead from the first result to this one.
    private func checkMissing(
        _ result: QueryResult, _ observer: inout ObserverState, _ context: String
    ) throws {
        guard let missed = observer.missed else {
            observer.missed = (result, result)
            return
        }
        let isFirst = missed.last.storage === missed.first.storage
        let last = isFirst ? result : result.following(missed.last)
        observer.missed = (missed.first, last)
        guard let changes = last.changes else {
            observer.missed = (result, result)
            return
        }
        var rows = try missed.first.items.map { RowComparison.json(try $0.value) }
        let new = try last.items.map { RowComparison.json(try $0.value) }
        rows.apply(changes, from: new)
        guard rows == new else {
            throw difference("the combined \(changes) yields other rows", observer, context)
        }
    }

    /// Checks that unchanged documents cause no delivery.
    private func checkSilence(
        _ deliveries: [ObserverSchedule.Delivery], _ context: String
    ) throws {
        let (before, isSure) = (shown, !hasCheckedBetween)
        (shown, hasCheckedBetween) = (simulation.documents, false)
        guard isSure, !deliveries.isEmpty, before == shown else { return }
        let isSame = before.allSatisfy { name, documents in
            documents.allSatisfy { id, document in
                shown[name]?[id].map { RowComparison.json($0) == RowComparison.json(document) }
                    ?? false
            }
        }
        guard isSame else { return }
        for delivery in deliveries {
            guard let observer = observers[delivery.observer.number],
                observer.began < simulation.store.snapshot().commit,
                case .success = delivery.outcome
            else { continue }
            throw difference("a delivery without a change", observer, context)
        }
    }

    /// Checks that each observer's last result equals the current result of its statement.
    func compare(_ context: String) throws {
        for number in observers.keys.sorted() {
            guard let observer = observers[number], let last = observer.last else { continue }
            try compare(observer, last, context)
        }
    }

    private func compare(
        _ watcher: ObserverState, _ last: Result<QueryResult, StoreError>, _ context: String
    ) throws {
        switch last {
        case .failure(let error):
            let reader = simulation.reader(isPending: false)
            guard (try? simulation.rows(watcher.statement, watcher.arguments, reader)) == nil else {
                throw difference("it succeeds, but the last result is \(error)", watcher, context)
            }
        case .success(let result):
            guard case .select(let select) = watcher.statement.body else { return }
            let expected: NaiveRows
            do { expected = try simulation.naive(select, watcher.arguments) } catch { return }
            let found = try result.items.map { try $0.value }
            if let problem = RowComparison.difference(found, expected) {
                throw difference(problem, watcher, context)
            }
        }
    }

    private func difference(
        _ problem: String, _ watcher: ObserverState, _ context: String
    ) -> QueryDifference {
        QueryDifference(
            "observer \(watcher.observer.number): " + problem, watcher.text, watcher.arguments,
            context + ", " + simulation.indexText())
    }
}
