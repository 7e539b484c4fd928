import SheafBytes
import SheafDocument

/// Runs a plan of a SELECT, and gathers its rows.
final class SelectRun {
    private let plan: SelectPlan
    private let store: any QueryStore
    private let frame: Frame
    private let types: [FieldTypes]
    private let isLazy: Bool
    /// What the operators have done, where somebody measures that.
    let tallies: PlanTallies?
    private let meter: Meter?

    // Only the run itself changes these, one step at a time: to check that would take as long as
    // the steps.
    @exclusivity(unchecked) private var items: [ResultItem] = []
    @exclusivity(unchecked) private var visitor: ((Frame) throws(QueryError) -> Void)?
    private var distinct = DistinctRows()
    @exclusivity(unchecked) private var skipped = 0
    @exclusivity(unchecked) private var shown = 0
    /// Whether no more rows are wanted.
    @exclusivity(unchecked) private var isFinished = false
    @exclusivity(unchecked) private var sorter: Sorter<ResultItem>?
    @exclusivity(unchecked) private var grouper: Grouper?
    /// The rows of right joins that have found no partner, by the number of the join.
    private var matched: [Int: Set<UInt64>] = [:]

    init(_ plan: SelectPlan, _ environment: PlanEnvironment, clock: (() -> UInt64)? = nil) {
        self.plan = plan
        store = environment.store
        frame = Frame(
            sourceCount: plan.sources.count, variableCount: plan.variableCount,
            names: environment.store.names, context: environment.context)
        types = plan.sources.map(\.types)
        tallies = clock.map { PlanTallies(plan, $0) }
        meter = tallies?.meter
        var isLazy = false
        if case .document = plan.projection, types[0].isPlain, !plan.isDistinct { isLazy = true }
        self.isLazy = isLazy
        if let grouping = plan.grouping { grouper = Grouper(grouping) }
        guard !plan.isOrdered else { return }
        // Rows that are equal are dropped first, so nobody knows how many have to be sorted.
        sorter = Sorter(
            plan.order.map(\.isDescending), limit: plan.isDistinct ? nil : plan.wantedCount)
    }

    /// The rows of the result.
    func run() throws(QueryError) -> [ResultItem] {
        if plan.limit == 0 { return [] }
        if let counted = plan.countedRanges {
            try measure(tallies?.access.rows, meter) { () throws(QueryError) in count(counted) }
        } else {
            try visitRows()
        }
        if let grouper {
            try measure(tallies?.group, meter) { () throws(QueryError) in
                tallies?.group.rowsOut += grouper.count
                try grouper.forEach(frame) { () throws(QueryError) in
                    tallies?.having.rowsOut += 1
                    return try self.take()
                }
            }
        }
        try finishDistinct()
        if var sorter {
            self.sorter = nil
            try measure(tallies?.sort, meter) { () throws(QueryError) in
                let rows = sorter.finish()
                for row in rows {
                    tallies?.sort.rowsOut += 1
                    guard try emit(row) else { break }
                }
            }
        }
        return items
    }

