import SheafBytes
import SheafDocument

/// Description of access paths.
extension PlanDescriber {
    /// Returns the operators of the first source, including the filter on encoded documents.
    func source() -> PlanOperator {
        var found = unnotedSource()
        if !plan.notes.isEmpty {
            found.add("notes", .array(plan.notes.map(Value.string)))
            found.notes += plan.notes
        }
        return found
    }

    private func unnotedSource() -> PlanOperator {
        let source = plan.sources[0]
        let tally = tallies?.access
        if plan.countedRanges != nil { return counting(source, tally) }
        if let groups = plan.countedGroups, tally == nil {
            var found = leaf("countScan", source, groups.index.name, rows: nil, nil)
            found.add("index", .string(groups.index.name))
            found.notes.append("per group")
            return found
        }
        var found = access(
            source.path.access, to: source, filter: plan.requested.filterExpression, tally)
        guard plan.isStraight, !plan.isDistinct else { return found }
        switch source.path.access {
        case .index: found.enter(at: plan.offset, stopAfter: plan.limit)
        case .ids, .documents: found.enter(at: 0, stopAfter: plan.sortedRowLimit)
        default: break
        }
        return found
    }

    /// Returns the operators of the joins, each above the sources it combines.
    func joins(of first: PlanOperator) -> PlanOperator {
        var found = first
        for (number, join) in plan.joins.enumerated() {
            let tally = tallies?.joins[number]
            let (way, inner) = inner(join, tally?.inner)
            let condition = join.expression.description
            var operation = PlanOperator(
                "join", "\(join.kind.rawValue.lowercased()) \(way): \(condition)", [found, inner])
            operation.add("kind", .string(join.kind.rawValue.lowercased()))
            operation.add("inner", .string(way))
            if case .hash(let lookup) = join.lookup {
                operation.add(
                    "hashed", .array(lookup.expressions.map { .string($0.description) }))
            }
            operation.add("condition", .string(condition))
            operation.describe(join.matches)
            operation.measure(tally?.rows)
            found = operation
        }
        return found
    }

    private func inner(_ join: JoinPlan, _ tally: AccessTally?) -> (String, PlanOperator) {
        let source = plan.sources[join.source]
        guard let collection = source.collection else {
            return ("by scan", leaf("scan", source, "", rows: nil, tally))
        }
        switch join.lookup {
        case .id(_, let expression):
            let text = "_id = \(expression.description)"
            return ("by _id", leaf("idScan", source, "", spans: [text], rows: nil, tally))
        case .index(let lookup): return ("by index", self.lookup(lookup, source, tally))
        case .hash(let lookup):
            return (
                "by hash",
                access(lookup.access, to: source, filter: lookup.filterExpression, tally)
            )
        case .scan:
            let rows = count([collection.keys], of: source)
            return ("by scan", leaf("scan", source, "", rows: rows, tally))
        }
    }

    /// Returns the operators of a lookup by the first fields of an index.
    private func lookup(
        _ lookup: IndexLookup, _ source: SourcePlan, _ tally: AccessTally?
    ) -> PlanOperator {
        let index = lookup.index
        let texts = zip(index.fields, lookup.expressions).map { field, expression in
            var printer = Printer()
            printer.write(path: field.path)
            return "\(printer.text) = \(expression.description)"
        }
        var scan = leaf(
            "indexScan", source, index.name, spans: [texts.joined(separator: ", ")], rows: nil,
            nil)
        if let tally {
            let entries = tally.scan.entries
            scan.measure(in: entries, out: entries, nanoseconds: tally.rows.nanoseconds)
            scan.count("entries", entries)
            if lookup.isCovering { scan.count("fetched", 0) }
        }
        scan.add("index", .string(index.name))
        scan.add("covering", .bool(lookup.isCovering))
        guard lookup.isCovering else { return fetch(scan, tally) }
        scan.notes.append("covering")
        return scan
    }

    // MARK: Access paths

