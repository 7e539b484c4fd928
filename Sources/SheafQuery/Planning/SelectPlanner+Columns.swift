import SheafDocument

/// Resolution of column names and numbers in GROUP BY, HAVING and ORDER BY.
extension SelectPlanner {
    /// Replaces column numbers and aliases in ORDER BY, and aliases in GROUP BY and HAVING that are
    /// not valid as fields.
    ///
    /// The sources must have been added before.
    func withoutColumnNames(_ written: Select) throws(StoreError) -> Select {
        var select = written
        select.ordering = try select.ordering.withColumns(select.columns, in: environment.text)
        let aliases = select.columns.contains {
            if case .expression(_, _?) = $0 { true } else { false }
        }
        guard aliases, !select.groups.isEmpty || select.having != nil else { return select }
        for (index, group) in select.groups.enumerated() {
            guard let column = column(named: group), !column.hasAggregate,
                isRefused(group, column, select.groups)
            else { continue }
            select.groups[index] = column
        }
        guard
            let groups = try? GroupScope(select.groups, compiler.scope, compiler.arguments)
        else { return select }
        select.having = select.having.map { replacingAliases(in: $0, groups) }
        let isGrouped =
            !select.groups.isEmpty
            || select.columns.contains { $0.expression?.hasAggregate == true }
        guard isGrouped else { return select }
        select.ordering = Ordering(
            terms: select.ordering.terms.map {
                guard !$0.isColumn else { return $0 }
                return OrderTerm(
                    replacingAliases(in: $0.expression, groups), isDescending: $0.isDescending)
            }, limit: select.ordering.limit, offset: select.ordering.offset)
        return select
    }

    /// Whether a GROUP BY key cannot be a field: it is ambiguous, or its column is not grouped.
    private func isRefused(
        _ group: Expression, _ column: Expression, _ groups: [Expression]
    ) -> Bool {
        let scratch = environment.compiler()
        scratch.scope = compiler.scope
        do throws(StoreError) {
            _ = try scratch.compile(group)
            scratch.groups = try GroupScope(
                groups.filter { (try? scratch.compile($0)) != nil }, compiler.scope,
                compiler.arguments)
            _ = try scratch.compile(column)
            return false
        } catch {
            return true
        }
    }

    /// Replaces aliases outside of group keys, aggregates and loops by their columns.
    private func replacingAliases(in expression: Expression, _ groups: GroupScope) -> Expression {
        expression.replacing { part in
            switch part.node {
            case .call(let call) where AggregateKind(rawValue: call.name) != nil: return part
            case .quantified, .comprehension: return part
            default: break
            }
            if let key = try? groups.key(of: part, compiler.scope), key >= 0 { return part }
            return column(named: part)
        }
    }

    /// Returns the fields of ORDER BY; nil if the scan of an index cannot provide the order.
    func requestedOrder(isGrouped: Bool) throws(StoreError) -> [IndexDescription.Field]? {
        guard select.joins.isEmpty, let order = try firstTerms(isGrouped: isGrouped),
            order.count == select.ordering.terms.count
        else { return nil }
        return order
    }

    /// Returns the first terms of ORDER BY that are fields of the first source; nil if rows must be
    /// sorted anyway.
    func firstTerms(isGrouped: Bool) throws(StoreError) -> [IndexDescription.Field]? {
        guard !isGrouped, !select.isDistinct,
            !select.joins.contains(where: { $0.kind == .right })
        else { return nil }
        var fields: [IndexDescription.Field] = []
        for term in select.ordering.terms {
            let expression = term.expression
            guard case .path(let path) = expression.node,
                !(term.isColumn && compiler.scope.isBareSource(expression))
            else { return fields }
            switch try compiler.scope.resolve(path, at: expression.range) {
            case .id(0, let rest):
                fields.append(
                    IndexDescription.Field([Row.idName] + rest, isDescending: term.isDescending))
            case .field(0, let path):
                let types = compiler.scope.members[0].types
                guard types.isShown(path) else { return fields }
                fields.append(IndexDescription.Field(path, isDescending: term.isDescending))
            default: return fields
            }
        }
        return fields
    }

    /// Returns the column whose alias is `expression`, or nil.
    private func column(named expression: Expression) -> Expression? {
        select.columns.column(named: expression)
    }
}

extension [ResultColumn] {
    /// Returns the column whose alias is `expression`, or nil.
    fileprivate func column(named expression: Expression) -> Expression? {
        guard case .path(let path) = expression.node, path.count == 1 else { return nil }
        for case .expression(let column, let alias?) in self where alias.text.isSpelled(path[0]) {
            return column
        }
        return nil
    }
}

extension Ordering {
    /// Returns the ordering with aliases and numbers replaced by their columns.
    fileprivate func withColumns(
        _ columns: [ResultColumn], in text: String
    ) throws(StoreError) -> Ordering {
        guard !terms.isEmpty else { return self }
        var replaced: [OrderTerm] = []
        for term in terms {
            if let number = term.columnNumber {
                let column = try Self.column(number, columns, at: term.expression.range, in: text)
                replaced.append(
                    OrderTerm(column, isDescending: term.isDescending, alias: term.expression))
            } else if let column = columns.column(named: term.expression) {
                replaced.append(
                    OrderTerm(column, isDescending: term.isDescending, alias: term.expression))
            } else {
                try term.refuseConstant(in: text)
                replaced.append(term)
            }
        }
        return Ordering(terms: replaced, limit: limit, offset: offset)
    }

    /// Throws for column numbers in a statement without columns, and for other constants.
    func refuseConstants(of statement: String, in text: String) throws(StoreError) {
        for term in terms {
            if let number = term.columnNumber {
                throw StoreError(
                    .meaning, "ORDER BY \(number) is a column, but \(statement) has no columns",
                    hint: "write a field, as in ORDER BY price", at: term.expression.range,
                    in: text)
            }
            try term.refuseConstant(in: text)
        }
    }

    private static func column(
        _ number: Int64, _ columns: [ResultColumn], at range: SourceRange, in text: String
    ) throws(StoreError) -> Expression {
        guard (1...Int64(columns.count)).contains(number) else {
            let count =
                columns.count == 1 ? "there is 1 column" : "there are \(columns.count) columns"
            throw StoreError(
                .meaning, "ORDER BY \(number) is out of range: \(count)",
                hint: columns.count == 1
                    ? "columns are numbered from 1" : "write a number from 1 to \(columns.count)",
                at: range, in: text)
        }
        guard let column = columns[Int(number) - 1].expression else {
            throw StoreError(
                .meaning, "ORDER BY \(number) is not a single column: it is *",
                hint: "write a field, as in ORDER BY price", at: range, in: text)
        }
        return column
    }
}

extension OrderTerm {
    /// The column number, if the term is an integer literal.
    fileprivate var columnNumber: Int64? {
        guard case .literal(.integer(let number)) = expression.node else { return nil }
        return number
    }

    /// Throws if the term has no fields or aggregates and is therefore constant.
    fileprivate func refuseConstant(in text: String) throws(StoreError) {
        var readsFields = expression.hasAggregate
        try expression.forEachPath { (_, _) throws(StoreError) in readsFields = true }
        guard !readsFields else { return }
        var isValue = false
        if case .parameter = expression.node { isValue = true }
        throw StoreError(
            .meaning, "ORDER BY requires a field or column; this is the same for all rows",
            hint: isValue
                ? "a parameter is a value: write the name of a field or the number of a column"
                : "write a field, as in ORDER BY price, or the number of a column",
            at: expression.range, in: text)
    }
}
