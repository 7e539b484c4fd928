import SheafBytes
import SheafDocument

/// A planner that chooses the access path to the documents of a collection.
///
/// The tree counts its entries, so the number of entries in a range is exact, not estimated.
struct AccessPlanner {
    let collection: CollectionDescription
    var count: (KeyRange) -> Int
    /// Function that returns the first key in a range, or nil; nil if skip scans are unavailable.
    var firstKey: ((KeyRange) throws(StoreError) -> [UInt8]?)?
    var hints = PlanHints()
    /// The requested order; empty if any order is acceptable.
    var order: [IndexDescription.Field] = []
    /// Whether `order` has all terms of ORDER BY.
    var isOrderComplete = true
    var limit: Int?
    /// Number of documents of the source that a row of the result probably takes.
    var documentsPerRow = 1.0
    /// Paths of the fields that the statement reads; nil if no index can cover it.
    var neededPaths: [[String]]?

    /// Cost of looking up the document of an entry, relative to the next document of a scan.
    private static let fetchCost = 3.0
    private static let entryCost = 0.7
    private static let sortCost = 0.4
    /// A guess of the rows with equal first terms of the order.
    private static let equalRows = 8.0
    /// Minimum cost of the best other path for skip scans to be considered.
    private static let minimumSkipScanCost = 2_000.0
    /// Maximum number of values of the first field that a skip scan reads.
    private static let maximumSkippedValues = 32

    /// Order of documents, and of index entries with equal fields.
    static let idOrder = IndexDescription.Field([Row.idName], isDescending: false)

    /// Returns the cheapest access path for a condition; the hints may force another one.
    func path(to condition: Condition) -> AccessPath {
        if case .never = condition { return .nothing }
        var best = scan(condition)
        var bestCost = cost(of: best)
        for candidate in candidates(for: condition) {
            let cost = cost(of: candidate)
            let isForced = hints.forces(candidate.access)
            if isForced != hints.forces(best.access) ? isForced : cost < bestCost {
                (best, bestCost) = (candidate, cost)
            }
        }
        guard bestCost > Self.minimumSkipScanCost, !hints.disablesIndexes, hints.indexes.isEmpty
        else { return best }
        for candidate in skipScans(for: condition) where cost(of: candidate) < bestCost {
            (best, bestCost) = (candidate, cost(of: candidate))
        }
        return best
    }

    /// Returns skip scans: index paths that restrict the second field for each value of the first.
    private func skipScans(for condition: Condition) -> [AccessPath] {
        let conditions = if case .all(let all) = condition { all } else { [condition] }
        var others: [Condition] = []
        let fields = FieldSets(conditions, others: &others)
        guard !fields.isEmpty, !collection.hasPendingChanges, let firstKey else { return [] }
        return collection.indexes.compactMap { (index) -> AccessPath? in
            guard index.isRegular, index.fields.count > 1,
                fields.set(of: index.fields[0].path) == nil,
                fields.set(of: index.fields[1].path)?.isAll == false,
                let values = try? firstValues(of: index, firstKey)
            else { return nil }
            let spans = IndexSpans(
                index, fields, limit: hints.maximumRanges, behind: values, skipping: 1)
            guard !spans.usedPaths.isEmpty else { return nil }
            var scan = IndexScan(index, spans.ranges)
            scan.isCovering = covers(index)
            return AccessPath(
                access: .index(scan),
                count: spans.ranges.reduce(values.count) { $0 + count($1) },
                isExact: others.isEmpty && fields.isExact(using: spans.usedPaths),
                isOrdered: order.isEmpty, isSkipScan: true)
        }
    }

    /// Returns the prefixes of the entries with each value of the first field; nil if there are
    /// many.
    private func firstValues(
        of index: IndexDescription, _ firstKey: (KeyRange) throws(StoreError) -> [UInt8]?
    ) throws(StoreError) -> [[UInt8]]? {
        let all = KeyRange.prefix(index.keyPrefix)
        var (values, rest): ([[UInt8]], KeyRange) = ([], all)
        while let key = try firstKey(rest) {
            let length = key.span.withUnsafeBytes { key in
                try? SortKeyReader.length(
                    UnsafeRawBufferPointer(rebasing: key.dropFirst(index.keyPrefix.count)),
                    descending: [index.fields[0].isDescending])
            }
            guard let length, values.count < Self.maximumSkippedValues else { return nil }
            let value = Array(key.prefix(index.keyPrefix.count + length))
            values.append(value)
            guard let end = KeyRange.prefix(value).upper else { break }
            rest = KeyRange(from: end, to: all.upper)
        }
        return values
    }

    func scan(_ condition: Condition) -> AccessPath {
        var isExact = false
        if case .always = condition { isExact = true }
        return ordered(
            AccessPath(
                access: .documents([collection.keys], isReversed: false),
                count: count(collection.keys), isExact: isExact),
            fields: [Self.idOrder], fixed: [])
    }

