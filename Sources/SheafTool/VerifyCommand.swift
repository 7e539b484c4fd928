import Sheaf
import SheafBytes
import SheafEngine
import SheafStorage

extension Command {
    /// The command `sheaf verify`.
    static let verify = Command(
        name: "verify", summary: "check every byte of a store", operands: ["PATH"],
        options: [.json],
        details: """
            Verifies all checksums, record chains, record pointers and footers, the order of the
            commits, and the keys of each checkpoint against the log. If nothing is damaged, every
            document is verified too. Nothing is written.

            Each finding is a line FILE:OFFSET: SEVERITY: REASON. If there is damage, the exit
            code is 3. The log recovers from a warning by itself; a note is a normal trace of a
            crash, or a file that does not belong to the store.

            JSON keys: type "finding" has severity, file, offset and reason. The last line has
            type "summary", damaged, findings, store, segments, bases, checkpoints,
            usableCheckpoints, bytes, records, commits, operations, lastCommit, keys, documents
            and tombstones. The last three are null if damage prevents counting; documents and
            tombstones also if the store is not a document store.
            """,
        run: VerifyCommand.run)
}

/// The implementation of `sheaf verify`.
enum VerifyCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let result = try onStore(at: path) { () throws(StorageError) in
            try Verifier.verify(try ReadOnlyVolume.open(at: path))
        }
        let documents = result.isDamaged ? nil : try verifyDocuments(at: path)
        let isJSON = arguments.has("json")
        for finding in result.findings + (documents?.findings.map(finding) ?? []) {
            output.write(isJSON ? json(finding) : line(finding))
        }
        output.write(isJSON ? json(result, documents) : summary(result, documents))
        if result.omittedCount > 0 {
            output.printError("\(result.omittedCount) more findings are not listed")
        }
        return isDamaged(result, documents) ? .damaged : .ok
    }

    private static func verifyDocuments(at path: String) throws(ToolError) -> DocumentVerifier? {
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let snapshot = try onStore(at: path) { () throws(StorageError) in
            try reader.snapshot()
        }
        do throws(EngineError) {
            return try DocumentVerifier.verify(snapshot)
        } catch {
            if case .storage(let error) = error { throw .storage(error, at: path) }
            throw .failed("\(path.shortened(to: ErrorText.limit)): \(error)")
        }
    }

    private static func finding(_ document: DocumentVerifier.Finding) -> Finding {
        Finding(
            .damage, FileName.name(ofSegment: document.position.segment),
            at: document.position.offset, document.reason)
    }

    private static func isDamaged(
        _ result: Verification, _ documents: DocumentVerifier?
    ) -> Bool {
        result.isDamaged || documents?.findings.isEmpty == false
    }

    private static func line(_ finding: Finding) -> String {
        "\(finding.file):\(finding.offset): \(finding.severity.rawValue): \(finding.reason)"
    }

    private static func summary(
        _ result: Verification, _ documents: DocumentVerifier?
    ) -> String {
        let keys = result.keyCount.map { Quantity.count($0, "key") + ", " } ?? ""
        let count = documents.map { Quantity.count($0.documentCount, "document") + ", " } ?? ""
        return (isDamaged(result, documents) ? "damaged: " : "ok: ") + keys + count
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

    private static func json(
        _ result: Verification, _ documents: DocumentVerifier?
    ) -> String {
        var line = JSONLine()
        line.add("type", "summary")
        line.add("damaged", isDamaged(result, documents))
        line.add(
            "findings",
            result.findings.count + result.omittedCount + (documents?.findings.count ?? 0))
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
        line.add("documents", documents.map { UInt64($0.documentCount) })
        line.add("tombstones", documents.map { UInt64($0.tombstoneCount) })
        return line.closed
    }
}
