/// When a statement has to end before it is done.
///
/// It is asked between the steps of a run, each some microseconds after the one before.
package struct Interruption: Sendable {
    /// In nanoseconds of the clock; none where a statement may take as long as it likes.
    private let deadline: UInt64?
    private let seconds: Int64
    private let clock: @Sendable () -> UInt64

    /// Ends what takes longer than some seconds from now, unless these are zero, and whatever runs in a
    /// task that was cancelled.
    package init(seconds: Int64, clock: @escaping @Sendable () -> UInt64) {
        self.seconds = seconds
        self.clock = clock
        let (wait, isLong) = UInt64(max(seconds, 0)).multipliedReportingOverflow(by: 1_000_000_000)
        guard seconds > 0, !isLong else {
            deadline = nil
            return
        }
        let (end, isLate) = clock().addingReportingOverflow(wait)
        deadline = isLate ? nil : end
    }

    /// Throws where the statement has to end.
    package func check() throws(QueryError) {
        guard !Task.isCancelled else {
            throw QueryError(.cancelled, "the task that runs the statement was cancelled")
        }
        guard let deadline, clock() >= deadline else { return }
        throw QueryError(
            .timedOut, "the statement takes longer than \(seconds) s",
            hint:
                "the limit is the parameter dql_request_timeout_seconds; PROFILE tells what takes "
                + "long, and ADVISE which index would help")
    }
}
