import SheafDocument

/// The order of the first two sources.
extension SelectPlanner {
    /// Plans the statement, with the first joined source as the outer side if that is cheaper.
    ///
    /// The numbers of documents and index entries are exact, so no statistics are needed.
    func plan() throws(StoreError) -> SelectPlan { try planInBestOrder().plan }

    /// Plans the statement like `plan()`; returns whether the order of the sources is the written
    /// one.
    func planInBestOrder() throws(StoreError) -> (plan: SelectPlan, isAsWritten: Bool) {
        let plan = try planAsWritten()
        guard plan.isWorthSwapping, let turned = turned(),
            // The turned statement fails only as the written one does.
            let other = try? SelectPlanner(turned, environment).planAsWritten(),
            other.cost(isLowest: false) * Self.margin < plan.cost(isLowest: true),
            !(plan.isHashed && other.isIndexed)
        else { return (plan, true) }
        if case .rows(let rows) = other.projection {
            other.projection = .rows([rows[1], rows[0]] + rows.dropFirst(2))
        }
        other.notes = plan.notes
        return (other, false)
    }

    /// The advantage that another order must have.
    private static let margin = 1.5

    /// Whether the first two sources may be exchanged.
    var canSwapSources: Bool { turned() != nil }

    /// Returns the statement with its first two sources exchanged; nil if its order is fixed.
    private func turned() -> Select? {
        guard let join = written.joins.first, join.kind == .inner,
            !written.joins.contains(where: { $0.kind == .right }), environment.directives.isEmpty
        else { return nil }
        for source in [written.source, join.source] {
            // Hints and ids belong to the source that is written first.
            guard source.ids == nil, source.indexes.isEmpty, source.directives.isEmpty,
                !environment.isVirtual(source)
            else { return nil }
        }
        var turned = written
        turned.source = join.source
        turned.joins[0] = JoinClause(.inner, written.source, on: join.condition)
        return turned
    }
}

extension SelectPlan {
    /// Costs for which another order is not worth planning.
    private static let leastCost = 1_000.0

    /// Whether another order of the sources may be cheaper by more than its planning.
    var isWorthSwapping: Bool {
        visitsAllRows && !joins.isEmpty && cost(isLowest: true) >= Self.leastCost
    }

    fileprivate var isHashed: Bool {
        if case .hash = joins[0].lookup { true } else { false }
    }

    /// Whether the join may read more documents than a hash table has.
    fileprivate var isIndexed: Bool {
        if case .index = joins[0].lookup { true } else { false }
    }

    /// Costs of a row of the first source, relative to the next document of a scan.
    private static let idCost = 3.0
    private static let indexCost = 4.0
    private static let hashCost = 0.5
    /// Cost of a row of a hash table.
    private static let buildCost = 1.5

    /// Returns the cost of the first source and its join.
    ///
    /// The lowest cost assumes that a filter on the first source leaves no rows.
    fileprivate func cost(isLowest: Bool) -> Double {
        let path = sources[0].path
        let count = Double(path.count)
        let each: Double =
            switch path.access {
            case .documents, .virtual, .rows, .nothing: 1
            case .index, .ids, .union, .intersection: Self.idCost
            }
        let rows = isLowest && requested.filter != nil ? 0 : count
        let joined: Double =
            switch joins[0].lookup {
            case .id: rows * Self.idCost
            case .index: rows * Self.indexCost
            case .hash(let lookup): rows * Self.hashCost + Double(lookup.count) * Self.buildCost
            case .scan: .infinity
            }
        return count * each + joined
    }
}