    /// Returns a path of the same kind as `access` for a conjunction; nil if there is none.
    func path(like access: Access, _ conditions: [Condition]) -> AccessPath? {
        var others: [Condition] = []
        let fields = FieldSets(conditions, others: &others)
        guard !fields.isEmpty else { return nil }
        switch access {
        case .ids:
            guard let path = primary(fields, isRestExact: others.isEmpty), case .ids = path.access
            else { return nil }
            return path
        case .documents:
            guard let path = primary(fields, isRestExact: others.isEmpty) else {
                return scan(conditions.isEmpty ? .always : .anything)
            }
            if case .documents = path.access { return path }
            return nil
        case .index(let scan):
            return path(scan.index, fields, isRestExact: others.isEmpty)
        default: return nil
        }
    }

    private func cost(of path: AccessPath) -> Double {
        var visited = Double(path.count)
        if let limit, path.isOrdered, !order.isEmpty || path.isExact {
            // After a filter, the number of documents to visit is unknown; half of them is a
            // guess.
            visited =
                path.isExact ? min(visited, Double(limit) * documentsPerRow) : visited / 2
        } else if let limit, path.presortedTerms > 0 {
            // Rows with equal first terms as the last one are visited as well.
            let first = Double(limit) * documentsPerRow * Self.equalRows
            visited = path.isExact ? min(visited, first) : visited / 2
        }
        let each =
            switch path.access {
            case .documents, .virtual, .rows, .nothing: 1.0
            case .index(let scan): scan.isCovering ? Self.entryCost : Self.fetchCost
            case .ids, .union, .intersection: Self.fetchCost
            }
        var sorted = order.isEmpty || path.isOrdered ? 0 : visited * Self.sortCost
        if hints.prefersOrder, isOrderComplete, !path.isOrdered { sorted = .infinity }
        return visited * each + Double(path.comparedCount) * Self.entryCost + sorted
    }

    // MARK: Candidates

    func candidates(for condition: Condition) -> [AccessPath] {
        switch condition {
        case .all(let conditions): return candidates(forAll: conditions)
        case .any(let conditions): return union(of: conditions).map { [$0] } ?? []
        default: return candidates(forAll: [condition])
        }
    }

    private func candidates(forAll conditions: [Condition]) -> [AccessPath] {
        var others: [Condition] = []
        let fields = FieldSets(conditions, others: &others)
        if fields.isEmpty { return [.nothing] }
        let isRestExact = others.isEmpty
        var found: [AccessPath] = []
        if let path = primary(fields, isRestExact: isRestExact) { found.append(path) }
        guard !hints.disablesIndexes else { return found }
        for index in collection.indexes {
            if let path = self.path(index, fields, isRestExact: isRestExact) { found.append(path) }
        }
        if let path = intersection(of: found) { found.append(path) }
        for case .any(let branches) in others {
            guard var path = union(of: branches) else { continue }
            path.isExact = false
            found.append(path)
        }
        return found
    }

    /// Returns the path by document keys, or nil if the condition does not restrict `_id`.
    private func primary(_ fields: FieldSets, isRestExact: Bool) -> AccessPath? {
        guard let set = fields.set(of: [Row.idName]) else { return nil }
        let isExact = isRestExact && fields.isExact(using: [[Row.idName]])
        let ranges = set.ranges.map { $0.keys(behind: collection.keyPrefix, isDescending: false) }
        if set.isPoints {
            let keys = set.ranges.map { collection.keyPrefix + $0.lower.bytes }
            return ordered(
                AccessPath(access: .ids(keys), count: keys.count, isExact: isExact),
                fields: [Self.idOrder],
                fixed: set.ranges.count == 1 ? [[Row.idName]] : [])
        }
        return ordered(
            AccessPath(
                access: .documents(KeyRange.union(ranges), isReversed: false),
                count: ranges.reduce(0) { $0 + count($1) }, isExact: isExact),
            fields: [Self.idOrder], fixed: [])
    }

    private func path(
        _ index: IndexDescription, _ fields: FieldSets, isRestExact: Bool
    ) -> AccessPath? {
        let spans = IndexSpans(index, fields, limit: hints.maximumRanges)
        let isWanted = !order.isEmpty || neededPaths != nil
        guard !spans.usedPaths.isEmpty || isWanted else { return nil }
        let isExact =
            isRestExact && index.isRegular && fields.isExact(using: spans.usedPaths)
        // Documents with truncated long values may match as well.
        let ranges = spans.ranges + (index.irregularKeys.map { [$0] } ?? [])
        var scan = IndexScan(index, ranges)
        scan.isCovering = covers(index)
        let path = ordered(
            AccessPath(
                access: .index(scan), count: ranges.reduce(0) { $0 + count($1) },
                isExact: isExact),
            fields: index.fields + [Self.idOrder], fixed: spans.fixedPaths)
        let isUseful =
            !spans.usedPaths.isEmpty || path.isOrdered && !order.isEmpty || path.presortedTerms > 0
        return isUseful || scan.isCovering ? path : nil
    }

    private func covers(_ index: IndexDescription) -> Bool {
        guard let neededPaths, index.isRegular, !collection.hasPendingChanges else { return false }
        return neededPaths.allSatisfy { path in
            path == [Row.idName] || index.fields.contains { $0.path.isSpelled(path) }
        }
    }

