import SheafStorage

extension Command {
    /// Checks a store.
    static let verify = Command(
        name: "verify", summary: "check every byte of a store", operands: ["PATH"],
        options: [.json],
        details: """
            Checks every checksum, chain, link and footer, the order of the commits, and the
            keys of each checkpoint against the whole log. Nothing is written.

            A finding is a line FILE:OFFSET: SEVERITY: REASON. Damage ends the command with exit
            code 3. A warning is a thing that the log makes good by itself; a note is what a crash
            may leave behind, or a file that is not the store's.

            JSON: a finding has the keys type ("finding"), severity, file, offset, reason. The
            last line has type ("summary"), damaged, findings, store, segments, bases,
            checkpoints, usableCheckpoints, bytes, records, commits, operations, lastCommit and
            keys, which is null when damage keeps it from being known.
            """,
        run: VerifyCommand.run)
}

/// `sheaf verify`.
enum VerifyCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let result = try onStore(at: path) { () throws(StorageError) in
            try Verifier.verify(try ReadOnlyVolume.open(at: path))
        }
        let isJSON = arguments.has("json")
        for finding in result.findings {
            output.write(isJSON ? json(finding) : line(finding))
        }
        output.write(isJSON ? json(result) : summary(result))
        if result.omittedCount > 0 {
            output.tell("\(result.omittedCount) more findings are not listed")
        }
        return result.isDamaged ? .damaged : .ok
    }

    private static func line(_ finding: Finding) -> String {
        "\(finding.file):\(finding.offset): \(finding.severity.rawValue): \(finding.reason)"
    }

    private static func summary(_ result: Verification) -> String {
        let keys = result.keyCount.map { Quantity.count($0, "key") + ", " } ?? ""
        return (result.isDamaged ? "damaged: " : "ok: ") + keys
            + "last commit \(result.lastCommit), "
            + "\(Quantity.count(result.segmentCount, "segment")), "
            + "\(Quantity.count(result.baseCount, "base file")), "
            + "\(Quantity.count(result.checkpointCount, "checkpoint")), "
            + "\(Quantity.count(result.recordCount, "record")), "
            + Quantity.bytes(result.byteCount)
    }

    private static func json(_ finding: Finding) -> String {
        var line = JSONLine()
        line.add("type", "finding")
        line.add("severity", finding.severity.rawValue)
        line.add("file", finding.file)
        line.add("offset", finding.offset)
        line.add("reason", finding.reason)
        return line.closed
    }

    private static func json(_ result: Verification) -> String {
        var line = JSONLine()
        line.add("type", "summary")
        line.add("damaged", result.isDamaged)
        line.add("findings", result.findings.count + result.omittedCount)
        line.add("store", result.store?.description)
        line.add("segments", result.segmentCount)
        line.add("bases", result.baseCount)
        line.add("checkpoints", result.checkpointCount)
        line.add("usableCheckpoints", result.usableCheckpointCount)
        line.add("bytes", result.byteCount)
        line.add("records", result.recordCount)
        line.add("commits", result.commitCount)
        line.add("operations", result.operationCount)
        line.add("lastCommit", result.lastCommit)
        line.add("keys", result.keyCount.map { UInt64($0) })
        return line.closed
    }
}
