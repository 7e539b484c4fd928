/// When a statement has to end before it is done.
///
/// It is asked between the steps of a run, each some microseconds after the one before.
package struct Interruption: Sendable {
    /// In nanoseconds of the clock; none where a statement may take as long as it likes.
    private let deadline: UInt64?
    private let seconds: Int64
    private let clock: @Sendable () -> UInt64
    /// The meter that counts the cost of the documents between two checks.
    private let meter: EvaluationMeter?

    /// Units of the documents between two checks, which are some hundred.
    private static let stepUnits = 4_096

    /// Ends what takes longer than some seconds from now, unless these are zero, and whatever runs in a
    /// task that was cancelled.
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

    /// Ends what visits more documents than the meter has units for.
    package init(_ meter: EvaluationMeter) {
        (deadline, seconds, clock) = (nil, 0, { 0 })
        self.meter = meter
    }

    /// Throws where the statement has to end.
    package func check() throws(QueryError) {
        guard !Task.isCancelled else {
            throw QueryError(.cancelled, "the task that runs the statement was cancelled")
        }
        try meter?.charge(Self.stepUnits)
        guard let deadline, clock() >= deadline else { return }
        throw QueryError(
            .timedOut, "the statement takes longer than \(seconds) s",
            hint:
                "the limit is the parameter dql_request_timeout_seconds; PROFILE tells what takes "
                + "long, and ADVISE which index would help")
    }
}
