import SheafStorage

extension Command {
    /// The command `sheaf compact`.
    static let compact = Command(
        name: "compact", summary: "discard history older than the horizon",
        operands: ["PATH"],
        options: [
            Option(name: "dry-run", summary: "print the plan without writing anything"),
            Option(
                name: "keep-commits", value: "N",
                summary: "keep files with any of the newest N commits"),
            Option(
                name: "keep-bytes", value: "N",
                summary: "keep files with any of the newest N bytes of log"),
            .json,
        ],
        details: """
            Rewrites old segments as base files that contain live operations only, and writes a
            checkpoint. A file is older than the horizon if it is beyond either of the bounds, by
            default \(HistoryHorizon().commits) commits and \(Quantity.bytes(HistoryHorizon().bytes)) of log.
            If only one bound is given, the other one is unlimited.

            JSON keys: type "plan" has files, segments, bytes and liveBytes. The last line has
            type "result", dryRun, plans, logBytesBefore, checkpointBytesBefore, logBytesAfter and
            checkpointBytesAfter; the last two are null in a dry run.
            """,
        run: CompactCommand.run)
}

/// The implementation of `sheaf compact`.
enum CompactCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        var options = LogStoreOptions()
        options.runsMaintenance = false
        let commits = try arguments.number("keep-commits")
        let bytes = try arguments.number("keep-bytes").map { Int(clamping: $0) }
        if commits != nil || bytes != nil {
            options.history = HistoryHorizon(commits: commits ?? .max, bytes: bytes ?? .max)
        }
        let path = arguments.operands[0]
        let isJSON = arguments.has("json")
        let (plans, before) = try plan(path, options)
        let show = {
            for plan in plans { output.write(isJSON ? json(plan) : line(plan)) }
            output.flush()
        }
        var after: StoreStatistics?
        if arguments.has("dry-run") {
            show()
        } else {
            after = try onStore(at: path) { () throws(StorageError) in
                try compact(path, options, onceOpen: show)
            }
        }
        output.write(
            isJSON
                ? json(plans, before: before, after: after)
                : result(plans, before: before, after: after))
        return .ok
    }

    /// Returns the planned compactions, and the statistics of the store before them.
    private static func plan(
        _ path: String, _ options: LogStoreOptions
    ) throws(ToolError) -> (plans: [CompactionPlan], statistics: StoreStatistics) {
        try onStore(at: path) { () throws(StorageError) in
            let reader = try LogReader.open(at: path)
            return (
                try reader.compactionPlans(options: options),
                try reader.statistics(options: options)
            )
        }
    }

    /// Runs all planned compactions; returns the statistics of the store after them.
    private static func compact(
        _ path: String, _ options: LogStoreOptions, onceOpen begin: () -> Void
    ) throws(StorageError) -> StoreStatistics {
        try StoreCompaction.run(at: path, options: options, onceOpen: begin)
        let reader = try LogReader.open(at: path)
        return try reader.statistics(options: options)
    }

    private static func line(_ plan: CompactionPlan) -> String {
        let first = plan.files.first?.name ?? ""
        let last = plan.files.last?.name ?? ""
        let names = first == last ? first : "\(first) to \(last)"
        return "compact \(Quantity.count(plan.files.count, "file")), \(names): "
            + "\(Quantity.bytes(plan.length)), of which at least "
            + "\(Quantity.bytes(plan.liveLength)) are live"
    }

    private static func result(
        _ plans: [CompactionPlan], before: StoreStatistics, after: StoreStatistics?
    ) -> String {
        let log = Quantity.bytes(before.logBytes)
        if let after {
            return "log \(log) before, \(Quantity.bytes(after.logBytes)) after; checkpoints "
                + "\(Quantity.bytes(before.checkpointBytes)) before, "
                + "\(Quantity.bytes(after.checkpointBytes)) after"
        }
        let gain = plans.reduce(0) { $0 + $1.length - $1.liveLength }
        return plans.isEmpty
            ? "nothing is older than the horizon"
            : "log \(log); compaction would free at most \(Quantity.bytes(gain))"
    }

    private static func json(_ plan: CompactionPlan) -> String {
        var line = JSONLine()
        line.add("type", "plan")
        line.add("files", plan.files.map(\.name))
        line.add("segments", "\(plan.segments.lowerBound)-\(plan.segments.upperBound)")
        line.add("bytes", plan.length)
        line.add("liveBytes", plan.liveLength)
        return line.closed
    }

    private static func json(
        _ plans: [CompactionPlan], before: StoreStatistics, after: StoreStatistics?
    ) -> String {
        var line = JSONLine()
        line.add("type", "result")
        line.add("dryRun", after == nil)
        line.add("plans", plans.count)
        line.add("logBytesBefore", before.logBytes)
        line.add("checkpointBytesBefore", before.checkpointBytes)
        line.add("logBytesAfter", after.map { UInt64($0.logBytes) })
        line.add("checkpointBytesAfter", after.map { UInt64($0.checkpointBytes) })
        return line.closed
    }
}