    private func count(_ ranges: (of: [KeyRange], without: [KeyRange])) {
        let count = ranges.of.reduce(0) { $0 + store.count(in: $1) }
        let without = ranges.without.reduce(0) { $0 + store.count(in: $1) }
        grouper?.addRows(count - without)
        tallies?.access.rows.rowsOut = count - without
        tallies?.group.rowsIn = count - without
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
        let access = AccessRun(store, plan.sources[0].collection)
        try access.run(.ids(keys), tallies?.second) { (row, _) throws(QueryError) in
            frame.rows[0] = row
            try show(body)
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

    // MARK: Rows

    private func visitRows() throws(QueryError) {
        var access = AccessRun(store, plan.sources[0].collection)
        access.isOrderFree = plan.takesAnyOrder
        if plan.skipsByRank { skipped = plan.offset }
        try access.run(
            plan.sources[0].path.access, tallies?.access, filter: plan.filter, skipping: skipped
        ) { (row, _) throws(QueryError) in
            frame.rows[0] = row
            isFinished = try !join(0)
            return !isFinished
        }
        try visitUnmatched()
    }

    /// Finds the partners of the rows that the frame shows, from a join on; false to stop.
    private func join(_ number: Int) throws(QueryError) -> Bool {
        guard number < plan.joins.count else { return try pass() }
        let join = plan.joins[number]
        let tally = tallies?.joins[number]
        tally?.rows.rowsIn += 1
        var goesOn = true
        var hasPartner = false
        try measure(tally?.rows, meter) { () throws(QueryError) in
            try visitPartners(join, tally?.inner) { (row, place) throws(QueryError) in
                frame.rows[join.source] = row
                guard try join.condition(frame) == .yes else { return true }
                hasPartner = true
                if join.kind == .right { matched[number, default: []].insert(place) }
                tally?.rows.rowsOut += 1
                goesOn = try self.join(number + 1)
                return goesOn
            }
        }
        guard goesOn, !hasPartner, join.kind == .left else { return goesOn }
        frame.rows[join.source] = Row()
        tally?.rows.rowsOut += 1
        return try self.join(number + 1)
    }

    private func visitPartners(
        _ join: JoinPlan, _ tally: AccessTally?, _ body: AccessRun.Visitor
    ) throws(QueryError) {
        let source = plan.sources[join.source]
        guard let collection = source.collection else {
            guard source.name.hasPrefix("system:") else { return }
            let run = AccessRun(store, nil)
            return try run.run(.virtual(String(source.name.dropFirst(7))), tally, body)
        }
        let run = AccessRun(store, collection)
        switch join.lookup {
        case .id(let evaluator, _):
            // The id of what is equal: 1.0 is no id, and equal to one.
            guard let value = try evaluator(frame), value != .null else { return }
            let key = collection.keyPrefix + SortKey.identity(of: value)
            if tally != nil { return try run.run(.ids([key]), tally, body) }
            try store.read(key) { (document) throws(QueryError) in
                _ = try body(Row(document), document.place)
            }
        case .index(let index, let evaluator, _):
            guard let value = try evaluator(frame), value != .null else { return }
            let range = ComponentRange.only(value).keys(
                behind: index.keyPrefix, isDescending: index.fields[0].isDescending)
            // What long values have made irregular may have this one.
            let irregular = index.irregularKeys.map { [$0] } ?? []
            try run.run(.index(IndexScan(index, [range] + irregular)), tally, body)
        case .scan:
            try run.run(.documents([collection.keys], isReversed: false), tally, body)
        }
    }

    /// Shows the rows of right joins that have found no partner.
    private func visitUnmatched() throws(QueryError) {
        for (number, join) in plan.joins.enumerated() where join.kind == .right && !isFinished {
            for index in 0..<join.source { frame.rows[index] = Row() }
            let found = matched[number] ?? []
            guard let collection = plan.sources[join.source].collection else { continue }
            let tally = tallies?.joins[number]
            try AccessRun(store, collection).run(
                .documents([collection.keys], isReversed: false), tally?.inner
            ) { (row, place) throws(QueryError) in
                guard !found.contains(place) else { return true }
                frame.rows[join.source] = row
                tally?.rows.rowsOut += 1
                isFinished = try !self.join(number + 1)
                return !isFinished
            }
        }
    }

    /// Takes a complete row if it fulfills WHERE; false to stop.
    private func pass() throws(QueryError) -> Bool {
        if let condition = plan.condition {
            tallies?.filter.rowsIn += 1
            let truth = try measure(tallies?.filter, meter) { () throws(QueryError) in
                try condition(frame)
            }
            guard truth == .yes else { return true }
            tallies?.filter.rowsOut += 1
        }
        guard grouper != nil else { return try take() }
        try measure(tallies?.group, meter) { () throws(QueryError) in
            tallies?.group.rowsIn += 1
            try grouper?.add(frame)
        }
        return true
    }

    /// Sorts a row in, or gives it out.
    private func take() throws(QueryError) -> Bool {
        if plan.isDistinct { return try takeDistinct() }
        guard sorter == nil else {
            try sort { () throws(QueryError) in try item() }
            return true
        }
        guard !skips() else { return true }
        guard let visitor else { return give(try item()) }
        try show(visitor)
        return plan.limit.map { shown < $0 } ?? true
    }

    /// Shows a row instead of giving it out.
    private func show(
        _ visitor: (Frame) throws(QueryError) -> Void
    ) throws(QueryError) {
        shown += 1
        tallies?.projection.rowsIn += 1
        try measure(tallies?.projection, meter) { () throws(QueryError) in try visitor(frame) }
    }

    private func takeDistinct() throws(QueryError) -> Bool {
        tallies?.projection.rowsIn += 1
        let object = try measure(tallies?.projection, meter) { () throws(QueryError) in
            try plan.projection.object(frame, types)
        }
        // Where any few rows will do, each is given out as it comes.
        guard plan.limit != nil, sorter == nil else {
            var keys: [Value?] = []
            if let first = plan.order.first {
                keys = try sortKeys(after: try first.evaluator(frame))
            }
            distinct.add(object, keys)
            return true
        }
        guard distinct.add(object, []) else { return true }
        tallies?.projection.rowsOut += 1
        return try emit(ResultItem(content: .object(object)))
    }

    /// Gives out the rows that were gathered because each comes once.
    private func finishDistinct() throws(QueryError) {
        guard plan.isDistinct, plan.limit == nil || sorter != nil else { return }
        for row in distinct.rows {
            let item = ResultItem(content: .object(row.object))
            tallies?.projection.rowsOut += 1
            if sorter == nil {
                _ = try emit(item)
            } else {
                tallies?.sort.rowsIn += 1
                try sorter?.add(row.keys) { () throws(QueryError) in item }
            }
        }
    }

    private func sort(_ item: () throws(QueryError) -> ResultItem) throws(QueryError) {
        try measure(tallies?.sort, meter) { () throws(QueryError) in
            tallies?.sort.rowsIn += 1
            guard let first = plan.order.first else { return }
            let key = try first.evaluator(frame)
            guard sorter?.mayTake(key) == true else { return }
            try sorter?.add(try sortKeys(after: key), item)
        }
    }

    /// What a row is sorted by, of which the first is known.
    private func sortKeys(after first: Value?) throws(QueryError) -> [Value?] {
        var keys = [first]
        for term in plan.order.dropFirst() { keys.append(try term.evaluator(frame)) }
        return keys
    }

    private func item() throws(QueryError) -> ResultItem {
        tallies?.projection.rowsIn += 1
        tallies?.projection.rowsOut += 1
        if isLazy, frame.rows[0].isLasting, let fields = frame.rows[0].fields,
            let id = frame.rows[0].id
        {
            return ResultItem(content: .stored(fields: fields, id: id))
        }
        return try measure(tallies?.projection, meter) { () throws(QueryError) in
            ResultItem(content: .object(try plan.projection.object(frame, types)))
        }
    }

    /// Whether a row is one of those that OFFSET passes over.
    private func skips() -> Bool {
        tallies?.limit.rowsIn += 1
        guard skipped < plan.offset else {
            tallies?.limit.rowsOut += 1
            return false
        }
        skipped += 1
        return true
    }

    /// Gives a row out, unless OFFSET passes over it; false where no more are wanted.
    private func emit(_ item: ResultItem) throws(QueryError) -> Bool {
        skips() ? true : give(item)
    }

    private func give(_ item: ResultItem) -> Bool {
        items.append(item)
        return plan.limit.map { items.count < $0 } ?? true
    }
}

extension SelectPlan {
    /// Whether the scan passes over the rows of OFFSET without looking at them: a run of keys in
    /// which each entry is a row can be entered anywhere.
    var skipsByRank: Bool {
        guard case .index = sources[0].path.access else { return false }
        return isStraight && !isDistinct
    }

    /// Whether rows come out as they are found, one for each entry.
    var isStraight: Bool {
        filter == nil && condition == nil && joins.isEmpty && grouping == nil && isOrdered
    }

    /// How many rows are wanted with those that OFFSET passes over; none where all are.
    var wantedCount: Int? {
        limit.map { QueryLimits.sum($0, offset) }
    }
}
