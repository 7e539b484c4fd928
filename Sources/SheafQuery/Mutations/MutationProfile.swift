import SheafDocument

/// The profile of the changes of a statement, apart from finding the documents.
struct MutationProfile {
    private let body: Statement.Body
    private let tally = OperatorTally()
    private let meter: Meter

    /// Creates a profile and starts measuring, before the planned changes are applied.
    init(_ body: Statement.Body, _ clock: @escaping () -> UInt64) {
        self.body = body
        meter = Meter(clock)
        _ = meter.turn(to: tally)
    }

    /// Returns the profile after `count` documents were changed.
    func finish(_ plan: MutationPlan, _ count: Int, _ environment: PlanEnvironment) -> Object {
        _ = meter.turn(to: nil)
        tally.rowsIn = plan.mutations.count
        tally.rowsOut = count
        var isInsertion = false
        if case .insert = body { isInsertion = true }
        if !isInsertion, let found = plan.finding?.tallies {
            // Edits are computed during the search, by its projection.
            tally.rowsIn = found.projection.rowsIn
            tally.nanoseconds += found.projection.nanoseconds
        }
        return PlanDescription(
            PlanDescriber.describe(body, plan.finding, environment, tally)
        ).profile
    }
}
