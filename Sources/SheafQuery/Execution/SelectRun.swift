import SheafBytes
import SheafDocument

/// Runs a plan of a SELECT, and gathers its rows.
final class SelectRun {
    private let plan: SelectPlan
    private let store: any QueryStore
    private let frame: Frame
    private let types: [FieldTypes]
    private let isLazy: Bool
    private(set) var tallies: PlanTallies
    private let meter: Meter?

    private var items: [ResultItem] = []
    private var visitor: ((Frame) throws(QueryError) -> Void)?
    private var distinct = DistinctRows()
    private var skipped = 0
    private var shown = 0
    /// Whether no more rows are wanted.
    private var isFinished = false
    private var sorter: Sorter<ResultItem>?
    private var grouper: Grouper?
    /// The rows of right joins that have found no partner, by the number of the join.
    private var matched: [Int: Set<UInt64>] = [:]

    init(_ plan: SelectPlan, _ environment: PlanEnvironment, clock: (() -> UInt64)? = nil) {
        self.plan = plan
        store = environment.store
        frame = Frame(
            sourceCount: plan.sources.count, variableCount: plan.variableCount,
            names: environment.store.names, context: environment.context)
        types = plan.sources.map(\.types)
        tallies = PlanTallies(plan)
        meter = clock.map(Meter.init)
        var isLazy = false
        if case .document = plan.projection, types[0].isPlain, !plan.isDistinct { isLazy = true }
        self.isLazy = isLazy
        if let grouping = plan.grouping { grouper = Grouper(grouping) }
        guard !plan.isOrdered else { return }
        // Rows that are equal are dropped first, so nobody knows how many have to be sorted.
        let wanted = plan.isDistinct ? nil : plan.limit
        sorter = Sorter(
            plan.order.map(\.isDescending),
            limit: wanted.map { SelectPlanner.sum($0, plan.offset) })
    }

    /// The rows of the result.
    func run() throws(QueryError) -> [ResultItem] {
        if plan.limit == 0 { return [] }
        _ = meter?.turn(to: tallies.scan)
        if let counted = plan.countedRanges {
            let count = counted.of.reduce(0) { $0 + store.count(in: $1) }
            let without = counted.without.reduce(0) { $0 + store.count(in: $1) }
            grouper?.addRows(count - without)
            tallies.scan.rowsOut = 1
        } else {
            try visitRows()
        }
        if let grouper {
            try measure(tallies.group) { () throws(QueryError) in
                tallies.group?.rowsOut += grouper.count
                try grouper.forEach(frame) { () throws(QueryError) in try self.take() }
            }
        }
        try finishDistinct()
        if var sorter {
            self.sorter = nil
            try measure(tallies.sort) { () throws(QueryError) in
                let rows = sorter.finish()
                tallies.sort?.rowsOut += rows.count
                for row in rows where try !emit(row) { break }
            }
        }
        _ = meter?.turn(to: nil)
        return items
    }

    /// Shows each row of the result by the frame, where nothing has to be sorted or grouped; and
    /// where it has, all rows are gathered first.
    func forEach(_ body: @escaping (Frame) throws(QueryError) -> Void) throws(QueryError) {
        visitor = body
        if plan.isOrdered {
            _ = try run()
            return
        }
        // Sorted rows are read once more, by their ids.
        let keys = try sortedKeys()
        var access = AccessRun(store, plan.sources[0].collection)
        try access.run(.ids(keys)) { (row, _) throws(QueryError) in
            frame.rows[0] = row
            try body(frame)
            return true
        }
    }

    /// The keys of the documents of the result, in order.
    private func sortedKeys() throws(QueryError) -> [[UInt8]] {
        guard let prefix = plan.sources[0].collection?.keyPrefix else { return [] }
        visitor = nil
        var keys: [[UInt8]] = []
        for item in try run() {
            guard case .object(let row) = item.content, let id = row[Row.idName],
                let key = try? DocumentID.key(of: id)
            else { continue }
            keys.append(prefix + key)
        }
        return keys
    }

