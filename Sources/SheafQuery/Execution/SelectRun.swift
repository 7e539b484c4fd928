import SheafBytes
import SheafDocument

/// A run of the plan of a SELECT.
final class SelectRun {
    let plan: SelectPlan
    /// The state that sources without AS OF read.
    let store: any QueryStore
    let frame: RowContext
    let collector: RowCollector
    /// Counters of the operators; nil unless the statement is profiled.
    let tallies: PlanTallies?
    private let meter: Meter?

    /// The conditions by the number of joins before them; empty if all follow the last join.
    private let stages: [Predicate?]

    /// Whether the limit has been reached.
    @exclusivity(unchecked) private var isFinished = false
    /// Record pointers of the rows of right joins that found a partner, by the number of the join.
    private var matched: [Int: Set<UInt64>] = [:]
    /// Rows of the joined system collections by the number of the source, read once because they
    /// may change during the run.
    var systemRows: [Int: [Object]] = [:]
    /// Rows of the first source, if the first join looks up many at a time.
    private let waiting: WaitingRows?
    /// The searches for partners that are not profiled, by the number of the join.
    @exclusivity(unchecked) private var searches: [PartnerSearch?] = []
    /// The hash tables, by the number of the join.
    @exclusivity(unchecked) private var hashJoins: [HashJoin?] = []

    init(_ plan: SelectPlan, _ environment: PlanEnvironment, clock: (() -> UInt64)? = nil) {
        self.plan = plan
        store = environment.store
        frame = RowContext(
            sourceCount: plan.sources.count, variableCount: plan.variableCount,
            names: environment.store.names, context: environment.context,
            arguments: environment.arguments)
        let tallies = clock.map { PlanTallies(plan, $0) }
        self.tallies = tallies
        meter = tallies?.meter
        stages = tallies == nil ? plan.requested.stages : []
        collector = RowCollector(plan, frame, tallies)
        waiting = tallies == nil ? WaitingRows(plan) : nil
        searches = plan.joins.map { join in
            guard tallies == nil else { return nil }
            let source = plan.sources[join.source]
            return PartnerSearch.search(join, source, in: store(of: join.source))
        }
        hashJoins = plan.joins.enumerated().map { number, join in
            guard case .hash(let lookup) = join.lookup else { return nil }
            let source = plan.sources[join.source]
            var access = AccessRun(store(of: join.source), source.collection)
            access.isOrderFree = true
            access.isExhaustive = true
            return HashJoin(
                join, lookup, source, access, frame, tallies?.joins[number].inner,
                maximumBytes: environment.maximumHashBytes)
        }
    }

    /// Returns the rows of the result.
    func run() throws(StoreError) -> ResultRows {
        if plan.limit == 0 { return .items([]) }
        if let counted = plan.countedRanges {
            try measure(tallies?.access.rows, meter) { () throws(StoreError) in count(counted) }
        } else if tallies == nil, let groups = try plan.countedGroups?.sizes(in: store(of: 0)) {
            collector.grouper?.add(groups)
        } else {
            try visitRows()
        }
        return try collector.finish()
    }

    func store(of source: Int) -> any QueryStore { plan.sources[source].past ?? store }

    private func count(_ ranges: (of: [KeyRange], without: [KeyRange])) {
        let store = store(of: 0)
        let count = ranges.of.reduce(0) { $0 + store.count(in: $1) }
        let without = ranges.without.reduce(0) { $0 + store.count(in: $1) }
        collector.addRows(count - without)
        tallies?.access.rows.rowsOut = count - without
    }

    /// Calls `body` with each row of the result in the row context.
    ///
    /// Sorted results are collected first and then read again.
    func forEach(_ body: @escaping (RowContext) throws(StoreError) -> Void) throws(StoreError) {
        collector.visitor = body
        if plan.isOrdered {
            _ = try run()
            return
        }
        // Sorting keeps only ids, so the documents are read again.
        let keys = try sortedKeys()
        let access = AccessRun(store(of: 0), plan.sources[0].collection)
        try access.run(.ids(keys), tallies?.second) { (row, _) throws(StoreError) in
            frame.rows[0] = row
            try collector.show(body)
            return true
        }
    }

    /// Returns the keys of the documents in the result, in order.
    private func sortedKeys() throws(StoreError) -> [[UInt8]] {
        guard let prefix = plan.sources[0].collection?.keyPrefix else { return [] }
        collector.visitor = nil
        var keys: [[UInt8]] = []
        for item in try run().items {
            guard let id = try item.value(of: Row.idName, frame.names),
                let key = try? DocumentID.key(of: id)
            else { continue }
            keys.append(prefix + key)
        }
        return keys
    }

