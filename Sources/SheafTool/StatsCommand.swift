import Sheaf
import SheafDocument
import SheafEngine
import SheafStorage

extension Command {
    /// The command `sheaf stats`.
    static let stats = Command(
        name: "stats", summary: "print statistics of a store", operands: ["PATH"],
        options: [.json],
        details: """
            live is the share of the log that the current keys still need.
            compactable is the part that 'sheaf compact' would rewrite with its default bounds.

            JSON keys: store, segments, segmentBytes, bases, baseBytes, checkpoints (an array of
            file names), checkpointBytes, usedCheckpoint, unusableCheckpoints, otherFiles,
            otherBytes, keys, removedKeys, indexes (an array of strings), indexEntries (their
            number, including those of tombstones, in the newest checkpoint), liveBytes,
            liveShare, lastCommit, lastCommitTime, lastCommitTimeMilliseconds, firstCompleteCommit,
            firstCompleteCommitTime, firstCompleteCommitTimeMilliseconds, compactedThrough,
            replayedBytes, tornTail, compactableFiles, compactableBytes, compactableGarbage.
            Unknown values are null.
            """,
        run: StatsCommand.run)
}

/// The implementation of `sheaf stats`.
enum StatsCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let (statistics, snapshot) = try onStore(at: path) { () throws(StorageError) in
            let reader = try LogReader.open(at: path)
            return (try reader.statistics(), try reader.snapshot())
        }
        let indexes = indexes(snapshot)
        if arguments.has("json") {
            output.write(json(statistics, indexes))
        } else {
            write(statistics, indexes, output)
        }
        return .ok
    }

    /// Returns the collection, name and fields of each index.
    ///
    /// The result is empty if the store has no documents or cannot be decoded.
    private static func indexes(_ snapshot: LogSnapshot) -> [String] {
        guard let catalog = try? Catalog(snapshot) else { return [] }
        return catalog.indexes.values.joined().compactMap { definition in
            let number = Int(definition.collection)
            guard catalog.collections.indices.contains(number) else { return nil }
            let names = [catalog.collections[number], definition.name]
            return names.map { DocumentLines.text(.string($0)) }.joined(separator: " ") + " ("
                + DocumentLines.fields(of: definition).joined(separator: ", ") + ")"
        }.sorted()
    }

    private static func write(
        _ statistics: StoreStatistics, _ indexes: [String], _ output: Output
    ) {
        func row(_ name: String, _ value: String) {
            output.write(name + String(repeating: " ", count: 14 - name.utf8.count) + value)
        }
        func files(_ count: Int, _ bytes: Int) -> String {
            count == 0 ? "none" : "\(count), \(Quantity.bytes(bytes))"
        }
        row("store", statistics.store?.description ?? "empty")
        row("keys", "\(statistics.keyCount), \(statistics.removedKeyCount) removed")
        for index in indexes { row("index", index) }
        row("index entries", "\(statistics.indexEntryCount) in the newest checkpoint")
        row("last commit", moment(statistics.lastCommit, statistics.lastCommitAt))
        row(
            "complete from",
            statistics.firstCompleteCommit.map { moment($0, statistics.firstCompleteCommitAt) }
                ?? "no commit")
        row(
            "history",
            statistics.compactedThrough == 0
                ? "complete" : "compacted up to commit \(statistics.compactedThrough)")
        row("segments", files(statistics.segmentCount, statistics.segmentBytes))
        row("base files", files(statistics.baseCount, statistics.baseBytes))
        row("checkpoints", files(statistics.checkpoints.count, statistics.checkpointBytes))
        row(
            "opening",
            "replays \(Quantity.bytes(statistics.replayedBytes)) "
                + (statistics.usedCheckpoint.map { "after \($0)" } ?? "without a checkpoint"))
        for reason in statistics.unusableCheckpoints { row("  unusable", reason) }
        row("other files", files(statistics.otherCount, statistics.otherBytes))
        row(
            "live",
            "\(Quantity.bytes(statistics.liveBytes)) of \(Quantity.bytes(statistics.logBytes)), "
                + Quantity.percent(statistics.liveShare))
        row(
            "compactable",
            "\(Quantity.count(statistics.compactableFileCount, "file")), "
                + "\(Quantity.bytes(statistics.compactableBytes)), of which "
                + "\(Quantity.bytes(statistics.compactableGarbage)) garbage")
        row("torn tail", statistics.tornTail?.description ?? "none")
    }

    private static func moment(_ commit: CommitID, _ milliseconds: UInt64?) -> String {
        commit == 0
            ? "none" : "\(commit)" + (milliseconds.map { " at \(Timestamp.text($0))" } ?? "")
    }

    private static func json(_ statistics: StoreStatistics, _ indexes: [String]) -> String {
        var line = JSONLine()
        line.add("store", statistics.store?.description)
        line.add("segments", statistics.segmentCount)
        line.add("segmentBytes", statistics.segmentBytes)
        line.add("bases", statistics.baseCount)
        line.add("baseBytes", statistics.baseBytes)
        line.add("checkpoints", statistics.checkpoints.map(\.name))
        line.add("checkpointBytes", statistics.checkpointBytes)
        line.add("usedCheckpoint", statistics.usedCheckpoint)
        line.add("unusableCheckpoints", statistics.unusableCheckpoints)
        line.add("otherFiles", statistics.otherCount)
        line.add("otherBytes", statistics.otherBytes)
        line.add("keys", statistics.keyCount)
        line.add("removedKeys", statistics.removedKeyCount)
        line.add("indexes", indexes)
        line.add("indexEntries", statistics.indexEntryCount)
        line.add("liveBytes", statistics.liveBytes)
        line.add("liveShare", raw: String(statistics.liveShare))
        line.add("lastCommit", statistics.lastCommit)
        line.add("lastCommitTime", at: statistics.lastCommitAt)
        line.add("firstCompleteCommit", statistics.firstCompleteCommit)
        line.add("firstCompleteCommitTime", at: statistics.firstCompleteCommitAt)
        line.add("compactedThrough", statistics.compactedThrough)
        line.add("replayedBytes", statistics.replayedBytes)
        line.add("tornTail", statistics.tornTail?.description)
        line.add("compactableFiles", statistics.compactableFileCount)
        line.add("compactableBytes", statistics.compactableBytes)
        line.add("compactableGarbage", statistics.compactableGarbage)
        return line.closed
    }
}
