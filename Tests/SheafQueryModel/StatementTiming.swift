/// The run time of a statement.
package struct StatementTiming: Sendable, CustomStringConvertible {
    package let name: String
    package let length: Int
    package let microseconds: UInt64
    package let isRun: Bool

    /// The time per KiB of text; a shorter text counts as 1 KiB.
    package var microsecondsPerKiB: UInt64 {
        microseconds * 1_024 / UInt64(max(length, 1_024))
    }

    package var description: String {
        "\(microsecondsPerKiB) µs for each KiB: \(name), \(length) bytes, \(microseconds) µs"
            + (isRun ? "" : ", refused")
    }
}

extension [StatementTiming] {
    /// Returns the statements with the longest times per KiB.
    package func slowest(_ count: Int) -> ArraySlice<StatementTiming> {
        sorted { $0.microsecondsPerKiB > $1.microsecondsPerKiB }.prefix(count)
    }
}
