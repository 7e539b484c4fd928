import SheafBytes
import SheafStorage
import SheafStore
import SheafSystem

extension Command {
    /// The command `sheaf backup`.
    static let backup = Command(
        name: "backup", summary: "copy a store, also while it is in use, into a new directory",
        operands: ["PATH", "NEW"],
        options: [
            Option(
                name: "since", value: "BACKUP",
                summary: "copy only what has changed since this backup, and share the rest"),
            .json,
        ],
        details: """
            The copy has all commits that are durable when it begins, and all attachments. It gets
            its name once it is durable and verified: after an error or a crash there is no NEW.
            NEW must be empty or not exist. Files of a crashed backup next to NEW are removed.

            A backup is complete or absent: if the log is damaged, or an attachment that a document
            references, the error names the file, the exit code is 3, and there is no NEW. 'sheaf
            verify PATH' lists all damaged attachments and says how to repair them. A damaged
            attachment that no document references is left out, and a note names it.

            With --since, NEW is complete, too: files that did not change are shared with BACKUP
            where the file system permits it, and BACKUP can be deleted later. Shared files are
            verified, too, but one that is damaged later is damaged in both, so make a backup
            without --since from time to time.

            A backup is a store. Opened for writing, it becomes another site with its first write.

            JSON keys: type "result", commit, copiedBytes, copiedFiles, sharedBytes, sharedFiles,
            milliseconds and omittedAttachments, the files of those left out.
            """,
        run: BackupCommand.runBackup)

    /// The command `sheaf restore`.
    static let restore = Command(
        name: "restore", summary: "copy a backup into a new store that continues from it",
        operands: ["BACKUP", "NEW"], options: [.json],
        details: """
            The copy is verified. NEW becomes another site with its first write, so that it can
            sync with the store that was backed up, even if that one is still in use. NEW must be
            empty or not exist. BACKUP is not changed.

            JSON keys: those of 'sheaf backup'.
            """,
        run: BackupCommand.runRestore)
}

/// The implementation of `sheaf backup` and `sheaf restore`.
enum BackupCommand {
    /// The maximum number of attachments that notes name.
    private static let maximumNotes = 20

    @Sendable static func runBackup(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        if arguments.value("since")?.isEmpty == true {
            throw .usage("BACKUP is empty; usage: \(Command.backup.usage)")
        }
        return try copy(arguments, since: arguments.value("since"), "backed up", output)
    }

    @Sendable static func runRestore(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        try copy(arguments, since: nil, "restored", output)
    }

    private static func copy(
        _ arguments: Arguments, since earlier: String?, _ verb: String, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let (path, newPath) = (arguments.operands[0], arguments.operands[1])
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let start = Clock.system.monotonicNanoseconds()
        let line = ProgressLine(start: start)
        let options = BackupWriter.Options(
            random: { OperatingSystem.randomInteger() },
            attachments: .ofDocuments
        ) {
            line.show($0, at: Clock.system.monotonicNanoseconds())
        }
        defer { line.erase() }
        // An error may concern any of the directories, and names its file.
        let report = try onStore(at: nil) { () throws(StorageError) in
            try BackupWriter.write(
                BackupSource(reader), at: path, to: newPath, since: earlier, options)
        }
        line.erase()
        printNotes(on: report.omittedAttachments, output)
        let milliseconds = (Clock.system.monotonicNanoseconds() - start) / 1_000_000
        output.write(
            arguments.has("json")
                ? json(report, milliseconds) : text(report, verb, milliseconds))
        return .ok
    }

    /// Writes a note for each damaged attachment that was left out, up to a limit.
    private static func printNotes(on omitted: [Finding], _ output: Output) {
        for finding in omitted.prefix(maximumNotes) {
            output.print(
                note: "\(finding.file) is damaged and left out, because no document references it")
        }
        guard omitted.count > maximumNotes else { return }
        output.print(
            note: "left out because of damage: "
                + Quantity.count(omitted.count - maximumNotes, "more attachment"))
    }

    private static func text(
        _ report: CopyReport, _ verb: String, _ milliseconds: UInt64
    ) -> String {
        let shared =
            report.sharedFiles == 0
            ? ""
            : ", shared \(Quantity.bytes(report.sharedBytes)) in "
                + Quantity.count(report.sharedFiles, "file")
        return "\(verb) through commit \(report.commit): copied "
            + "\(Quantity.bytes(report.copiedBytes)) in "
            + "\(Quantity.count(report.copiedFiles, "file"))\(shared), verified, "
            + "\(milliseconds) ms"
    }

    private static func json(_ report: CopyReport, _ milliseconds: UInt64) -> String {
        var line = JSONLine()
        line.add("type", "result")
        line.add("commit", report.commit)
        line.add("copiedBytes", report.copiedBytes)
        line.add("copiedFiles", report.copiedFiles)
        line.add("sharedBytes", report.sharedBytes)
        line.add("sharedFiles", report.sharedFiles)
        line.add("milliseconds", milliseconds)
        line.add("omittedAttachments", report.omittedAttachments.map(\.file))
        return line.closed
    }
}
