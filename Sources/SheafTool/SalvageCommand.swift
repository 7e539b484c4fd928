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
    /// Saves what is right in a damaged store.
    static let salvage = Command(
        name: "salvage", summary: "save what is right in a damaged store into a new one",
        operands: ["IN", "OUT"],
        options: [
            Option(
                name: "store", value: "ID",
                summary: "the store's identifier, where no file tells it any more"),
            .json,
        ],
        details: """
            Of each key the newest payload that survived is kept, with the extensions behind it if
            none of them is lost. IN stays as it is; OUT must be empty or not exist, and becomes a
            store of its own, with new commits. The exit code is 3 when something of the store was
            lost. A key whose removal was lost may be there again.

            JSON: damaged bytes have the keys type ("damage"), file, offset, bytes, reason; missing
            segments have type ("missing"), first, last. The last line has type ("summary"),
            complete, store, keys, payloadBytes, records, lostCommits, incompleteCommits,
            lostFoldedOperations, lostExtensions, otherStoreFiles (left behind, for they belong to another store),
            witness (a checkpoint, or null), lostKeys and outdatedKeys, which are null without a
            witness.
            """,
        run: SalvageCommand.run)
}

/// `sheaf salvage`.
enum SalvageCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let (source, target) = (arguments.operands[0], arguments.operands[1])
        try checkApart(source, target)
        let store = try arguments.value("store").map(storeID)
        // Of an error it is not known whether it is one of the old store or of the new one.
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
        for note in report.notes { output.tell(note) }
        output.write(isJSON ? json(report) : summary(report))
        return report.isComplete ? .ok : .damaged
    }

    /// Refuses to write into the damaged store, below it as well.
    private static func checkApart(_ source: String, _ target: String) throws(ToolError) {
        guard let inside = resolved(source) else { return }
        // The target may not exist yet, but some directory above it does.
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
                "\(target.shortened) lies in \(source.shortened); the new store goes somewhere else"
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
                "--store is an identifier of 32 hexadecimal digits, not '\(text.shortened)'")
        }
        return StoreID(low: low, high: high)
    }

    private static func line(_ damage: SalvageReport.DamagedRange) -> String {
        "\(damage.file):\(damage.range.lowerBound): left behind "
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
        if report.hasLostFoldedOperations { losses.append("folded operations") }
        if report.lostExtensionCount > 0 {
            losses.append(
                "what \(Quantity.count(report.lostExtensionCount, "extension")) stood on")
        }
        if report.lostKeyCount > 0 { losses.append(Quantity.count(report.lostKeyCount, "key")) }
        if report.outdatedKeyCount > 0 {
            losses.append("the newest payload of " + Quantity.count(report.outdatedKeyCount, "key"))
        }
        return "kept \(Quantity.count(report.keptKeyCount, "key")), "
            + "\(Quantity.bytes(report.keptPayloadBytes)); lost "
            + (losses.isEmpty ? "nothing" : losses.joined(separator: ", "))
            + rest(report)
    }

    /// What was left behind that is not the store's.
    private static func rest(_ report: SalvageReport) -> String {
        guard !report.otherStoreFiles.isEmpty else { return "" }
        return " of this store; left behind \(report.otherStoreFiles.joined(separator: ", ")), "
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
        line.add("lostFoldedOperations", report.hasLostFoldedOperations)
        line.add("lostExtensions", report.lostExtensionCount)
        line.add("otherStoreFiles", report.otherStoreFiles)
        line.add("witness", report.witness)
        line.add("lostKeys", hasWitness ? UInt64(report.lostKeyCount) : nil)
        line.add("outdatedKeys", hasWitness ? UInt64(report.outdatedKeyCount) : nil)
        return line.closed
    }
}