    private func measure<Result>(
        _ tally: OperatorTally?, _ body: () throws(QueryError) -> Result
    ) throws(QueryError) -> Result {
        guard let meter, let tally else { return try body() }
        let before = meter.turn(to: tally)
        defer { _ = meter.turn(to: before) }
        return try body()
    }

    // MARK: Rows

    private func visitRows() throws(QueryError) {
        var access = AccessRun(store, plan.sources[0].collection)
        // A run of keys without a filter can be entered anywhere.
        let canSkip =
            plan.filter == nil && plan.condition == nil && plan.joins.isEmpty
            && plan.grouping == nil && plan.isOrdered && !plan.isDistinct
            && plan.sources[0].path.canSkip
        if canSkip { skipped = plan.offset }
        try access.run(
            plan.sources[0].path.access, filter: plan.filter, skipping: canSkip ? plan.offset : 0
        ) { (row, _) throws(QueryError) in
            tallies.scan.rowsOut += 1
            frame.rows[0] = row
            isFinished = try !join(0)
            return !isFinished
        }
        tallies.scan.rowsIn = access.tally.entries
        tallies.fetched = access.tally.fetched
        try visitUnmatched()
    }

    /// Finds the partners of the rows that the frame shows, from a join on; false to stop.
    private func join(_ number: Int) throws(QueryError) -> Bool {
        guard number < plan.joins.count else {
            return try measure(tallies.filter) { () throws(QueryError) in try pass() }
        }
        let join = plan.joins[number]
        let tally = tallies.joins[number]
        tally.rowsIn += 1
        var goesOn = true
        var hasPartner = false
        try measure(tally) { () throws(QueryError) in
            try visitPartners(join) { (row, place) throws(QueryError) in
                frame.rows[join.source] = row
                guard try join.condition(frame) == .yes else { return true }
                hasPartner = true
                if join.kind == .right { matched[number, default: []].insert(place) }
                tally.rowsOut += 1
                goesOn = try self.join(number + 1)
                return goesOn
            }
        }
        guard goesOn, !hasPartner, join.kind == .left else { return goesOn }
        frame.rows[join.source] = Row()
        tally.rowsOut += 1
        return try self.join(number + 1)
    }

