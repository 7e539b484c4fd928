import SheafBytes
package import SheafEngine
package import SheafStatements

/// The transactions being monitored, and when to warn about slow ones.
///
/// A state machine: it receives the time, and returns the warnings to log.
package struct TransactionTimes: Sendable {
    /// A log message about a slow transaction.
    package struct Warning: Equatable, Sendable {
        package let level: StoreLog.Level
        package let message: String
        package let metadata: StoreLog.Metadata
    }

    private struct Running: Sendable {
        let info: TransactionInfo
        let start: UInt64
        var warnings = 0
    }

    private var running: [Running] = []

    package init() {}

    /// Starts to monitor a transaction.
    package mutating func begin(_ info: TransactionInfo, at now: UInt64) {
        running.append(Running(info: info, start: now))
    }

    /// Stops monitoring a transaction.
    package mutating func end(_ info: TransactionInfo) {
        running.removeAll { $0.info.id == info.id }
    }

    /// Returns when the next warning is due, in nanoseconds; nil if no transaction runs.
    package func deadline(_ schedule: SlowTransactionSchedule) -> UInt64? {
        running.map { Self.due($0, schedule) }.min()
    }

    /// Returns the warnings that are due, at most one for each transaction.
    package mutating func warnings(_ schedule: SlowTransactionSchedule, at now: UInt64) -> [Warning]
    {
        var warnings: [Warning] = []
        for index in running.indices where Self.due(running[index], schedule) <= now {
            warnings.append(Self.warning(running[index], at: now))
            // Missed warnings are skipped: after a suspension of the process, one is enough.
            repeat { running[index].warnings += 1 } while Self.due(running[index], schedule) <= now
        }
        return warnings
    }

    private static func due(_ transaction: Running, _ schedule: SlowTransactionSchedule) -> UInt64 {
        let (more, isLong) = UInt64(transaction.warnings).multipliedReportingOverflow(
            by: max(schedule.nextMilliseconds, 1))
        let (wait, isLonger) = more.addingReportingOverflow(schedule.firstMilliseconds)
        let (nanoseconds, isLongest) = wait.multipliedReportingOverflow(by: 1_000_000)
        let (due, isNever) = transaction.start.addingReportingOverflow(nanoseconds)
        return isLong || isLonger || isLongest || isNever ? .max : due
    }

    private static func warning(_ transaction: Running, at now: UInt64) -> Warning {
        // The first warning has the level debug, each further one the next higher level.
        let rank = min(
            StoreLog.Level.debug.rawValue + transaction.warnings, StoreLog.Level.error.rawValue)
        let hint = transaction.info.hint.map { " \"\($0.shortened)\"" } ?? ""
        let seconds = (now - transaction.start) / 1_000_000_000
        var metadata = ["transaction": transaction.info.id, "seconds": "\(seconds)"]
        metadata["hint"] = transaction.info.hint?.shortened(to: ErrorText.limit)
        return Warning(
            level: StoreLog.Level(rawValue: rank) ?? .error,
            message: "the transaction\(hint) has been running for \(seconds) s and blocks other "
                + "writers", metadata: metadata)
    }
}
