import SheafBytes
import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Command {
    /// The command `sheaf salvage`.
    static let salvage = Command(
        name: "salvage", summary: "copy the readable part of a damaged store into a new store",
        operands: ["IN", "OUT"],
        options: [
            Option(
                name: "store", value: "ID",
                summary: "the identifier of the store, if no file contains it"),
            .json,
        ],
        details: """
            Copies the newest readable payload of each key, with its delta records if none is
            missing. IN is not changed; OUT must be empty or not exist, and becomes a new store
            with new commits. The exit code is 3 if data was lost. A key may reappear if the
            commit that removed it was lost.

            JSON keys: type "damage" has file, offset, bytes and reason; type "missing" has first
            and last, the missing segments. The last line has type "summary", complete, store, keys,
            payloadBytes, records, lostCommits, incompleteCommits, lostCompactedOperations,
            lostDeltas, otherStoreFiles (files of another store, not copied), witness (a
            checkpoint, or null), lostKeys and outdatedKeys. The last two are null without a
            witness.
            """,
        run: SalvageCommand.run)
}

/// The implementation of `sheaf salvage`.
enum SalvageCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let (source, target) = (arguments.operands[0], arguments.operands[1])
        try checkApart(source, target)
        let store = try arguments.value("store").map(storeID)
        // An error may concern either store, so no path is added to it.
        let report = try onStore(at: nil) { () throws(StorageError) in
            try Salvager.salvage(at: source, into: target, store: store)
        }
        let isJSON = arguments.has("json")
        for damage in report.damagedRanges {
            output.write(isJSON ? json(damage) : line(damage))
        }
        for segments in report.missingSegments {
            output.write(isJSON ? json(segments) : line(segments))
        }
        for note in report.notes { output.printError(note) }
        output.write(isJSON ? json(report) : summary(report))
        return report.isComplete ? .ok : .damaged
    }

    /// Throws if the target is the damaged store or a directory in it.
    private static func checkApart(_ source: String, _ target: String) throws(ToolError) {
        guard let inside = resolved(source) else { return }
        // The target may not exist yet; one of its parent directories does.
        var path = target
        while resolved(path) == nil {
            guard let slash = path.lastIndex(of: "/") else {
                path = "."
                break
            }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        guard let outside = resolved(path) else { return }
        if outside == inside || outside.hasPrefix(inside + "/") {
            throw .usage(
                "\(target.shortened) is inside \(source.shortened); OUT must be outside of IN"
            )
        }
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func storeID(_ text: String) throws(ToolError) -> StoreID {
        guard text.utf8.count == 32, text.utf8.allSatisfy(ReadableBytes.isHexadecimal),
            let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else {
            throw .usage(
                "--store must be 32 hexadecimal digits, not '\(text.shortened)'")
        }
        return StoreID(low: low, high: high)
    }

    private static func line(_ damage: SalvageReport.DamagedRange) -> String {
        "\(damage.file):\(damage.range.lowerBound): skipped "
            + "\(Quantity.count(damage.range.count, "byte")): \(damage.reason)"
    }

    private static func line(_ segments: ClosedRange<UInt32>) -> String {
        segments.count == 1
            ? "segment \(segments.lowerBound) is missing"
            : "segments \(segments.lowerBound) to \(segments.upperBound) are missing"
    }

    private static func summary(_ report: SalvageReport) -> String {
        var losses: [String] = []
        if !report.missingSegments.isEmpty { losses.append("segments") }
        if report.lostCommitCount > 0 {
            losses.append(Quantity.count(Int(clamping: report.lostCommitCount), "commit"))
        }
        if report.incompleteCommitCount > 0 {
            losses.append("parts of " + Quantity.count(report.incompleteCommitCount, "commit"))
        }
        if report.hasLostCompactedOperations { losses.append("compacted operations") }
        if report.lostDeltaCount > 0 {
            losses.append(
                "the base of \(Quantity.count(report.lostDeltaCount, "delta record"))")
        }
        if report.lostKeyCount > 0 { losses.append(Quantity.count(report.lostKeyCount, "key")) }
        if report.outdatedKeyCount > 0 {
            losses.append("the newest payload of " + Quantity.count(report.outdatedKeyCount, "key"))
        }
        return "kept \(Quantity.count(report.keptKeyCount, "key")), "
            + "\(Quantity.bytes(report.keptPayloadBytes)); lost "
            + (losses.isEmpty ? "nothing" : losses.joined(separator: ", "))
            + foreignFiles(report)
    }

    /// Returns the end of the summary: the skipped files of another store, if there are any.
    private static func foreignFiles(_ report: SalvageReport) -> String {
        guard !report.otherStoreFiles.isEmpty else { return "" }
        return " of this store; skipped \(report.otherStoreFiles.joined(separator: ", ")), "
            + "of another store"
    }

    private static func json(_ damage: SalvageReport.DamagedRange) -> String {
        var line = JSONLine()
        line.add("type", "damage")
        line.add("file", damage.file)
        line.add("offset", damage.range.lowerBound)
        line.add("bytes", damage.range.count)
        line.add("reason", damage.reason)
        return line.closed
    }

    private static func json(_ segments: ClosedRange<UInt32>) -> String {
        var line = JSONLine()
        line.add("type", "missing")
        line.add("first", segments.lowerBound)
        line.add("last", segments.upperBound)
        return line.closed
    }

    private static func json(_ report: SalvageReport) -> String {
        let hasWitness = report.witness != nil
        var line = JSONLine()
        line.add("type", "summary")
        line.add("complete", report.isComplete)
        line.add("store", report.store?.description)
        line.add("keys", report.keptKeyCount)
        line.add("payloadBytes", report.keptPayloadBytes)
        line.add("records", report.recordCount)
        line.add("lostCommits", report.lostCommitCount)
        line.add("incompleteCommits", report.incompleteCommitCount)
        line.add("lostCompactedOperations", report.hasLostCompactedOperations)
        line.add("lostDeltas", report.lostDeltaCount)
        line.add("otherStoreFiles", report.otherStoreFiles)
        line.add("witness", report.witness)
        line.add("lostKeys", hasWitness ? UInt64(report.lostKeyCount) : nil)
        line.add("outdatedKeys", hasWitness ? UInt64(report.outdatedKeyCount) : nil)
        return line.closed
    }
}
