import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage

/// The observers of a store with a manually driven schedule, and the last result of each.
final class ObservedQueries {
    /// An observer with its statement and its last result.
    private struct Watcher {
        let observer: Observer
        let text: String
        let statement: Statement
        let arguments: [String: Value]
        let began: CommitID
        var last: Result<QueryResult, StoreError>?
        /// The first and the last earlier result, of which only the first counts as received.
        var missed: (first: QueryResult, last: QueryResult)?
        var commit: Int64 = 0
    }

    private let life: QueryLife
    private var schedule: ObserverSchedule
    private var watchers: [UInt64: Watcher] = [:]
    private var newcomers: [NewObserver] = []
    private var lastNumber: UInt64 = 0
    /// The documents at the last quiet point, and whether the schedule ran since.
    private var shown: [String: [Value: Object]] = [:]
    private var hasLookedBetween = false
    private(set) var deliveryCount = 0
    /// The number of deliveries with changes.
    private(set) var changeCount = 0

    init(_ life: QueryLife) {
        self.life = life
        schedule = ObserverSchedule(life.queries)
    }

    var count: Int { watchers.count }
    var numbers: [UInt64] { watchers.keys.sorted() }
    /// The numbers of results computed from changes and by rerunning statements.
    var tally: ObserverSchedule.Tally { schedule.tally }

    /// Starts observing a statement, if it can be observed.
    func observe(_ select: Select, _ arguments: [String: Value]) throws {
        let text = Statement(
            text: "", body: .select(select), directives: [], parameters: []
        ).description
        let query = Query(verbatim: text)
        let statement = try life.queries.statement(query)
        lastNumber += 1
        let observer = Observer(unattended: query, number: lastNumber)
        let missed = life.queries.documents.startFeed()
        newcomers.append(
            NewObserver(observer, statement, ArgumentValues(arguments), missedThrough: missed))
        watchers[lastNumber] = Watcher(
            observer: observer, text: text, statement: statement, arguments: arguments,
            began: missed)
    }

    func cancel(_ number: UInt64) {
        guard let watcher = watchers.removeValue(forKey: number) else { return }
        watcher.observer.cancel()
        schedule.remove([number])
    }

    /// Runs the schedule on the durable commits and checks its deliveries.
    ///
    /// At a quiet point, all commits are durable.
    func look(_ context: String, isQuiet: Bool) throws {
        let known = newcomers.map(\.observer.number)
        var recovered: Set<UInt64> = []
        let deliveries = schedule.dispatch(adding: newcomers)
        newcomers = []
        deliveryCount += deliveries.count
        for delivery in deliveries {
            let number = delivery.observer.number
            guard var watcher = watchers[number] else {
                throw QueryDifference("a delivery after cancellation", "", [:], context)
            }
            if case .success(let result) = delivery.outcome {
                try checkChanges(of: result, since: watcher, context)
            }
            if case .failure? = watcher.last { recovered.insert(number) }
            watcher.last = delivery.outcome
            if case .success(let result) = delivery.outcome {
                let now = Int64(life.store.snapshot().commit)
                guard result.commitID == now, now >= watcher.commit else {
                    throw difference(
                        "a result of commit \(result.commitID ?? -1) at \(now), after "
                            + "\(watcher.commit)", watcher, context)
                }
                watcher.commit = now
                try checkMissing(result, &watcher, context)
            }
            watchers[number] = watcher
        }
        for number in known where watchers[number]?.last == nil {
            guard let watcher = watchers[number] else { continue }
            throw difference("no first result", watcher, context)
        }
        guard isQuiet else {
            hasLookedBetween = true
            return
        }
        try checkSilence(
            deliveries.filter {
                !known.contains($0.observer.number) && !recovered.contains($0.observer.number)
            }, context)
    }

    /// Checks that changes turn the previous result into this one and equal those of a differ.
    private func checkChanges(
        of result: QueryResult, since watcher: Watcher, _ context: String
    ) throws {
        guard let changes = result.changes else { return }
        guard case .success(let before)? = watcher.last else {
            throw difference("changes without a previous result", watcher, context)
        }
        let (old, new) = (
            try before.items.map { try $0.value }, try result.items.map { try $0.value }
        )
        changeCount += 1
        var rows = old.map(RowComparison.json)
        rows.apply(changes, from: new.map(RowComparison.json))
        guard rows == new.map(RowComparison.json) else {
            throw difference("\(changes) yields other rows", watcher, context)
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
        else { throw difference("\(changes) instead of \(expected)", watcher, context) }
    }

    /// Checks that the combined changes of missed results lead from the first result to this one.
    private func checkMissing(
        _ result: QueryResult, _ watcher: inout Watcher, _ context: String
    ) throws {
        guard let missed = watcher.missed else {
            watcher.missed = (result, result)
            return
        }
        let isFirst = missed.last.storage === missed.first.storage
        let last = isFirst ? result : result.following(missed.last)
        watcher.missed = (missed.first, last)
        guard let changes = last.changes else {
            watcher.missed = (result, result)
            return
        }
        var rows = try missed.first.items.map { RowComparison.json(try $0.value) }
        let new = try last.items.map { RowComparison.json(try $0.value) }
        rows.apply(changes, from: new)
        guard rows == new else {
            throw difference("the combined \(changes) yields other rows", watcher, context)
        }
    }

    /// Checks that unchanged documents cause no delivery.
    private func checkSilence(
        _ deliveries: [ObserverSchedule.Delivery], _ context: String
    ) throws {
        let (before, isSure) = (shown, !hasLookedBetween)
        (shown, hasLookedBetween) = (life.documents, false)
        guard isSure, !deliveries.isEmpty, before == shown else { return }
        let isSame = before.allSatisfy { name, documents in
            documents.allSatisfy { id, document in
                shown[name]?[id].map { RowComparison.json($0) == RowComparison.json(document) }
                    ?? false
            }
        }
        guard isSame else { return }
        for delivery in deliveries {
            guard let watcher = watchers[delivery.observer.number],
                watcher.began < life.store.snapshot().commit,
                case .success = delivery.outcome
            else { continue }
            throw difference("a delivery without a change", watcher, context)
        }
    }

    /// Checks that each observer's last result equals the current result of its statement.
    func compare(_ context: String) throws {
        for number in watchers.keys.sorted() {
            guard let watcher = watchers[number], let last = watcher.last else { continue }
            try compare(watcher, last, context)
        }
    }

    private func compare(
        _ watcher: Watcher, _ last: Result<QueryResult, StoreError>, _ context: String
    ) throws {
        switch last {
        case .failure(let error):
            let reader = life.reader(isPending: false)
            guard (try? life.rows(watcher.statement, watcher.arguments, reader)) == nil else {
                throw difference("it succeeds, but the last result is \(error)", watcher, context)
            }
        case .success(let result):
            guard case .select(let select) = watcher.statement.body else { return }
            let expected: NaiveRows
            do { expected = try life.naive(select, watcher.arguments) } catch { return }
            let found = try result.items.map { try $0.value }
            if let problem = RowComparison.difference(found, expected) {
                throw difference(problem, watcher, context)
            }
        }
    }

    private func difference(
        _ problem: String, _ watcher: Watcher, _ context: String
    ) -> QueryDifference {
        QueryDifference(
            "observer \(watcher.observer.number): " + problem, watcher.text, watcher.arguments,
            context + ", " + life.indexText())
    }
}
