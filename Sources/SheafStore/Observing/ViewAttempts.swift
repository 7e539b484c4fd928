/// The runs of an observed statement at which an incremental view is tried.
///
/// A result with too many rows has no view. It may have fewer rows later, but an attempt takes as
/// long as the run itself, so most runs make no attempt.
package struct ViewAttempts {
    /// Number of runs without an attempt after a result with too many rows.
    private static let pausedRuns = 64

    private var remainingRuns = 0

    package init() {}

    /// Begins a run; returns whether it tries a view.
    package mutating func begin() -> Bool {
        guard remainingRuns > 0 else { return true }
        remainingRuns -= 1
        return false
    }

    /// Begins a pause, because the result has too many rows.
    package mutating func pause() { remainingRuns = Self.pausedRuns }
}
