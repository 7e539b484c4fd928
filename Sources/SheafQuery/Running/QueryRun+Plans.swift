import SheafDocument

/// EXPLAIN and PROFILE.
extension QueryRun {
    /// The plan of a statement, as one row.
    func explain(_ body: Statement.Body) throws(QueryError) -> QueryRows {
        let description = try describe(body)
        return QueryRows(objects: [["plan": description.value]], columns: ["plan"])
    }

    /// The plan of a statement, as a tree for people.
    package func planText() throws(QueryError) -> String {
        try describe(statement.body).text
    }

    private func describe(_ body: Statement.Body) throws(QueryError) -> PlanDescription {
        switch body {
        case .select(let select):
            let planner = SelectPlanner(select, environment)
            return PlanDescription(try planner.plan())
        case .explain(let inner), .profile(let inner), .advise(let inner, _):
            return try describe(inner)
        default: throw QueryError(.meaning, "only SELECT has a plan")
        }
    }

    /// The rows of a statement, and behind them a row with what each operator has done.
    func profile(_ body: Statement.Body) throws(QueryError) -> QueryRows {
        guard case .select(let select) = body else {
            throw QueryError(.meaning, "only SELECT has a profile")
        }
        let (rows, run, plan) = try rows(of: select, clock: options.clock)
        let description = PlanDescription(plan, run.tallies)
        let profile = ResultItem(
            content: .object(["~request_profile": ["plan": description.value]]))
        return QueryRows(items: rows.items + [profile], columns: rows.columns)
    }
}

/// A plan as a tree of operators.
struct PlanDescription {
    private let root: Operator

    private struct Operator {
        let name: String
        var details: [Object.Field] = []
        var children: [Operator] = []
        var tally: OperatorTally?
    }

    init(_ plan: SelectPlan, _ tallies: PlanTallies? = nil) {
        root = Operator(name: "todo")
        _ = (plan, tallies)
    }

    var value: Value { .null }
    var text: String { root.name }
}
