import SheafStorage
import SheafSystem

/// The elapsed time of each phase of a command.
struct QueryTimer {
    /// The number of rows in the result.
    var rowCount: Int?

    private let clock = LogStoreOptions().clock
    private var since: UInt64
    private var laps: [(name: String, nanoseconds: UInt64)] = []

    /// Starts the first phase.
    init() {
        since = clock.monotonicNanoseconds()
    }

    /// Ends the current phase under `name`, and starts the next one.
    mutating func lap(_ name: String) {
        let now = clock.monotonicNanoseconds()
        laps.append((name, now &- since))
        since = now
    }

    /// The phases and the number of rows, on one line.
    var text: String {
        let parts = laps.map { "\($0.name) \(ElapsedTime.milliseconds($0.nanoseconds))" }
        let rows = rowCount.map { [Quantity.count($0, "row")] } ?? []
        return (parts + rows).joined(separator: ", ")
    }

    /// The time of all phases so far.
    var totalNanoseconds: UInt64 {
        laps.reduce(0) { $0 &+ $1.nanoseconds }
    }
}
