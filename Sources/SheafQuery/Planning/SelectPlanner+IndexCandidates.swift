import SheafBytes
import SheafDocument

/// The properties of a SELECT that an index could serve.
struct IndexCandidates {
    /// The condition on the first source.
    var condition = Condition.always
    /// The requested order of the first source.
    var order: [IndexDescription.Field] = []
    var hasLimit = false
    /// Paths of all fields read by a grouped statement, group keys first; nil if not grouped.
    var grouped: [[String]]?
    /// The fields of each joined source by which rows could be found.
    var joined: [(source: Source, paths: [[String]])] = []
}

extension SelectPlanner {
    /// Returns the properties that an index could serve, without planning the statement.
    func candidates() throws(StoreError) -> IndexCandidates {
        for source in [select.source] + select.joins.map(\.source) {
            try compiler.scope.add(source, isStrict: environment.isStrict)
        }
        let isGrouped = try checkGrouping()
        var candidates = IndexCandidates()
        for (number, join) in select.joins.enumerated() where join.source.index == nil {
            candidates.joined.append((join.source, try pathsFound(by: join, number + 1)))
        }
        // A right join adds rows without a first source.
        guard select.source.ids == nil, !select.joins.contains(where: { $0.kind == .right }) else {
            candidates.condition = .anything
            return candidates
        }
        if let condition = select.condition {
            candidates.condition = try ConditionReader(compiler: compiler, source: 0).read(
                condition)
        }
        candidates.order = try requestedOrder(isGrouped: isGrouped) ?? []
        candidates.hasLimit = select.ordering.limit != nil && !select.isDistinct
        if isGrouped, let needed = try neededPaths() {
            var paths: [[String]] = []
            for group in select.groups {
                if let path = try path(of: group, in: 0) { paths.append(path) }
            }
            for path in needed where !paths.hasSpelling(path) { paths.append(path) }
            candidates.grouped = paths.filter { $0 != [Row.idName] }
        }
        return candidates
    }

    /// Returns the fields of a source that a join compares with preceding rows.
    ///
    /// The result is empty if the rows are found by id.
    private func pathsFound(by join: JoinClause, _ source: Int) throws(StoreError) -> [[String]] {
        let paths = try equalities(of: join, source).compactMap(\.path)
        return paths.contains([Row.idName]) ? [] : paths
    }
}
