import SheafDocument

/// A describer of plans as trees of operators, with the last operator as the root.
struct PlanDescriber {
    let select: Select
    let plan: SelectPlan
    let tallies: PlanTallies?
    let store: any QueryStore

    init(_ planned: PlannedSelect, _ environment: PlanEnvironment) {
        select = planned.select
        plan = planned.plan
        tallies = planned.tallies
        store = environment.store
    }

    /// Returns the operators of the complete SELECT.
    func all() -> PlanOperator {
        plan.isDistinct ? rows() : projection(of: rows())
    }

    /// Returns the operators that find the rows; only DISTINCT includes the projection.
    private func rows() -> PlanOperator {
        var found = filter(joins(of: source()))
        if let grouping = plan.grouping { found = having(group(found, grouping), grouping) }
        if plan.isDistinct { found = projection(of: found) }
        if !plan.isOrdered { found = sort(found) }
        return limit(found)
    }

    // MARK: Conditions

    private func filter(_ input: PlanOperator) -> PlanOperator {
        guard let condition = plan.requested.residualExpression, plan.condition != nil else {
            return input
        }
        return Self.filter(input, condition, on: "rows", tallies?.filter)
    }

    /// Returns a filter on the rows of `input`.
    static func filter(
        _ input: PlanOperator, _ condition: Expression, on target: String,
        _ tally: OperatorTally?
    ) -> PlanOperator {
        let text = condition.description
        var filter = PlanOperator("filter", target == "bytes" ? "on bytes: " + text : text, [input])
        filter.add("condition", .string(text))
        filter.add("on", .string(target))
        filter.measure(tally)
        return filter
    }

    // MARK: Groups

    private func group(_ input: PlanOperator, _ grouping: GroupPlan) -> PlanOperator {
        let keys = grouping.expressions.map(\.description)
        let aggregates = aggregateTexts()
        var words: [String] = []
        if !keys.isEmpty { words.append("by " + keys.joined(separator: ", ")) }
        if !aggregates.isEmpty { words.append("with " + aggregates.joined(separator: ", ")) }
        var group = PlanOperator(
            "group", words.joined(separator: " "), rows: keys.isEmpty ? 1 : nil, [input])
        group.add("keys", .array(keys.map(Value.string)))
        group.add("aggregates", .array(aggregates.map(Value.string)))
        group.measure(tallies?.group)
        return group
    }

    private func having(_ input: PlanOperator, _ grouping: GroupPlan) -> PlanOperator {
        guard let condition = grouping.havingExpression else { return input }
        var having = Self.filter(input, condition, on: "groups", nil)
        if let tallies {
            having.measure(in: tallies.group.rowsOut, out: tallies.having.rowsOut)
        }
        return having
    }

    /// Returns the aggregates of the statement without duplicates.
    private func aggregateTexts() -> [String] {
        var texts: [String] = []
        func visit(_ expression: Expression) {
            if case .call(let call) = expression.node, AggregateKind(rawValue: call.name) != nil {
                let text = expression.description
                if !texts.hasSpelling(text) { texts.append(text) }
            }
            try? expression.forEachChild { (child) throws(StoreError) in visit(child) }
        }
        for case .expression(let expression, _) in select.columns { visit(expression) }
        if let having = select.having { visit(having) }
        for term in select.ordering.terms { visit(term.expression) }
        return texts
    }

    // MARK: Order and output

    private func sort(_ input: PlanOperator) -> PlanOperator {
        let terms = plan.order.map { term in
            term.expression.description + (term.isDescending ? " DESC" : "")
        }
        let top = plan.isDistinct ? nil : plan.sortedRowLimit
        var sort = PlanOperator(
            "sort", "by " + terms.joined(separator: ", "),
            rows: input.rows.map { min($0, top ?? $0) }, [input])
        sort.add("terms", .array(terms.map(Value.string)))
        sort.add("limit", top.map { .integer(Int64($0)) })
        if let top { sort.notes.append("top \(top)") }
        if plan.presortedTerms > 0 {
            sort.add("presorted", .integer(Int64(plan.presortedTerms)))
            sort.notes.append("presorted \(plan.presortedTerms)")
        }
        sort.measure(tallies?.sort)
        return sort
    }

