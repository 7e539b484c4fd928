import Sheaf
import SheafAttachments
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
            document is verified too. All attachments are read and compared with their ids, which
            are hashes of their bytes. Nothing is written.

            Each finding is a line FILE:OFFSET: SEVERITY: REASON. If there is damage, the exit
            code is 3. The store recovers from a warning by itself; a note is a normal trace of a
            crash, or a file that does not belong to the store.

            A damaged attachment cannot be read, and no backup can be made while a document
            references it. It is repaired by adding the same content again. Or close the store and
            remove the file: the attachment is then missing, and can be fetched from a peer that has
            it.

            JSON keys: type "finding" has severity, file, offset and reason. The last line has
            type "summary", damaged, findings, store, segments, bases, checkpoints,
            usableCheckpoints, bytes, records, commits, operations, lastCommit, keys, documents,
            tombstones and attachments (those read, complete or not). Keys, documents and tombstones
            are null if damage prevents counting; documents and tombstones also if the store is not
            a document store.
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
        func write(_ finding: Finding) { output.write(isJSON ? json(finding) : line(finding)) }
        for finding in result.findings + (documents?.findings.map(finding) ?? []) {
            write(finding)
        }
        let attachments = try onStore(at: path) { () throws(StorageError) in
            try AttachmentVerification.verify(try ReadOnlyVolume.open(at: path), write)
        }
        let outcome = Outcome(log: result, documents: documents, attachments: attachments)
        output.write(isJSON ? json(outcome) : summary(outcome))
        if result.omittedCount > 0 {
            output.printError("\(result.omittedCount) more findings are not listed")
        }
        return outcome.isDamaged ? .damaged : .ok
    }

    /// The results of all checks.
    private struct Outcome {
        let log: Verification
        /// Nil if the documents were not verified, because the log is damaged.
        let documents: DocumentVerifier?
        let attachments: AttachmentVerification

        var isDamaged: Bool {
            log.isDamaged || attachments.isDamaged || documents?.findings.isEmpty == false
        }

        var findingCount: Int {
            log.findings.count + log.omittedCount + (documents?.findings.count ?? 0)
                + attachments.findingCount
        }
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

    private static func line(_ finding: Finding) -> String {
        "\(finding.file):\(finding.offset): \(finding.severity.rawValue): \(finding.reason)"
    }

    private static func summary(_ outcome: Outcome) -> String {
        let result = outcome.log
        let keys = result.keyCount.map { Quantity.count($0, "key") + ", " } ?? ""
        let documents =
            outcome.documents.map { Quantity.count($0.documentCount, "document") + ", " } ?? ""
        let attachments =
            outcome.attachments.fileCount == 0
            ? "" : Quantity.count(outcome.attachments.fileCount, "attachment") + ", "
        return (outcome.isDamaged ? "damaged: " : "ok: ") + keys + documents + attachments
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

    private static func json(_ outcome: Outcome) -> String {
        let result = outcome.log
        var line = JSONLine()
        line.add("type", "summary")
        line.add("damaged", outcome.isDamaged)
        line.add("findings", outcome.findingCount)
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
        line.add("documents", outcome.documents.map { UInt64($0.documentCount) })
        line.add("tombstones", outcome.documents.map { UInt64($0.tombstoneCount) })
        line.add("attachments", outcome.attachments.fileCount)
        return line.closed
    }
}
