/// How long a statement took, by what it is.
package struct StatementTiming: Sendable, CustomStringConvertible {
    package let name: String
    package let length: Int
    package let microseconds: UInt64
    package let isRun: Bool

    /// For each KiB of text; a short one counts as one.
    package var microsecondsPerKiB: UInt64 {
        microseconds * 1_024 / UInt64(max(length, 1_024))
    }

    package var description: String {
        "\(microsecondsPerKiB) µs for each KiB: \(name), \(length) bytes, \(microseconds) µs"
            + (isRun ? "" : ", refused")
    }
}

extension [StatementTiming] {
    /// Those that took the longest for their length.
    package func slowest(_ count: Int) -> ArraySlice<StatementTiming> {
        sorted { $0.microsecondsPerKiB > $1.microsecondsPerKiB }.prefix(count)
    }
}
