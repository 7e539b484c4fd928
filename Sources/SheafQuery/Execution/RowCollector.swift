import SheafDocument

/// The collector of the rows of a SELECT, which filters, groups, sorts and projects them.
final class RowCollector {
    let plan: SelectPlan
    let frame: RowContext
    private let types: [FieldTypes]
    /// Whether result rows are documents that are decoded only on access.
    let isLazy: Bool
    private let tallies: PlanTallies?
    private let meter: Meter?
    /// The conditions that are evaluated on complete rows.
    private let condition: Predicate?

    // Only the run accesses these properties, on one thread; exclusivity checks would cost as much
    // as the work.
    @exclusivity(unchecked) var items: [ResultItem] = []
    /// The receiver of the result rows, which replaces `items`.
    @exclusivity(unchecked) var visitor: ((RowContext) throws(StoreError) -> Void)?
    @exclusivity(unchecked) private var distinct: DistinctRows
    /// Number of rows skipped for OFFSET.
    @exclusivity(unchecked) var skipped = 0
    @exclusivity(unchecked) private var shown = 0
    @exclusivity(unchecked) private(set) var sorter: Sorter<ResultItem>?
    /// The values of all computed rows; nil if some are dropped later, or if the columns depend on
    /// the documents.
    private let computed: ComputedRows?
    /// The evaluators of the terms of ORDER BY after the first.
    private let furtherTerms: [Evaluator]
    let grouper: Grouper?
    let sortFilter: SortFilter?
    /// Whether documents are appended to the result unchanged.
    let appendsDocuments: Bool

    init(
        _ plan: SelectPlan, _ frame: RowContext, _ tallies: PlanTallies?
    ) {
        self.plan = plan
        self.frame = frame
        self.tallies = tallies
        // A profile counts the rows of all joins before it evaluates conditions.
        condition = tallies == nil ? plan.requested.stages.last ?? plan.condition : plan.condition
        meter = tallies?.meter
        types = plan.types
        var isLazy = false
        if case .document = plan.projection, !plan.isDistinct { isLazy = true }
        self.isLazy = isLazy
        sortFilter = SortFilter.filter(plan, frame.names)
        appendsDocuments =
            isLazy && types[0].isPlain && plan.condition == nil && plan.grouping == nil
            && plan.isOrdered
        grouper = plan.grouping.map(Grouper.init)
        let isDescending = plan.order.map(\.isDescending)
        // Rows that are emitted in order need no keys.
        distinct = DistinctRows(plan.isOrdered ? [] : isDescending)
        furtherTerms = plan.order.dropFirst().map(\.evaluator)
        // Of sorted rows, LIMIT and OFFSET drop some, but `ComputedRows` would keep their values.
        let keepsRows = plan.isOrdered || plan.limit == nil && plan.offset == 0
        computed = plan.isDistinct || !keepsRows ? nil : ComputedRows(plan.projection)
        guard !plan.isOrdered else { return }
        // DISTINCT retains all of its rows until they are sorted, so a limit would save little.
        sorter = Sorter(isDescending, limit: plan.isDistinct ? nil : plan.sortedRowLimit)
    }

    /// Returns the rows of the result; called once after the last row.
    func finish() throws(StoreError) -> ResultRows {
        if let grouper {
            try measure(tallies?.group, meter) { () throws(StoreError) in
                tallies?.group.rowsOut += grouper.count
                try grouper.forEach(frame) { () throws(StoreError) in
                    tallies?.having.rowsOut += 1
                    return try self.addRow()
                }
            }
        }
        try finishDistinct()
        if let sorter {
            self.sorter = nil
            try measure(tallies?.sort, meter) { () throws(StoreError) in
                let rows = sorter.finish()
                for row in rows {
                    tallies?.sort.rowsOut += 1
                    guard try emit(row) else { break }
                }
            }
        }
        computed?.finish()
        if let computed, plan.isOrdered { return .computed(computed) }
        return .items(items)
    }

    /// Counts rows that were not visited.
    func addRows(_ count: Int) {
        grouper?.addRows(count)
        tallies?.group.rowsIn = count
    }

    /// Adds the current row if it matches WHERE; returns false to stop.
    ///
    /// `count` exceeds 1 only if the row is grouped and all aggregates are COUNT(*).
    func addIfMatching(_ count: Int = 1) throws(StoreError) -> Bool {
        if let condition {
            tallies?.filter.rowsIn += 1
            let truth = try measure(tallies?.filter, meter) { () throws(StoreError) in
                try condition(frame)
            }
            guard truth == .yes else { return true }
            tallies?.filter.rowsOut += 1
        }
        guard let grouper else { return try addRow() }
        try measure(tallies?.group, meter) { () throws(StoreError) in
            tallies?.group.rowsIn += 1
            try grouper.add(frame, count)
        }
        return true
    }

