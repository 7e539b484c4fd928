import SheafDocument

/// Takes in rows, and makes the result of them: groups, sorts, leaves out, gives out.
final class RowCollector {
    let plan: SelectPlan
    let frame: Frame
    private let types: [FieldTypes]
    /// Whether rows of the result are documents that nobody has decoded yet.
    let isLazy: Bool
    private let tallies: PlanTallies?
    private let meter: Meter?

    // Only the run itself changes these, one step at a time: to check that would take as long as
    // the steps.
    @exclusivity(unchecked) var items: [ResultItem] = []
    /// Who is shown the rows that would be given out.
    @exclusivity(unchecked) var visitor: ((Frame) throws(QueryError) -> Void)?
    @exclusivity(unchecked) private var distinct: DistinctRows
    /// How many rows of OFFSET were passed over.
    @exclusivity(unchecked) var skipped = 0
    @exclusivity(unchecked) private var shown = 0
    @exclusivity(unchecked) private(set) var sorter: Sorter<ResultItem>?
    @exclusivity(unchecked) private var grouper: Grouper?
    let sortFilter: SortFilter?
    /// Whether documents are given out as they come.
    let givesDocuments: Bool

    init(
        _ plan: SelectPlan, _ frame: Frame, _ tallies: PlanTallies?
    ) {
        self.plan = plan
        self.frame = frame
        self.tallies = tallies
        meter = tallies?.meter
        types = plan.types
        var isLazy = false
        if case .document = plan.projection, !plan.isDistinct { isLazy = true }
        self.isLazy = isLazy
        sortFilter = SortFilter.filter(plan, frame.names)
        givesDocuments =
            isLazy && types[0].isPlain && plan.condition == nil && plan.grouping == nil
            && plan.isOrdered
        if let grouping = plan.grouping { grouper = Grouper(grouping) }
        let isDescending = plan.order.map(\.isDescending)
        // Rows that come one by one have no keys.
        distinct = DistinctRows(plan.isOrdered ? [] : isDescending)
        guard !plan.isOrdered else { return }
        // Rows that are equal are dropped first, so nobody knows how many have to be sorted.
        sorter = Sorter(isDescending, limit: plan.isDistinct ? nil : plan.wantedCount)
    }

    /// The rows of the result, after all were taken in.
    func finish() throws(QueryError) -> [ResultItem] {
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

    /// Takes in so many rows that nobody has looked at.
    func addRows(_ count: Int) {
        grouper?.addRows(count)
        tallies?.group.rowsIn = count
    }

    // MARK: Rows

    /// Takes a complete row if it fulfills WHERE; false to stop.
    func pass() throws(QueryError) -> Bool {
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
    func show(
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
            let id = frame.rows[0].id, types[0].showAll(of: fields)
        {
            return ResultItem(content: .stored(fields: fields, id: id, place: frame.rows[0].place))
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