    private func visitRows() throws(StoreError) {
        var access = AccessRun(store(of: 0), plan.sources[0].collection)
        access.isOrderFree = plan.allowsAnyOrder
        // The rows of a sequential beginning bound the rest of a sorted scan.
        access.isExhaustive = plan.visitsAllRows && collector.sortFilter == nil
        if plan.skipsByRank { collector.skipped = plan.offset }
        if tallies == nil { access.consumeDocuments = documentConsumer() }
        if try groupEntries() { return }
        let columnScan = columnScan()
        repeat {
            if try columnScan.map(scan) != true {
                try access.run(
                    plan.sources[0].path.access, tallies?.access, filter: scanFilter,
                    skipping: plan.skipsByRank ? plan.offset : 0
                ) { (row, _) throws(StoreError) in
                    frame.rows[0] = row
                    isFinished = try !join(0)
                    return !isFinished
                }
            }
            if let waiting, !isFinished { _ = try joinWaiting(waiting) }
        } while !isFinished && advance(from: 0)
        try visitUnmatched()
    }

    /// Turns to the next pass of the hash tables of the joins from `number` on.
    ///
    /// Returns false after the last pass, with the first one as the next.
    private func advance(from number: Int) -> Bool {
        for table in hashJoins.dropFirst(number).reversed() {
            guard let table else { continue }
            if table.advance() { return true }
            table.restart()
        }
        return false
    }

    /// The filter on encoded documents; unless it is profiled, also that of sorting.
    var scanFilter: FieldFilter? {
        guard tallies == nil, plan.joins.isEmpty, let sorted = collector.sortFilter?.filter else {
            return plan.filter
        }
        switch plan.sources[0].path.access {
        case .documents: return plan.filter.map { .all([$0, sorted]) } ?? sorted
        default: return plan.filter
        }
    }

    /// Returns a consumer for batches of documents; nil if the first join needs single rows.
    func documentConsumer() -> ((ScannedDocuments) throws(StoreError) -> Int?)? {
        guard !plan.joins.isEmpty else {
            return { [collector] (documents) throws(StoreError) in try collector.add(documents) }
        }
        guard let waiting else { return nil }
        return { [unowned self] (documents) throws(StoreError) in
            try self.add(documents, to: waiting)
        }
    }

    /// Joins documents one after the other.
    ///
    /// Returns the number of documents after which the scan stops, or nil to continue.
    func visit(_ documents: ScannedDocuments) throws(StoreError) -> Int? {
        for number in 0..<documents.count {
            frame.rows[0] = Row(documents[number])
            isFinished = try !join(0)
            guard !isFinished else { return number + 1 }
        }
        return nil
    }

    /// Adds a batch of documents to the waiting rows, and joins these whenever they are enough.
    ///
    /// Returns the number of documents after which the scan stops, or nil to continue.
    private func add(
        _ documents: ScannedDocuments, to waiting: WaitingRows
    ) throws(StoreError) -> Int? {
        for number in 0..<documents.count {
            let document = documents[number]
            if !document.isLasting {
                // The bytes are valid during this call only, and the order of rows is kept.
                guard try joinWaiting(waiting) else { return number + 1 }
            }
            frame.rows[0] = Row(document)
            if document.isLasting {
                guard try mayMatch(before: 0) else { continue }
                try waiting.add(document, frame)
                if waiting.isFull {
                    guard try joinWaiting(waiting) else { return number + 1 }
                }
            } else {
                isFinished = try !join(0)
                guard !isFinished else { return number + 1 }
            }
        }
        return nil
    }

    /// Joins the waiting rows with their partners; returns false to stop.
    private func joinWaiting(_ waiting: WaitingRows) throws(StoreError) -> Bool {
        let join = waiting.join
        /// The first row that has not been joined.
        var next = 0
        func keepUnmatched(before end: Int) throws(StoreError) {
            guard join.kind == .left else { return }
            while next < end, !isFinished {
                frame.rows[0] = Row(waiting.documents[next])
                frame.rows[join.source] = Row()
                next += 1
                isFinished = try !self.join(1)
            }
        }
        try store(of: join.source).read(waiting.keys) { (number, document) throws(StoreError) in
            let (row, isFound) = waiting.lookups[number]
            try keepUnmatched(before: row)
            guard !isFinished else { return false }
            frame.rows[0] = Row(waiting.documents[row])
            frame.rows[join.source] = Row(document)
            if let left = isFound ? join.residualPredicate : join.condition {
                guard try left(frame) == .yes else { return true }
            }
            next = row + 1
            guard join.matches != .none else { return true }
            isFinished = try !self.join(1)
            return !isFinished
        }
        try keepUnmatched(before: waiting.documents.count)
        waiting.removeAll()
        return !isFinished
    }

