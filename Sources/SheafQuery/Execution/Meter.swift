/// What an operator of a plan has done.
package final class OperatorTally {
    package let name: String
    @exclusivity(unchecked) package internal(set) var rowsIn = 0
    @exclusivity(unchecked) package internal(set) var rowsOut = 0
    package internal(set) var nanoseconds: UInt64 = 0

    init(_ name: String) {
        self.name = name
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