    private func limit(_ input: PlanOperator) -> PlanOperator {
        guard plan.limit != nil || plan.offset > 0 else { return input }
        var words: [String] = []
        if let limit = plan.limit { words.append("\(limit)") }
        if plan.offset > 0 { words.append("offset \(plan.offset)") }
        let known = input.rows.map { rows in
            let rest = max(rows - plan.offset, 0)
            return min(rest, plan.limit ?? rest)
        }
        var limit = PlanOperator("limit", words.joined(separator: " "), rows: known, [input])
        limit.add("limit", plan.limit.map { .integer(Int64($0)) })
        if plan.offset > 0 { limit.add("offset", .integer(Int64(plan.offset))) }
        limit.measure(tallies?.limit)
        return limit
    }

    private func projection(of input: PlanOperator) -> PlanOperator {
        let columns = select.columns.map { column in
            var printer = Printer()
            switch column {
            case .all(let qualifier, _):
                if let qualifier {
                    printer.write(name: qualifier.text)
                    printer.write(".")
                }
                printer.write("*")
            case .expression(let expression, let alias):
                printer.write(expression)
                if let alias {
                    printer.write(" AS ")
                    printer.write(name: alias.text)
                }
            }
            return printer.text
        }
        let text = (plan.isDistinct ? "distinct " : "") + columns.joined(separator: ", ")
        var projection = PlanOperator(
            "projection", text, rows: plan.isDistinct ? nil : input.rows, [input])
        projection.add("columns", .array(columns.map(Value.string)))
        if plan.isDistinct { projection.add("distinct", true) }
        projection.measure(tallies?.projection)
        return projection
    }
}

/// Description of statements that write.
extension PlanDescriber {
    /// Returns the operator that changes documents, above those that find them.
    static func describe(
        _ body: Statement.Body, _ finding: PlannedSelect?, _ environment: PlanEnvironment,
        _ tally: OperatorTally? = nil
    ) -> PlanOperator {
        let describer = finding.map { PlanDescriber($0, environment) }
        var top: PlanOperator
        switch body {
        case .update(let update):
            let paths = update.assignments.map(Self.text)
            top = change("update", update.source, paths.joined(separator: ", "), describer?.found())
            top.add("fields", .array(paths.map(Value.string)))
        case .delete(let delete):
            let name = delete.isEviction ? "evict" : "delete"
            top = change(name, delete.source, "", describer?.found())
        case .insert(let insert):
            top = change("insert", insert.source, "", describer?.all())
            if case .expressions(let documents) = insert.documents { top.rows = documents.count }
        default: top = PlanOperator("statement", "")
        }
        top.measure(tally)
        return top
    }

    private static func change(
        _ name: String, _ source: Source, _ text: String, _ input: PlanOperator?
    ) -> PlanOperator {
        var printer = Printer()
        printer.write(collection: source.name.text)
        var change = PlanOperator(
            name, printer.text + (text.isEmpty ? "" : ": " + text), rows: input?.rows,
            input.map { [$0] } ?? [])
        change.add("collection", .string(source.name.text))
        return change
    }

    private static func text(_ assignment: Assignment) -> String {
        var printer = Printer()
        switch assignment {
        case .set(let path, _), .unset(let path), .increment(let path, _),
            .restart(let path, _), .incrementOlder(let path, _):
            printer.write(path: path.names)
        }
        return printer.text
    }

    /// Returns the operators that find the changed documents; sorted ones are read again.
    private func found() -> PlanOperator {
        let rows = rows()
        guard !plan.isOrdered else { return rows }
        var again = PlanOperator("fetch", "again, by _id", rows: rows.rows, [rows])
        again.add("again", true)
        if let second = tallies?.second {
            again.measure(
                in: second.scan.entries, out: second.rows.rowsOut,
                nanoseconds: second.rows.nanoseconds)
            again.count("fetched", second.scan.fetched)
        }
        return again
    }
}