    /// Adds a row to the sorter or to the result; returns false to stop.
    private func addRow() throws(StoreError) -> Bool {
        if plan.isDistinct { return try addDistinctRow() }
        guard sorter == nil else { return try sort { () throws(StoreError) in try item() } }
        guard !skips() else { return true }
        if let visitor {
            try show(visitor)
            return plan.limit.map { shown < $0 } ?? true
        }
        guard let computed else { return deliver(try item()) }
        try append(to: computed)
        return plan.limit.map { computed.count < $0 } ?? true
    }

    private func append(to computed: ComputedRows) throws(StoreError) {
        tallies?.projection.rowsIn += 1
        tallies?.projection.rowsOut += 1
        try measure(tallies?.projection, meter) { () throws(StoreError) in
            try computed.append(frame)
        }
    }

    /// Passes a row to the visitor.
    func show(
        _ visitor: (RowContext) throws(StoreError) -> Void
    ) throws(StoreError) {
        shown += 1
        tallies?.projection.rowsIn += 1
        try measure(tallies?.projection, meter) { () throws(StoreError) in try visitor(frame) }
    }

    private func addDistinctRow() throws(StoreError) -> Bool {
        tallies?.projection.rowsIn += 1
        let object = try measure(tallies?.projection, meter) { () throws(StoreError) in
            try plan.projection.object(frame, types)
        }
        // With a limit and no order, distinct rows are emitted immediately.
        guard plan.limit != nil, sorter == nil else {
            var keys: [Value?] = []
            if let first = plan.order.first {
                keys = [try first.evaluator(frame)] + (try furtherKeys())
            }
            distinct.add(object, keys)
            return true
        }
        guard distinct.add(object, []) else { return true }
        tallies?.projection.rowsOut += 1
        return try emit(ResultItem(content: .object(object)))
    }

    /// Emits or sorts the distinct rows.
    private func finishDistinct() throws(StoreError) {
        guard plan.isDistinct, plan.limit == nil || sorter != nil else { return }
        for row in distinct.rows {
            let item = ResultItem(content: .object(row.object))
            tallies?.projection.rowsOut += 1
            if sorter == nil {
                _ = try emit(item)
            } else {
                tallies?.sort.rowsIn += 1
                try sorter?.add(row.keys[0], Array(row.keys.dropFirst())) {
                    () throws(StoreError) in item
                }
            }
        }
    }

    /// Adds the current row to the sorter; returns false if all later rows would follow the last
    /// one that is retained.
    private func sort(_ item: () throws(StoreError) -> ResultItem) throws(StoreError) -> Bool {
        try measure(tallies?.sort, meter) { () throws(StoreError) in
            tallies?.sort.rowsIn += 1
            guard let first = plan.order.first else { return true }
            let key = try first.evaluator(frame)
            guard sorter?.mayTake(key) == true else { return plan.presortedTerms == 0 }
            try sorter?.add(key, try furtherKeys(), item)
            return true
        }
    }

    /// Returns the sort keys of the current row after the first.
    private func furtherKeys() throws(StoreError) -> [Value?] {
        var keys: [Value?] = []
        if furtherTerms.isEmpty { return keys }
        keys.reserveCapacity(furtherTerms.count)
        for evaluator in furtherTerms { keys.append(try evaluator(frame)) }
        return keys
    }

    private func item() throws(StoreError) -> ResultItem {
        if let computed {
            try append(to: computed)
            return ResultItem(content: .computed(computed, number: computed.count - 1))
        }
        tallies?.projection.rowsIn += 1
        tallies?.projection.rowsOut += 1
        if isLazy, frame.rows[0].isLasting, let fields = frame.rows[0].fields,
            let id = frame.rows[0].id, types[0].coverAllFields(of: fields)
        {
            return ResultItem(
                content: .stored(fields: fields, id: id, position: frame.rows[0].position))
        }
        return try measure(tallies?.projection, meter) { () throws(StoreError) in
            ResultItem(content: .object(try plan.projection.object(frame, types)))
        }
    }

    /// Whether OFFSET skips the current row.
    private func skips() -> Bool {
        tallies?.limit.rowsIn += 1
        guard skipped < plan.offset else {
            tallies?.limit.rowsOut += 1
            return false
        }
        skipped += 1
        return true
    }

    /// Appends a row to the result unless OFFSET skips it; returns false at the limit.
    private func emit(_ item: ResultItem) throws(StoreError) -> Bool {
        skips() ? true : deliver(item)
    }

    private func deliver(_ item: ResultItem) -> Bool {
        items.append(item)
        return plan.limit.map { items.count < $0 } ?? true
    }
}