    private func access(
        _ access: Access, to source: SourcePlan, filter: Expression?, _ tally: AccessTally?
    ) -> PlanOperator {
        var found: PlanOperator
        switch access {
        case .nothing:
            found = leaf("scan", source, "", spans: [], rows: 0, tally)
            found.notes.append(
                source.collection == nil ? "there is no such collection" : "nothing can match")
        case .virtual, .rows: found = leaf("scan", source, "", rows: nil, tally)
        case .ids(let keys):
            let ids = SpanText.ids(keys, behind: source.collection?.keyPrefix ?? [])
            found = leaf("idScan", source, "", spans: ids, rows: keys.count, tally, filter)
        case .documents(let ranges, let isReversed):
            found = documents(source, ranges, isReversed, tally, filter)
        case .index(let scan):
            let entries = index(scan, source, tally)
            if scan.isCovering { return entries }
            found = fetch(entries, tally, filter)
        case .union(let parts):
            found = PlanOperator("unionScan", "")
            for (number, part) in parts.enumerated() {
                found.children.append(
                    self.access(part, to: source, filter: filter, tally?.children[number]))
            }
            found.measure(tally?.rows)
            return found
        case .intersection(let parts):
            var scans = PlanOperator("intersectScan", "")
            for (number, part) in parts.enumerated() {
                guard case .index(let scan) = part else { continue }
                scans.children.append(index(scan, source, tally?.children[number]))
            }
            if let tally {
                scans.measure(
                    in: tally.rows.rowsIn, out: tally.scan.entries,
                    nanoseconds: tally.rows.nanoseconds)
            }
            found = fetch(scans, tally, filter)
        }
        guard let filter else { return found }
        return Self.filter(found, filter, on: "bytes", tally?.filter)
    }

    private func documents(
        _ source: SourcePlan, _ ranges: [KeyRange], _ isReversed: Bool, _ tally: AccessTally?,
        _ filter: Expression?
    ) -> PlanOperator {
        var scan = leaf(
            "scan", source, "", spans: ids(ranges, source), rows: count(ranges, of: source),
            tally, filter)
        scan.turn(isReversed)
        if tally == nil, source === plan.sources[0], let fields = plan.columnFields(in: store) {
            let names = fields.map { path in
                var printer = Printer()
                printer.write(path: path.names)
                return printer.text
            }
            scan.add("cachedFields", .array(names.map(Value.string)))
            scan.notes.append("\(names.joined(separator: ", ")) in memory")
        }
        return scan
    }

    /// Returns the ranges of ids in ranges of document keys.
    private func ids(_ ranges: [KeyRange], _ source: SourcePlan) -> [String] {
        let id = IndexDescription.Field([Row.idName], isDescending: false)
        let spans = SpanText([id], behind: source.collection?.keyPrefix ?? [])
        return ranges.compactMap(spans.text)
    }

    private func index(
        _ scan: IndexScan, _ source: SourcePlan, _ tally: AccessTally?
    ) -> PlanOperator {
        let spans = SpanText(scan.index)
        var found = leaf(
            "indexScan", source, scan.index.name, spans: scan.ranges.compactMap(spans.text),
            rows: count(scan.ranges, of: source), nil)
        if let tally {
            let entries = tally.scan.entries
            found.measure(in: entries, out: entries, nanoseconds: tally.rows.nanoseconds)
            found.count("entries", entries)
            if scan.isCovering { found.count("fetched", 0) }
        }
        found.add("index", .string(scan.index.name))
        found.add("covering", .bool(scan.isCovering))
        if scan.isCovering { found.notes.append("covering") }
        found.turn(scan.isReversed)
        return found
    }

    private func counting(_ source: SourcePlan, _ tally: AccessTally?) -> PlanOperator {
        let counted = plan.countedRanges ?? ([], [])
        let rows = count(counted.of, of: source) - count(counted.without, of: source)
        var found: PlanOperator
        if case .index(let scan) = source.path.access {
            let spans = SpanText(scan.index)
            found = leaf(
                "countScan", source, scan.index.name, spans: scan.ranges.compactMap(spans.text),
                rows: rows, nil)
            found.add("index", .string(scan.index.name))
        } else {
            found = leaf("countScan", source, "", spans: ids(counted.of, source), rows: rows, nil)
        }
        found.measure(tally?.rows)
        if tally != nil {
            found.count("entries", 0)
            found.count("fetched", 0)
        }
        return found
    }

