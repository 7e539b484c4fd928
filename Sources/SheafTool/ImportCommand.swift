import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTransfer

extension Command {
    /// The command `sheaf import`.
    static let importFile = Command(
        name: "import", summary: "insert the rows of a file as documents",
        operands: ["PATH", "FILE"], optionalOperands: ["FILE"],
        synopsis: ["PATH", "[COLLECTION]", "FILE"],
        options: [
            Option(
                name: "format", value: "FORMAT", words: ImportCommand.formatNames,
                summary: ImportCommand.formatNames.joined(separator: ", ")
                    + "; by default from the name and the first bytes"),
            Option(
                name: "id", value: "FIELD", summary: "the field that becomes the _id (default _id)"
            ),
            Option(
                name: "on-conflict", value: "ACTION", words: ImportCommand.conflicts.map(\.0),
                summary: "for an _id in use: fail (default), nothing, update or update-local-diff"),
            Option(name: "resume", summary: "continue an interrupted import of the same file"),
            Option(
                name: "restart",
                summary: "import all rows once more; those of the interrupted import stay"),
            Option(name: "strict", summary: "stop at the first bad row"),
            Option(
                name: "max-errors", value: "N", summary: "stop when more than N rows are bad"),
            Option(
                name: "separator", value: "C",
                summary: "CSV: the character between fields, or 'tab' (default: as in the header)"
            ),
            Option(
                name: "types", value: "NAME=TYPE,...",
                summary: "CSV: text, integer, float, boolean or json for some columns"),
            Option(
                name: "null", value: "TEXT", summary: "CSV: the unquoted field that means null"),
            Option(
                name: "table", value: "NAME",
                summary: "SQLite: the table to import (default: all tables)"),
            Option(
                name: "json-columns", value: "NAME,...",
                summary: "SQLite: columns whose texts are JSON, besides those declared JSON"),
            Option(name: "full", summary: "read what 'sheaf export --full' has written"),
        ],
        details: """
            Creates the store and the collection if they are missing. FILE has one JSON object per
            line, a JSON array of objects, or CSV with a header; - is standard input. A row without
            _id gets a new one, and these sort in the order of the rows; with --id, FIELD becomes the
            _id, and must be in each row.

            A CSV file follows RFC 4180. An empty field is missing. A column has the type of all
            its fields: integers, floats or Booleans, and text otherwise. Numbers with leading
            zeros or a sign + and integers beyond 64 bits are text, so that no digit is lost.

            Rows are written in commits of several thousand. A row that cannot be read is skipped,
            and reported with its line, its number in a JSON file, or its table and rowid. With
            --max-errors N the import ends with the bad row N + 1: all good rows that precede it are
            imported, and no others. With --resume an import that was interrupted, even by a
            power cut, continues after the last commit: each row is imported once. The file must
            be the same, and so must standard input from its beginning: all bytes read before are
            compared. Of a SQLite table, its columns and the range of its row ids are.

            --on-conflict has the words of ON ID CONFLICT: nothing keeps the document, update sets
            all fields of the row in it, and update-local-diff those that differ. With fail, the
            first row with an _id in use ends the import: all good rows that precede it are imported,
            and no others.

            A SQLite database must be a file. It has a table for each collection; with COLLECTION,
            --table chooses one. It needs libsqlite3 (Debian: libsqlite3-0), which
            \(SQLiteLibrary.pathVariable) can name. The primary key becomes the _id, as an object if it has several columns.
            NULL is a missing field. Columns declared BOOLEAN have false and true for 0 and 1.

            --full restores all collections, with counters, deletions, indexes and attachments.
            Documents that the store has already are merged, as if a peer had sent them; after an
            interruption, run the same command again.

            The exit code is 1 if a row was bad, or the import failed or was interrupted.
            """,
        run: ImportCommand.run)
}

