import SheafDocument

/// The fields that a statement reads of a joined source, and the matches that it needs.
extension SelectPlanner {
    /// Returns the groups that COUNT(*) can count by an index without visiting its entries, or nil.
    func groupsToCount(_ plan: SelectPlan) throws(StoreError) -> CountedGroups? {
        guard let grouping = plan.grouping, !grouping.keys.isEmpty, select.joins.isEmpty,
            rows == nil, environment.condition(of: select) == nil, select.source.ids == nil,
            grouping.columns.allSatisfy({ $0.operand == nil && $0.kind == .count }),
            let collection = plan.sources[0].collection, !collection.hasPendingChanges,
            !hints.disablesIndexes
        else { return nil }
        var paths: [[String]] = []
        for group in select.groups {
            guard let path = try path(of: group, in: 0), !paths.hasSpelling(path) else {
                return nil
            }
            paths.append(path)
        }
        for index in collection.indexes where index.isRegular {
            let first = index.fields.prefix(paths.count).map(\.path)
            let fields = paths.compactMap { path in first.firstIndex { $0.isSpelled(path) } }
            if fields.count == paths.count { return CountedGroups(index: index, fields: fields) }
        }
        return nil
    }

    /// Returns the matches that the rows before a join need.
    func matches(of join: JoinClause, _ source: Int, isGrouped: Bool) -> JoinPlan.Matches {
        // A right join adds the documents without a match, for which all matches count.
        guard !select.joins.contains(where: { $0.kind == .right }) else { return .all }
        if join.kind == .left, requiresNoMatch(join, source) { return .none }
        let ignoresDuplicates =
            isGrouped ? select.aggregates.allSatisfy(\.ignoresDuplicates) : select.isDistinct
        guard ignoresDuplicates, let reads = reads(of: source, besides: join), reads.isEmpty else {
            return .all
        }
        return .first
    }

    /// Whether only the number of matches of the last join is of use.
    func countsOnly(_ join: JoinClause, _ source: Int) -> Bool {
        join.kind == .inner && source == select.joins.count
            && select.joins.allSatisfy { $0.kind != .right }
            && select.aggregates.allSatisfy(\.isStar)
            && reads(of: source, besides: join)?.isEmpty == true
    }

    /// Whether WHERE is true only for rows without a match of a left join.
    private func requiresNoMatch(_ join: JoinClause, _ source: Int) -> Bool {
        guard let condition = environment.condition(of: select) else { return false }
        return condition.conjuncts.contains { term in
            guard case .test(.missing, let operand, false) = term.node,
                case .path(let path) = operand.node
            else { return false }
            switch try? compiler.scope.resolve(path, at: operand.range) {
            case .row(source)?: return true
            case .id(source, let rest)? where rest.isEmpty: return true
            case .id(source, _)?, .field(source, _)?: return excludesMissing(operand, join)
            default: return false
            }
        }
    }

    /// Whether each match of a join has a value at a path, because a term compares it.
    private func excludesMissing(_ path: Expression, _ join: JoinClause) -> Bool {
        guard case .path(let names) = path.node else { return false }
        return join.condition.conjuncts.contains { term in
            guard case .comparison(_, let left, let right) = term.node else { return false }
            return [left, right].contains { side in
                guard case .path(let other) = side.node else { return false }
                return other.isSpelled(names)
            }
        }
    }

    /// Whether entries of an index contain all fields that the statement reads of a source.
    func covers(
        _ index: IndexDescription, _ collection: CollectionDescription, _ source: Int
    ) -> Bool {
        guard index.isRegular, !collection.hasPendingChanges, !environment.isStrict,
            (select.joins[source - 1].source).types.isEmpty,
            let paths = reads(of: source, besides: nil)
        else { return false }
        return paths.allSatisfy { path in
            path == [Row.idName] || index.fields.contains { $0.path.isSpelled(path) }
        }
    }

    /// Returns the paths that the statement reads of a source, without the condition of `omitted`.
    ///
    /// Returns nil if it reads complete documents.
    private func reads(of source: Int, besides omitted: JoinClause?) -> [[String]]? {
        var expressions = select.groups + [select.condition, select.having].compactMap { $0 }
        for column in select.columns {
            switch column {
            case .all(let qualifier, _):
                let name = compiler.scope.members[source].name
                guard let qualifier, !name.isSpelled(qualifier.text) else { return nil }
            case .expression(let expression, _): expressions.append(expression)
            }
        }
        for term in select.ordering.terms { expressions.append(term.expression) }
        for (number, join) in select.joins.enumerated()
        where omitted == nil || number != source - 1 {
            expressions.append(join.condition)
        }
        var paths: [[String]] = []
        for expression in expressions {
            guard let found = reads(expression, of: source) else { return nil }
            paths += found
        }
        return paths
    }

    /// Returns the paths that an expression reads of a source; nil for complete documents.
    private func reads(_ expression: Expression, of source: Int) -> [[String]]? {
        var paths: [[String]]? = []
        do throws(StoreError) {
            try expression.forEachPath { (path, range) throws(StoreError) in
                switch try compiler.scope.resolve(path, at: range) {
                case .id(source, _): paths?.append([Row.idName])
                case .field(source, let path): paths?.append(path)
                case .row(source): paths = nil
                default: break
                }
            }
            return paths
        } catch {
            // Compiling the expression will report the error.
            return nil
        }
    }
}

extension Select {
    /// The aggregates of the columns, HAVING and ORDER BY.
    fileprivate var aggregates: [Call] {
        var found: [Call] = []
        func visit(_ expression: Expression) {
            if case .call(let call) = expression.node, AggregateKind(rawValue: call.name) != nil {
                found.append(call)
            }
            try? expression.forEachChild { (child) throws(StoreError) in visit(child) }
        }
        for column in columns { column.expression.map(visit) }
        having.map(visit)
        for term in ordering.terms { visit(term.expression) }
        return found
    }
}

extension Call {
    /// Whether an aggregate does not depend on how often a row occurs.
    fileprivate var ignoresDuplicates: Bool { isDistinct || name == "min" || name == "max" }
}
