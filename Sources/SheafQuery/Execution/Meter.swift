/// What an operator of a plan has done.
final class OperatorTally {
    // Only the run that owns it counts, one step at a time.
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

    init(_ access: Access? = nil) {
        switch access {
        case .union(let parts)?, .intersection(let parts)?: children = parts.map { Self($0) }
        default: children = []
        }
    }
}

/// Measures which operator the time goes to: always one of them is at work.
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
func measure<Result>(
    _ tally: OperatorTally?, _ meter: Meter?, _ body: () throws(QueryError) -> Result
) throws(QueryError) -> Result {
    guard let meter, let tally else { return try body() }
    let before = meter.turn(to: tally)
    defer { _ = meter.turn(to: before) }
    return try body()
}
