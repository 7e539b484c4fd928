/// What an operator of a plan has done.
final class OperatorTally {
    @exclusivity(unchecked) var rowsIn = 0
    @exclusivity(unchecked) var rowsOut = 0
    var nanoseconds: UInt64 = 0
}

/// What the operators have done that come to the documents of a source; a tree like its `Access`.
final class AccessTally {
    /// What has given out rows.
    let rows = OperatorTally()
    /// What has asked documents in their bytes.
    let filter = OperatorTally()
    /// The entries of the tree that were looked at, and the documents that were read.
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

/// What the operators of a plan have done; those that a plan has not, nothing.
///
/// Only PROFILE asks for it.
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
    /// The reading of documents that were found and sorted before.
    let second: AccessTally
    let meter: Meter

    init(_ plan: SelectPlan, _ clock: @escaping () -> UInt64) {
        let meter = Meter(clock)
        self.meter = meter
        access = AccessTally(plan.sources[0].path.access, meter)
        joins = plan.joins.map { _ in Join(inner: AccessTally(nil, meter)) }
        second = AccessTally(nil, meter)
    }
}

/// Measures which operator the time goes to: never more than one of them is at work.
final class Meter {
    private let clock: () -> UInt64
    private var current: OperatorTally?
    private var since: UInt64

    init(_ clock: @escaping () -> UInt64) {
        self.clock = clock
        since = clock()
    }

    /// Gives the time from now on to an operator; returns the one that had it.
    func turn(to next: OperatorTally?) -> OperatorTally? {
        let now = clock()
        current?.nanoseconds += now &- since
        since = now
        defer { current = next }
        return current
    }
}

/// Runs what an operator does, and measures it where somebody asks for that.
@inline(__always)
func measure<Result>(
    _ tally: OperatorTally?, _ meter: Meter?, _ body: () throws(QueryError) -> Result
) throws(QueryError) -> Result {
    guard let meter, let tally else { return try body() }
    let before = meter.turn(to: tally)
    defer { _ = meter.turn(to: before) }
    return try body()
}
