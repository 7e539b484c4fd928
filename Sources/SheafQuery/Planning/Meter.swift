import SheafDocument

/// Counters of one operator of a plan.
final class OperatorTally {
    @exclusivity(unchecked) var rowsIn = 0
    @exclusivity(unchecked) var rowsOut = 0
    var nanoseconds: UInt64 = 0
}

/// Counters of an access path; a tree with the shape of its `Access`.
final class AccessTally {
    /// Rows produced.
    let rows = OperatorTally()
    /// Evaluations of the filter on encoded documents.
    let filter = OperatorTally()
    /// Index entries visited and documents read.
    var scan = ScanTally()
    let children: [AccessTally]
    let meter: Meter

    init(_ access: Access? = nil, _ meter: Meter) {
        self.meter = meter
        switch access {
        case .union(let parts)?, .intersection(let parts)?:
            children = parts.map { AccessTally($0, meter) }
        default: children = []
        }
    }
}

/// Counters of all operators of a plan, for PROFILE.
///
/// Operators that the plan lacks stay at zero.
final class PlanTallies {
    struct Join {
        let rows = OperatorTally()
        let inner: AccessTally
    }

    let access: AccessTally
    let joins: [Join]
    let filter = OperatorTally()
    let group = OperatorTally()
    let having = OperatorTally()
    let sort = OperatorTally()
    let limit = OperatorTally()
    let projection = OperatorTally()
    /// Documents read again after sorting.
    let second: AccessTally
    let meter: Meter

    init(_ plan: SelectPlan, _ clock: @escaping () -> UInt64) {
        let meter = Meter(clock)
        self.meter = meter
        access = AccessTally(plan.sources[0].path.access, meter)
        joins = plan.joins.map { join in
            guard case .hash(let lookup) = join.lookup else {
                return Join(inner: AccessTally(nil, meter))
            }
            return Join(inner: AccessTally(lookup.access, meter))
        }
        second = AccessTally(nil, meter)
    }
}

/// The attribution of elapsed time to operators, of which one is active at a time.
final class Meter {
    private let clock: () -> UInt64
    private var current: OperatorTally?
    private var since: UInt64

    init(_ clock: @escaping () -> UInt64) {
        self.clock = clock
        since = clock()
    }

    /// Charges the elapsed time to the active operator and activates `next`; returns the previous
    /// one.
    func turn(to next: OperatorTally?) -> OperatorTally? {
        let now = clock()
        current?.nanoseconds += now &- since
        since = now
        defer { current = next }
        return current
    }
}

/// Runs the body of an operator and measures it if profiling is enabled.
@inline(__always)
func measure<Result>(
    _ tally: OperatorTally?, _ meter: Meter?, _ body: () throws(StoreError) -> Result
) throws(StoreError) -> Result {
    guard let meter, let tally else { return try body() }
    let before = meter.turn(to: tally)
    defer { _ = meter.turn(to: before) }
    return try body()
}
