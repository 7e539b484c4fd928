package import SheafDocument

/// The condition that ends a statement: a timeout, task cancellation or an exhausted budget.
///
/// A run checks it between batches of documents, in loops and before it processes long values.
package struct Interruption: Sendable {
    /// Deadline in nanoseconds of the clock; nil if there is no timeout.
    private let deadline: UInt64?
    private let seconds: Int64
    private let clock: @Sendable () -> UInt64
    /// The meter to charge at each check.
    private let meter: EvaluationMeter?

    /// Units per check, for the documents visited since the previous one: at most 256, except in
    /// parallel scans.
    private static let stepUnits = 4_096

    /// Creates an interruption on task cancellation or after `seconds`; zero means no timeout.
    package init(seconds: Int64, clock: @escaping @Sendable () -> UInt64) {
        self.seconds = seconds
        self.clock = clock
        meter = nil
        let (wait, isLong) = UInt64(max(seconds, 0)).multipliedReportingOverflow(by: 1_000_000_000)
        guard seconds > 0, !isLong else {
            deadline = nil
            return
        }
        let (end, isLate) = clock().addingReportingOverflow(wait)
        deadline = isLate ? nil : end
    }

    /// Creates an interruption that charges a meter for the documents visited.
    package init(_ meter: EvaluationMeter) {
        (deadline, seconds, clock) = (nil, 0, { 0 })
        self.meter = meter
    }

    /// Whether the documents visited are charged to a meter.
    package var isMetered: Bool { meter != nil }

    /// Throws if the statement must end.
    package func check() throws(StoreError) {
        guard !Task.isCancelled else {
            throw StoreError(.cancelled, "the task that runs the statement was canceled")
        }
        try meter?.charge(Self.stepUnits)
        guard let deadline, clock() >= deadline else { return }
        throw StoreError(
            .timedOut, "the statement exceeded its time limit of \(seconds) s",
            hint:
                "the limit is the parameter dql_request_timeout_seconds; PROFILE shows "
                + "which operator is slow, and ADVISE suggests indexes")
    }
}