    /// Whether the current row satisfies the conditions that precede a join.
    private func mayMatch(before join: Int) throws(StoreError) -> Bool {
        guard join < stages.count, let stage = stages[join] else { return true }
        return try stage(frame) == .yes
    }

    /// Extends the current rows by the joins from `number` on; returns false to stop.
    private func join(_ number: Int) throws(StoreError) -> Bool {
        guard number < plan.joins.count else { return try collector.addIfMatching() }
        guard try mayMatch(before: number) else { return true }
        let join = plan.joins[number]
        if join.matches == .counted, let count = try searches[number]?.count(frame) {
            return count == 0 ? true : try collector.addIfMatching(count)
        }
        let tally = tallies?.joins[number]
        tally?.rows.rowsIn += 1
        var continues = true
        var hasPartner = false
        var isVisited = true
        try measure(tally?.rows, meter) { () throws(StoreError) in
            isVisited = try visitPartners(number, tally?.inner) {
                (row, pointer, isFound) throws(StoreError) in
                frame.rows[join.source] = row
                if let left = isFound ? join.residualPredicate : join.condition {
                    guard try left(frame) == .yes else { return true }
                }
                hasPartner = true
                guard join.matches != .none else { return false }
                if join.kind == .right { matched[number, default: []].insert(pointer) }
                tally?.rows.rowsOut += 1
                continues = try self.join(number + 1)
                return continues && join.matches != .first
            }
        }
        guard continues, isVisited, !hasPartner, join.kind == .left else { return continues }
        frame.rows[join.source] = Row()
        tally?.rows.rowsOut += 1
        return try self.join(number + 1)
    }

    /// Visits candidate partners of the current rows; returns false if they belong to another pass.
    ///
    /// `isFound` is true if the lookup already satisfies the equalities of the join condition.
    private func visitPartners(
        _ number: Int, _ tally: AccessTally?,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        if let table = hashJoins[number] { return try table.visit(body) }
        if let search = searches[number] {
            try search.visit(frame, body)
            return true
        }
        try visitPartners(plan.joins[number], tally, body)
        return true
    }

    private func visitPartners(
        _ join: JoinPlan, _ tally: AccessTally?,
        _ body: (Row, _ position: UInt64, _ isFound: Bool) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let visit: AccessRun.Visitor = { (row, pointer) throws(StoreError) in
            try body(row, pointer, false)
        }
        let source = plan.sources[join.source]
        guard let collection = source.collection else {
            return try AccessRun(store, nil).run(try allRows(of: join.source), tally, visit)
        }
        let store = store(of: join.source)
        switch join.lookup {
        case .id(let evaluator, _):
            guard let value = try evaluator(frame), value.kind != .null else { return }
            let key = SortKey.identity(of: value, behind: collection.keyPrefix)
            try AccessRun(store, collection).run(.ids([key]), tally, visit)
        case .index(let lookup):
            guard let (ranges, isFound) = try lookup.ranges(frame) else { return }
            var scan = IndexScan(lookup.index, ranges)
            scan.isCovering = lookup.isCovering
            try AccessRun(store, collection).run(.index(scan), tally) {
                (row, pointer) throws(StoreError) in
                try body(row, pointer, isFound)
            }
        case .scan, .hash:
            try AccessRun(store, collection).run(try allRows(of: join.source), tally, visit)
        }
    }

    /// Adds the rows of right joins that found no partner.
    private func visitUnmatched() throws(StoreError) {
        for (number, join) in plan.joins.enumerated() where join.kind == .right && !isFinished {
            for index in 0..<join.source { frame.rows[index] = Row() }
            let found = matched[number] ?? []
            let tally = tallies?.joins[number]
            let access = try allRows(of: join.source)
            let run = AccessRun(store(of: join.source), plan.sources[join.source].collection)
            repeat {
                try run.run(access, tally?.inner) { (row, pointer) throws(StoreError) in
                    guard !found.contains(pointer) else { return true }
                    frame.rows[join.source] = row
                    tally?.rows.rowsOut += 1
                    isFinished = try !self.join(number + 1)
                    return !isFinished
                }
            } while !isFinished && advance(from: number + 1)
        }
    }
}