    // MARK: Combinations

    private func union(of conditions: [Condition]) -> AccessPath? {
        guard !conditions.isEmpty else { return .nothing }
        guard !hints.disablesIndexes, conditions.count <= hints.maximumScans else { return nil }
        var planner = self
        planner.order = []
        planner.neededPaths = nil
        planner.limit = nil
        var paths: [AccessPath] = []
        for condition in conditions {
            let candidates = planner.candidates(for: condition)
            guard let best = candidates.min(by: { planner.cost(of: $0) < planner.cost(of: $1) })
            else { return nil }
            if case .nothing = best.access { continue }
            paths.append(best)
        }
        guard paths.count > 1 else {
            return paths.first.map { ordered($0, fields: [], fixed: []) } ?? .nothing
        }
        if let merged = merge(paths) { return merged }
        return AccessPath(
            access: .union(paths.map(\.access)), count: paths.reduce(0) { $0 + $1.count },
            isExact: paths.allSatisfy(\.isExact), isOrdered: order.isEmpty)
    }

    /// Merges scans of one index or lists of ids; returns nil for other combinations.
    private func merge(_ paths: [AccessPath]) -> AccessPath? {
        let isExact = paths.allSatisfy(\.isExact)
        var ranges: [KeyRange] = []
        var keys: Set<[UInt8]> = []
        var index: IndexDescription?
        for path in paths {
            switch path.access {
            case .ids(let found) where ranges.isEmpty: keys.formUnion(found)
            case .index(let scan)
            where keys.isEmpty && (index?.name ?? scan.index.name).isSpelled(scan.index.name):
                index = scan.index
                ranges += scan.ranges
            default: return nil
            }
        }
        if let index {
            let merged = KeyRange.union(ranges)
            var scan = IndexScan(index, merged)
            scan.isCovering = covers(index)
            return ordered(
                AccessPath(
                    access: .index(scan), count: merged.reduce(0) { $0 + count($1) },
                    isExact: isExact),
                fields: index.fields + [Self.idOrder], fixed: [])
        }
        let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
        return ordered(
            AccessPath(access: .ids(sorted), count: sorted.count, isExact: isExact),
            fields: [Self.idOrder], fixed: [])
    }

    /// Returns the intersection of the two smallest index scans; nil unless both are large or a
    /// hint demands it.
    private func intersection(of paths: [AccessPath]) -> AccessPath? {
        guard !collection.hasPendingChanges, collection.indexes.count > 1 else { return nil }
        let scans = paths.filter {
            if case .index(let scan) = $0.access { return !scan.isCovering && !$0.isExact }
            return false
        }.sorted { $0.count < $1.count }
        guard scans.count > 1, hints.intersects ?? (scans[0].count > 1_000) else { return nil }
        return AccessPath(
            access: .intersection(scans.prefix(2).map(\.access)), count: scans[0].count / 3,
            isExact: false, isOrdered: order.isEmpty,
            comparedCount: scans[0].count + scans[1].count)
    }

    // MARK: Order

    /// Marks a path as ordered, reversing it if necessary, if it can provide the requested order.
    private func ordered(
        _ path: AccessPath, fields: [IndexDescription.Field], fixed: [[String]]
    ) -> AccessPath {
        var path = path
        guard !order.isEmpty else {
            path.isOrdered = true
            return path
        }
        path.isOrdered = false
        guard !collection.hasPendingChanges else { return path }
        let (count, direction) = Self.direction(of: order, in: fields, fixed: fixed)
        let isReversed = direction ?? false
        path.isOrdered = isOrderComplete && count == order.count
        // Without a limit, the beginning of an order saves nothing.
        guard path.isOrdered || limit != nil && direction != nil else { return path }
        switch path.access {
        case .documents(let ranges, _): path.access = .documents(ranges, isReversed: isReversed)
        case .index(var scan):
            guard scan.index.isRegular else {
                path.isOrdered = false
                return path
            }
            scan.isReversed = isReversed
            path.access = .index(scan)
        case .ids(let keys): path.access = .ids(isReversed ? keys.reversed() : keys)
        default:
            path.isOrdered = false
            return path
        }
        if !path.isOrdered { path.presortedTerms = count }
        return path
    }

    /// Returns the number of first terms of an order that a scan provides, and whether it must be
    /// reversed for that; nil if the terms have fixed values.
    private static func direction(
        of order: [IndexDescription.Field], in fields: [IndexDescription.Field],
        fixed: [[String]]
    ) -> (count: Int, isReversed: Bool?) {
        var isReversed: Bool?
        var rest = fields[...]
        for (count, term) in order.enumerated() where !fixed.hasSpelling(term.path) {
            while let first = rest.first, fixed.hasSpelling(first.path),
                !first.path.isSpelled(term.path)
            {
                rest.removeFirst()
            }
            let turns = rest.first?.isDescending != term.isDescending
            guard let first = rest.popFirst(), first.path.isSpelled(term.path),
                isReversed ?? turns == turns
            else { return (count, isReversed) }
            isReversed = turns
        }
        return (order.count, isReversed)
    }
}
