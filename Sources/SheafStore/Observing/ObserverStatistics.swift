/// The results of an observer so far.
package struct ObserverStatistics: Equatable, Sendable {
    /// Number of results updated from the changes of documents.
    package private(set) var updateCount: UInt64 = 0
    /// Number of results for which the statement was run.
    package private(set) var runCount: UInt64 = 0
    /// Time for the last result, and for all of them.
    package private(set) var lastNanoseconds: UInt64 = 0
    package private(set) var nanoseconds: UInt64 = 0
    /// Number of rows of the last result.
    package private(set) var rowCount = 0
    /// The last error; nil if the last result had none.
    package private(set) var error: String?
    /// Whether the last result was updated from changes.
    package private(set) var isIncremental = false

    /// Counts a result; `rows` is nil if it equals the previous one.
    mutating func add(
        nanoseconds: UInt64, rows: Int?, error: String?, isIncremental: Bool
    ) {
        if isIncremental { updateCount += 1 } else { runCount += 1 }
        lastNanoseconds = nanoseconds
        self.nanoseconds += nanoseconds
        if let rows { rowCount = rows }
        self.error = error
        self.isIncremental = isIncremental
    }
}