    private func visitPartners(
        _ join: JoinPlan, _ body: (Row, UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        let source = plan.sources[join.source]
        guard let collection = source.collection else {
            guard source.name.hasPrefix("system:") else { return }
            var run = AccessRun(store, nil)
            return try run.run(.virtual(String(source.name.dropFirst(7))), body)
        }
        var run = AccessRun(store, collection)
        switch join.lookup {
        case .id(let evaluator):
            // The id of what is equal: 1.0 is no id, and equal to one.
            guard let value = try evaluator(frame), value != .null else { return }
            let key = collection.keyPrefix + ComponentRange.only(value).lower.bytes
            try run.run(.ids([key]), body)
        case .index(let index, let evaluator):
            guard let value = try evaluator(frame), value != .null else { return }
            let range = ComponentRange.only(value).keys(
                behind: index.keyPrefix, isDescending: index.fields[0].isDescending)
            // What long values have made irregular may have this one.
            let ranges = [range] + (index.irregularKeys.map { [$0] } ?? [])
            try run.run(.index(IndexScan(index, ranges)), body)
        case .scan:
            try run.run(.documents([collection.keys], isReversed: false), body)
        }
    }

    /// Shows the rows of right joins that have found no partner.
    private func visitUnmatched() throws(QueryError) {
        for (number, join) in plan.joins.enumerated() where join.kind == .right && !isFinished {
            for index in 0..<join.source { frame.rows[index] = Row() }
            let found = matched[number] ?? []
            var run = AccessRun(store, plan.sources[join.source].collection)
            guard let collection = plan.sources[join.source].collection else { continue }
            try run.run(.documents([collection.keys], isReversed: false)) {
                (row, place) throws(QueryError) in
                guard !found.contains(place) else { return true }
                frame.rows[join.source] = row
                isFinished = try !self.join(number + 1)
                return !isFinished
            }
        }
    }

    /// Takes a complete row if it fulfills WHERE; false to stop.
    private func pass() throws(QueryError) -> Bool {
        tallies.filter?.rowsIn += 1
        if let condition = plan.condition, try condition(frame) != .yes { return true }
        tallies.filter?.rowsOut += 1
        guard grouper != nil else { return try take() }
        try measure(tallies.group) { () throws(QueryError) in
            tallies.group?.rowsIn += 1
            try grouper?.add(frame)
        }
        return true
    }

    /// Sorts a row in, or gives it out.
    private func take() throws(QueryError) -> Bool {
        if plan.isDistinct { return try takeDistinct() }
        if let visitor, sorter == nil { return try show(visitor) }
        guard sorter != nil else { return try emit(try item()) }
        try measure(tallies.sort) { () throws(QueryError) in
            tallies.sort?.rowsIn += 1
            try sorter?.add(try sortKeys()) { () throws(QueryError) in try item() }
        }
        return true
    }

    /// Shows a row instead of giving it out; false where no more are wanted.
    private func show(
        _ visitor: (Frame) throws(QueryError) -> Void
    ) throws(QueryError) -> Bool {
        if skipped < plan.offset {
            skipped += 1
            return true
        }
        try visitor(frame)
        shown += 1
        return plan.limit.map { shown < $0 } ?? true
    }

    private func takeDistinct() throws(QueryError) -> Bool {
        let object = try plan.projection.object(frame, types)
        // Where any few rows will do, each is given out as it comes.
        guard plan.limit != nil, sorter == nil else {
            let keys = try sortKeys()
            distinct.add(object, keys)
            return true
        }
        guard distinct.add(object, []) else { return true }
        return try emit(ResultItem(content: .object(object)))
    }

    /// Gives out the rows that were gathered because each comes once.
    private func finishDistinct() throws(QueryError) {
        guard plan.isDistinct, plan.limit == nil || sorter != nil else { return }
        for row in distinct.rows {
            let item = ResultItem(content: .object(row.object))
            if sorter == nil {
                _ = try emit(item)
            } else {
                try sorter?.add(row.keys) { () throws(QueryError) in item }
            }
        }
    }

    private func sortKeys() throws(QueryError) -> [Value?] {
        var keys: [Value?] = []
        keys.reserveCapacity(plan.order.count)
        for term in plan.order { keys.append(try term.evaluator(frame)) }
        return keys
    }

    private func item() throws(QueryError) -> ResultItem {
        if isLazy, frame.rows[0].isLasting, case .encoded(let fields) = frame.rows[0].content,
            let id = frame.rows[0].id
        {
            return ResultItem(content: .stored(fields: fields, id: id))
        }
        return try measure(tallies.projection) { () throws(QueryError) in
            tallies.projection?.rowsIn += 1
            return ResultItem(content: .object(try plan.projection.object(frame, types)))
        }
    }

    /// Gives a row out; false where no more are wanted.
    private func emit(_ item: ResultItem) throws(QueryError) -> Bool {
        tallies.limit?.rowsIn += 1
        if skipped < plan.offset {
            skipped += 1
            return true
        }
        items.append(item)
        tallies.limit?.rowsOut += 1
        return plan.limit.map { items.count < $0 } ?? true
    }
}

/// What each operator of a plan has done.
struct PlanTallies {
    let scan: OperatorTally
    var fetched = 0
    let joins: [OperatorTally]
    let filter: OperatorTally?
    let group: OperatorTally?
    let sort: OperatorTally?
    let projection: OperatorTally?
    let limit: OperatorTally?

    init(_ plan: SelectPlan) {
        scan = OperatorTally(plan.countedRanges == nil ? "scan" : "countScan")
        joins = plan.joins.map { _ in OperatorTally("join") }
        filter = plan.condition == nil ? nil : OperatorTally("filter")
        group = plan.grouping == nil ? nil : OperatorTally("group")
        sort = plan.isOrdered ? nil : OperatorTally("sort")
        projection = OperatorTally("projection")
        limit = plan.limit == nil && plan.offset == 0 ? nil : OperatorTally("limit")
    }
}

extension AccessPath {
    /// Whether it is one run of keys, in which each entry is a row.
    var canSkip: Bool {
        switch access {
        case .index: true
        default: false
        }
    }
}