/// The implementation of `sheaf import`.
enum ImportCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let file = arguments.operands[arguments.operands.count - 1]
        let named = arguments.operands.count == 3 ? arguments.operands[1] : nil
        try checkOrder(path, isFull: arguments.has("full"))
        if arguments.has("full") {
            guard named == nil else {
                throw .usage("--full imports all collections: sheaf import PATH FILE --full")
            }
            return try runFull(file, arguments, output)
        }
        if let named { try check(collection: named) }
        if isSQLite(file, arguments) {
            return try runSQLite(file, into: named, arguments, output)
        }
        for option in ["table", "json-columns"] where arguments.value(option) != nil {
            throw .usage("--\(option) applies to SQLite databases, and \(file.shortened) is none")
        }
        guard let collection = named else {
            throw .usage(
                "missing COLLECTION, which only --full and SQLite databases that are files do "
                    + "without; usage: " + Command.importFile.usage)
        }
        return try importRows(of: file, into: collection, arguments, output)
    }

    private static func importRows(
        of file: String, into collection: String, _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let options = try options(arguments)
        let csv = try csvOptions(arguments, idName: options.idName)
        let format = try format(arguments)
        // The file is opened first, so that a wrong name creates no store.
        let source: any ImportSource
        do throws(ImportError) {
            source = try ImportFile.open(file, format, csv)
        } catch {
            throw ToolError(error)
        }
        // Threads of the store inherit the mask of signals.
        let signals = try StopSignals()
        let log = try onStore(at: path) { () throws(StorageError) in
            try ImportTarget.openLog(at: path)
        }
        let isNew = log.snapshot().commit == 0
        if isNew { output.printError("created the store \(TerminalText.visible(path))") }
        let report: ImportReport
        do throws(ToolError) {
            let target = try target(log, collection, at: path)
            let run: ImportRun
            do throws(ImportError) {
                run = try ImportRun(source, into: target, options)
            } catch {
                throw ToolError(error)
            }
            report = try self.run(run, target, file, signals, output)
        } catch {
            try? log.close()
            throw error
        }
        try onStore(at: path) { () throws(StorageError) in
            try ImportTarget.close(log, after: report.importedCount)
        }
        return report.isComplete ? .ok : .failed
    }

    /// Throws if the first operand is a file, which is probably the one to read.
    private static func checkOrder(_ path: String, isFull: Bool) throws(ToolError) {
        guard PosixPath.isRegularFile(path) else { return }
        let file = path.shortened(to: ErrorText.limit)
        throw .usage(
            "\(file) is a file, and the first argument is a store, which is a directory: "
                + (isFull
                    ? "sheaf import NEWSTORE \(file) --full"
                    : "sheaf import NEWSTORE COLLECTION \(file)"))
    }

    private static func target(
        _ log: LogStore, _ collection: String, at path: String
    ) throws(ToolError) -> ImportTarget {
        do throws(StoreError) {
            return ImportTarget(log, try QueryEngine(opening: log.engine), collection: collection)
        } catch {
            throw .statement(error, at: path)
        }
    }

    /// Runs an import and prints its progress and its result.
    static func run(
        _ run: ImportRun, _ target: ImportTarget, _ file: String, _ signals: StopSignals,
        _ output: Output
    ) throws(ToolError) -> ImportReport {
        let interrupt = run.interruption
        do throws(ThreadRefused) {
            _ = try Thread(name: "sheaf-stop") {
                _ = signals.wait()
                interrupt()
            }
        } catch {
            throw .failed("cannot create a thread (error \(error.code))")
        }
        var printer = ImportPrinter(file, target.collection, output)
        let report: ImportReport
        do throws(ImportError) {
            report = try run.run { printer.print($0) }
        } catch {
            printer.fail()
            throw ToolError(error)
        }
        printer.finish(report)
        return report
    }

    // MARK: Options

    static func options(_ arguments: Arguments) throws(ToolError) -> ImportOptions {
        var options = ImportOptions()
        options.resumes = arguments.has("resume")
        options.restarts = arguments.has("restart")
        guard !options.resumes || !options.restarts else {
            throw .usage("--resume and --restart are mutually exclusive")
        }
        if let name = arguments.value("id") {
            guard !name.isEmpty else { throw .usage("--id must name a field") }
            options.idName = name
        }
        if let action = arguments.value("on-conflict") {
            guard let known = conflicts.first(where: { $0.0 == action }) else {
                throw .usage(
                    "unknown --on-conflict '\(action.shortened)'; expected "
                        + conflicts.map(\.0).joined(separator: ", ")
                        + OptionSuggestion.text(for: action, among: conflicts.map(\.0)))
            }
            options.conflict = known.1
        }
        if let limit = try arguments.number("max-errors") { options.badRowLimit = limit }
        guard arguments.has("strict") else { return options }
        guard arguments.value("max-errors") == nil else {
            throw .usage("--strict and --max-errors are mutually exclusive")
        }
        options.badRowLimit = 0
        return options
    }

    fileprivate static let conflicts: [(String, DocumentChange.Conflict)] = [
        ("fail", .fail), ("nothing", .doNothing), ("update", .merge),
        ("update-local-diff", .mergeDifferences),
    ]

    /// The values of `--format`.
    fileprivate static let formatNames = ImportFormat.allCases.map(\.rawValue) + [sqliteFormat]

    private static func format(_ arguments: Arguments) throws(ToolError) -> ImportFormat? {
        guard let name = arguments.value("format") else { return nil }
        guard let format = ImportFormat(rawValue: name) else {
            let names = formatNames.joined(separator: ", ")
            throw .usage(
                "unknown --format '\(name.shortened)'; expected \(names)"
                    + OptionSuggestion.text(for: name, among: formatNames))
        }
        return format
    }

    private static func csvOptions(
        _ arguments: Arguments, idName: String
    ) throws(ToolError) -> CSVOptions {
        var options = CSVOptions()
        options.idName = idName
        options.null = arguments.value("null")
        if let separator = arguments.value("separator") {
            let bytes = separator == "tab" ? [0x09] : Array(separator.utf8)
            guard bytes.count == 1, ![0x0A, 0x0D, UInt8(ascii: "\"")].contains(bytes[0]) else {
                throw .usage(
                    "--separator must be one ASCII character or 'tab', and no quote or line "
                        + "break, not '\(separator.shortened)'")
            }
            options.separator = bytes[0]
        }
        guard let types = arguments.value("types") else { return options }
        for part in types.split(separator: ",", omittingEmptySubsequences: false) {
            // The name of a column may contain the character =.
            guard let mark = part.lastIndex(of: "="), mark > part.startIndex,
                let type = ColumnType(rawValue: String(part[part.index(after: mark)...]))
            else {
                throw .usage(
                    "--types has '\(String(part).shortened)'; expected NAME=TYPE, where TYPE is "
                        + ColumnType.allCases.map(\.rawValue).joined(separator: ", "))
            }
            options.types.append((String(part[..<mark]), type))
        }
        return options
    }

    private static func check(collection: String) throws(ToolError) {
        guard !collection.hasPrefix("system:") else {
            throw .usage("\(collection.shortened) is a system collection, which is read-only")
        }
    }
}

extension ImportReport {
    /// Whether all rows were imported.
    var isComplete: Bool {
        !isStopped && !isInterrupted && badRowCount + earlierBadRowCount == 0
    }
}

extension ToolError {
    /// Creates the error of the tool for an error of an import.
    init(_ error: ImportError) {
        switch error {
        case .usage(let message): self = .usage(TerminalText.visible(message))
        case .source(let message), .store(let message):
            self = .failed(TerminalText.visible(message))
        case .damaged(let message): self = .damaged(TerminalText.visible(message))
        }
    }
}
