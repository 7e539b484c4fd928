package import SheafDocument

/// EXPLAIN and PROFILE.
extension QueryRun {
    /// Returns the plan of a statement as one row.
    func explain(_ body: Statement.Body) throws(StoreError) -> QueryRows {
        let description = try describe(body)
        return QueryRows(objects: [["plan": description.value]], columns: ["plan"])
    }

    /// Returns the plan of a statement as an indented tree with one operator per line.
    package func planText() throws(StoreError) -> String {
        try describe(statement.body).text
    }

    private func describe(_ body: Statement.Body) throws(StoreError) -> PlanDescription {
        let mutations = MutationPlanner(environment: environment, newID: options.newID)
        switch body {
        case .select(let select): return describe(try plan(select))
        case .update(let update):
            return describe(body, try plan(try mutations.selection(update)))
        case .delete(let delete):
            return describe(body, try plan(try mutations.selection(delete)))
        case .insert(let insert):
            guard let select = try mutations.selection(insert) else { return describe(body, nil) }
            return describe(body, try plan(select))
        case .explain(let inner), .profile(let inner), .advise(let inner, _):
            return try describe(inner)
        case .createIndex, .dropIndex, .set, .reset, .show, .showAll:
            return PlanDescription(body.onlyOperator)
        }
    }

    private func plan(_ select: Select) throws(StoreError) -> PlannedSelect {
        let planner = SelectPlanner(select, environment)
        return PlannedSelect(select: select, plan: try planner.plan(), tallies: nil)
    }

    private func describe(_ planned: PlannedSelect) -> PlanDescription {
        PlanDescription(PlanDescriber(planned, environment).all())
    }

    private func describe(
        _ body: Statement.Body, _ finding: PlannedSelect?
    ) -> PlanDescription {
        PlanDescription(PlanDescriber.describe(body, finding, environment))
    }

    /// Returns the rows of a SELECT, followed by a row with its profile.
    func profile(_ body: Statement.Body) throws(StoreError) -> QueryRows {
        guard case .select(let select) = body else {
            throw StoreError(.meaning, "PROFILE requires a statement about documents")
        }
        let (rows, planned) = try rows(of: select, clock: options.clock)
        return rows.appending(describe(planned).profile)
    }
}

extension QueryRows {
    /// Returns the rows followed by one more row.
    func appending(_ object: Object) -> QueryRows {
        QueryRows(.items(items + [ResultItem(content: .object(object))]), columns: columns)
    }
}

extension Statement.Body {
    /// The only operator of a statement that finds no documents.
    fileprivate var onlyOperator: PlanOperator {
        func named(_ name: String, _ fields: [(String, String?)]) -> PlanOperator {
            let text = fields.compactMap(\.1).joined(separator: " on ")
            var found = PlanOperator(name, text)
            for (field, value) in fields { found.add(field, value.map(Value.string)) }
            return found
        }
        switch self {
        case .createIndex(let index):
            return named(
                "createIndex", [("index", index.name.text), ("collection", index.collection.text)])
        case .dropIndex(let index):
            return named(
                "dropIndex", [("index", index.name.text), ("collection", index.collection.text)])
        case .set(let parameter, _): return named("alterSystem", [("parameter", parameter)])
        case .reset(let parameter): return named("resetSystem", [("parameter", parameter)])
        case .show(let parameter): return named("show", [("parameter", parameter)])
        default: return named("show", [("parameter", nil)])
        }
    }
}