    private func count(_ ranges: [KeyRange], of source: SourcePlan) -> Int {
        let store = source.past ?? store
        return ranges.reduce(0) { $0 + store.count(in: $1) }
    }

    // MARK: Operators

    /// Returns an operator without children.
    private func leaf(
        _ name: String, _ source: SourcePlan, _ index: String, spans: [String] = [],
        rows: Int?, _ tally: AccessTally?, _ filter: Expression? = nil
    ) -> PlanOperator {
        var printer = Printer()
        printer.write(collection: source.name)
        if let past = source.past { printer.write(" AS OF COMMIT \(past.commit)") }
        if source.alias != source.name, !source.name.hasPrefix("system:") {
            printer.write(" AS ")
            printer.write(name: source.alias)
        }
        var text = index.isEmpty ? printer.text : "\(index) on \(printer.text)"
        if !spans.isEmpty { text += ": " + SpanText.alternatives(spans) }
        var leaf = PlanOperator(name, text, rows: rows)
        leaf.add("collection", .string(source.name))
        if source.alias != source.name { leaf.add("alias", .string(source.alias)) }
        if let past = source.past { leaf.add("commit", .integer(Int64(clamping: past.commit))) }
        if !spans.isEmpty { leaf.add("spans", .array(spans.map(Value.string))) }
        if source.collection?.hasPendingChanges == true {
            leaf.add("pending", true)
            leaf.notes.append("and pending changes")
        }
        guard let tally else { return leaf }
        leaf.measure(
            in: tally.scan.entries, out: Self.given(tally, filter),
            nanoseconds: tally.rows.nanoseconds)
        leaf.count("entries", tally.scan.entries)
        leaf.count("fetched", tally.scan.fetched)
        return leaf
    }

    /// Returns the operator that reads the documents of entries; its time is part of the scan
    /// below.
    private func fetch(
        _ entries: PlanOperator, _ tally: AccessTally?, _ filter: Expression? = nil
    ) -> PlanOperator {
        var fetch = PlanOperator("fetch", "", rows: entries.rows, [entries])
        guard let tally else { return fetch }
        fetch.measure(in: tally.scan.entries, out: Self.given(tally, filter))
        fetch.count("fetched", tally.scan.fetched)
        return fetch
    }

    /// Returns the number of documents passed on, which may be the input of a filter.
    private static func given(_ tally: AccessTally, _ filter: Expression?) -> Int {
        filter == nil ? tally.rows.rowsOut : tally.filter.rowsIn
    }
}

extension PlanOperator {
    /// Adds the matches that each row of a join needs, unless it needs all.
    fileprivate mutating func describe(_ matches: JoinPlan.Matches) {
        switch matches {
        case .all: return
        case .first: notes.append("stops at the first match")
        case .counted: notes.append("counts the matches")
        case .none: notes.append("keeps rows without a match")
        }
        add("matches", .string(matches.rawValue))
    }

    /// Adds the direction of a scan.
    fileprivate mutating func turn(_ isReversed: Bool) {
        add("direction", isReversed ? "backward" : "forward")
        if isReversed { notes.append("backward") }
    }

    /// Adds the offset and limit that the scans at the leaves enforce.
    fileprivate mutating func enter(at offset: Int, stopAfter limit: Int?) {
        guard children.isEmpty else {
            for index in children.indices { children[index].enter(at: offset, stopAfter: limit) }
            return
        }
        if offset > 0 {
            add("offset", .integer(Int64(offset)))
            notes.append("skips \(offset) entries by rank")
        }
        if let limit {
            add("limit", .integer(Int64(limit)))
            notes.append("stops after \(limit) rows")
        }
    }
}
