import SheafBytes
import SheafDocument

/// Runs a plan of a SELECT, and gathers its rows.
final class SelectRun {
    private let plan: SelectPlan
    private let store: any QueryStore
    private let frame: Frame
    private let collector: RowCollector
    /// What the operators have done, where somebody measures that.
    let tallies: PlanTallies?
    private let meter: Meter?

    /// Whether no more rows are wanted.
    @exclusivity(unchecked) private var isFinished = false
    /// The rows of right joins that have found no partner, by the number of the join.
    private var matched: [Int: Set<UInt64>] = [:]

    init(_ plan: SelectPlan, _ environment: PlanEnvironment, clock: (() -> UInt64)? = nil) {
        self.plan = plan
        store = environment.store
        frame = Frame(
            sourceCount: plan.sources.count, variableCount: plan.variableCount,
            names: environment.store.names, context: environment.context)
        let tallies = clock.map { PlanTallies(plan, $0) }
        self.tallies = tallies
        meter = tallies?.meter
        collector = RowCollector(plan, frame, tallies)
    }

    /// The rows of the result.
    func run() throws(QueryError) -> [ResultItem] {
        if plan.limit == 0 { return [] }
        if let counted = plan.countedRanges {
            try measure(tallies?.access.rows, meter) { () throws(QueryError) in count(counted) }
        } else {
            try visitRows()
        }
        return try collector.finish()
    }

    private func count(_ ranges: (of: [KeyRange], without: [KeyRange])) {
        let count = ranges.of.reduce(0) { $0 + store.count(in: $1) }
        let without = ranges.without.reduce(0) { $0 + store.count(in: $1) }
        collector.addRows(count - without)
        tallies?.access.rows.rowsOut = count - without
    }

    /// Shows each row of the result by the frame, where nothing has to be sorted or grouped; and
    /// where it has, all rows are gathered first.
    func forEach(_ body: @escaping (Frame) throws(QueryError) -> Void) throws(QueryError) {
        collector.visitor = body
        if plan.isOrdered {
            _ = try run()
            return
        }
        // Sorted rows are read once more, by their ids.
        let keys = try sortedKeys()
        let access = AccessRun(store, plan.sources[0].collection)
        try access.run(.ids(keys), tallies?.second) { (row, _) throws(QueryError) in
            frame.rows[0] = row
            try collector.show(body)
            return true
        }
    }

    /// The keys of the documents of the result, in order.
    private func sortedKeys() throws(QueryError) -> [[UInt8]] {
        guard let prefix = plan.sources[0].collection?.keyPrefix else { return [] }
        collector.visitor = nil
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
        access.isExhaustive = plan.takesAllRows
        if plan.skipsByRank { collector.skipped = plan.offset }
        if tallies == nil { access.takeDocuments = takeDocuments() }
        try access.run(
            plan.sources[0].path.access, tallies?.access, filter: plan.filter,
            skipping: collector.skipped
        ) { (row, _) throws(QueryError) in
            frame.rows[0] = row
            isFinished = try !join(0)
            return !isFinished
        }
        try visitUnmatched()
    }

    /// What takes in documents of the first source some at a time, where there is something.
    private func takeDocuments() -> ((ScannedDocuments) throws(QueryError) -> Int?)? {
        guard let join = plan.joins.first else {
            return { [collector] (documents) throws(QueryError) in try collector.pass(documents) }
        }
        guard join.kind == .inner, case .id(let evaluator, _) = join.lookup,
            let prefix = plan.sources[join.source].collection?.keyPrefix
        else { return nil }
        return { [unowned self] (documents) throws(QueryError) in
            try self.join(documents, join, evaluator, prefix)
        }
    }

    /// Finds the partners of documents by their ids, all at once: memory does not answer for one after
    /// the other then.
    private func join(
        _ documents: ScannedDocuments, _ join: JoinPlan, _ evaluator: Evaluator,
        _ prefix: [UInt8]
    ) throws(QueryError) -> Int? {
        var keys: [[UInt8]] = []
        var rows: [(number: Int, isFound: Bool)] = []
        keys.reserveCapacity(documents.count)
        rows.reserveCapacity(documents.count)
        for number in 0..<documents.count {
            frame.rows[0] = Row(documents[number])
            guard let value = try evaluator(frame), value != .null else { continue }
            keys.append(SortKey.identity(of: value, behind: prefix))
            rows.append((number, value.isFoundByKey))
        }
        var stop: Int?
        try store.read(keys) { (index, document) throws(QueryError) in
            let (number, isFound) = rows[index]
            frame.rows[0] = Row(documents[number])
            frame.rows[join.source] = Row(document)
            if let left = isFound ? join.rest : join.condition {
                guard try left(frame) == .yes else { return true }
            }
            isFinished = try !self.join(1)
            if isFinished { stop = number + 1 }
            return !isFinished
        }
        return stop
    }

    /// Finds the partners of the rows that the frame shows, from a join on; false to stop.
    private func join(_ number: Int) throws(QueryError) -> Bool {
        guard number < plan.joins.count else { return try collector.pass() }
        let join = plan.joins[number]
        let tally = tallies?.joins[number]
        tally?.rows.rowsIn += 1
        var goesOn = true
        var hasPartner = false
        try measure(tally?.rows, meter) { () throws(QueryError) in
            try visitPartners(join, tally?.inner) { (row, place, isFound) throws(QueryError) in
                frame.rows[join.source] = row
                if let left = isFound ? join.rest : join.condition {
                    guard try left(frame) == .yes else { return true }
                }
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

    /// Visits the rows that may belong to those that the frame shows; `isFound` says that their ids are
    /// what the condition wants them to be.
    private func visitPartners(
        _ join: JoinPlan, _ tally: AccessTally?,
        _ body: (Row, _ place: UInt64, _ isFound: Bool) throws(QueryError) -> Bool
    ) throws(QueryError) {
        let visit: AccessRun.Visitor = { (row, place) throws(QueryError) in
            try body(row, place, false)
        }
        let source = plan.sources[join.source]
        guard let collection = source.collection else {
            guard source.name.hasPrefix("system:") else { return }
            let run = AccessRun(store, nil)
            return try run.run(.virtual(String(source.name.dropFirst(7))), tally, visit)
        }
        let run = AccessRun(store, collection)
        switch join.lookup {
        case .id(let evaluator, _):
            // The id of what is equal: 1.0 is no id, and equal to one.
            guard let value = try evaluator(frame), value != .null else { return }
            let key = SortKey.identity(of: value, behind: collection.keyPrefix)
            if tally != nil { return try run.run(.ids([key]), tally, visit) }
            try store.read(key) { (document) throws(QueryError) in
                _ = try body(Row(document), document.place, value.isFoundByKey)
            }
        case .index(let index, let evaluator, _):
            guard let value = try evaluator(frame), value != .null else { return }
            let range = ComponentRange.only(value).keys(
                behind: index.keyPrefix, isDescending: index.fields[0].isDescending)
            // What long values have made irregular may have this one.
            let irregular = index.irregularKeys.map { [$0] } ?? []
            try run.run(.index(IndexScan(index, [range] + irregular)), tally, visit)
        case .scan:
            try run.run(.documents([collection.keys], isReversed: false), tally, visit)
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
}

extension Value {
    /// Whether what has the same key as an id is equal, and nothing else is.
    fileprivate var isFoundByKey: Bool { kind == .string || kind == .number }
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
