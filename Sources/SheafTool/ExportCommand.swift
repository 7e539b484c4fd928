import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTransfer

extension Command {
    /// The command `sheaf export`.
    static let export = Command(
        name: "export", summary: "write documents to a file of another format",
        operands: ["PATH"], optionalOperands: ["SOURCE", "FILE"],
        options: [
            Option(
                name: "format", value: "FORMAT", words: ExportFormat.allCases.map(\.rawValue),
                summary: ExportFormat.names + "; by default from the extension of FILE"),
            Option(
                name: "arg", value: "NAME=JSON", isRepeatable: true,
                summary: "set the parameter :NAME of a statement"),
            Option(
                name: "table", value: "NAME",
                summary: "the table of a statement's rows in a SQLite database (default: rows)"),
            Option(name: "force", summary: "replace FILE if it exists"),
            Option(name: "full", summary: "write all collections with their complete states"),
        ],
        details: """
            SOURCE is a collection, or a statement that reads. Without FILE, rows go to standard
            output, as jsonl by default. FILE is complete or absent: it gets its name when all rows
            are on the disk. Until then it is a hidden file beside FILE; if the export is killed,
            the next one to the directory removes it. Only its owner can read it. Memory does not grow with the number of
            rows, except for a statement that must sort them or find distinct ones.

              sheaf export cars.sheaf cars cars.csv
              sheaf export cars.sheaf "SELECT * FROM cars WHERE color = 'red'" --format jsonl
              sheaf export cars.sheaf cars.sqlite
              sheaf export cars.sheaf --full | gzip > cars.jsonl.gz

            jsonl has one row per line, json one array of all rows. In both, bytes are Base64 text,
            and NaN and infinities are null. csv follows RFC 4180; its header has all fields of all
            rows. A missing field is an empty cell, null is null, arrays and objects are JSON, and
            strings that resemble another value are quoted. A note has the options of 'sheaf import'
            that give the same documents, or names the columns that CSV does not preserve. markdown
            is a table.

            sqlite writes a database with a table for each collection, all of them without SOURCE.
            It needs libsqlite3 (Debian: libsqlite3-0), which \(SQLiteLibrary.pathVariable) can
            name. _id is the primary key. Columns are INTEGER, REAL, TEXT or BLOB if all values are;
            BOOLEAN has 0 and 1; a column of arrays and objects, or of booleans and other values,
            is JSON TEXT. Missing fields are NULL, and so is null outside of JSON TEXT. SQLite does
            not distinguish the case of names, so a second name gets a number; a note says so.

            --full writes JSON lines with the exact states of all documents, deletions, indexes
            and attachments: see format-spec/export.md. 'sheaf import --full' makes an equal store
            of them, which 'sheaf checksum' confirms.
            """,
        run: ExportCommand.run)
}

/// The implementation of `sheaf export`.
enum ExportCommand {
    /// The source and the destination of an export.
    private struct Task {
        /// The collection or the statement; nil exports all collections.
        var source: String?
        /// The file; nil is standard output.
        var file: String?
        var format: ExportFormat
        var isFull = false
    }

    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let task = try task(arguments)
        let path = arguments.operands[0]
        if let file = task.file { try OutputFile.check(file, isOutside: path) }
        // Threads inherit the mask of signals.
        let signals = task.file == nil ? nil : try StopSignals()
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let queries: QueryEngine
        do throws(StoreError) { queries = try QueryEngine(reading: reader) } catch {
            throw .statement(error, at: path)
        }
        let meter = ExportMeter(signals)
        do throws(ExportError) {
            try run(task, arguments, queries, reader, meter, output)
        } catch {
            meter.clear()
            // The reader of standard output needs no more rows.
            guard error != .closed else { return .ok }
            throw ToolError(error, at: path)
        }
        return .ok
    }

    private static func task(_ arguments: Arguments) throws(ToolError) -> Task {
        let operands = Array(arguments.operands.dropFirst())
        var task = Task(format: .jsonl)
        task.isFull = arguments.has("full")
        let named = try arguments.value("format").map { (name) throws(ToolError) in
            try format(named: name)
        }
        if task.isFull {
            guard named == nil, arguments.value("table") == nil, operands.count < 2 else {
                throw .usage(
                    "--full writes all collections, in a format of its own: sheaf export PATH "
                        + "[FILE] --full")
            }
            task.file = operands.first
            return task
        }
        guard let first = operands.first else {
            throw .usage("missing SOURCE; usage: \(Command.export.usage)")
        }
        if operands.count == 2 {
            (task.source, task.file) = (first, operands[1])
        } else if named ?? ExportFormat(ofFile: first) == .sqlite, !isStatement(first) {
            task.file = first
        } else {
            task.source = first
        }
        guard let file = task.file else {
            task.format = named ?? .jsonl
            guard task.format != .sqlite else {
                throw .usage("a SQLite database is written to a file; name FILE")
            }
            return task
        }
        guard let format = named ?? ExportFormat(ofFile: file) else {
            throw .usage(
                "the name '\(file.shortened)' has no known extension; add --format with one of "
                    + ExportFormat.names)
        }
        task.format = format
        return task
    }

    private static func format(named name: String) throws(ToolError) -> ExportFormat {
        guard let format = ExportFormat(rawValue: name) else {
            throw .usage(
                "unknown format '\(name.shortened)'"
                    + OptionSuggestion.text(
                        for: name, among: ExportFormat.allCases.map(\.rawValue))
                    + "; the formats are \(ExportFormat.names)")
        }
        return format
    }

    /// The words with which statements begin; those that write are refused as such.
    private static let statementWords: Set<String> = [
        "select", "explain", "profile", "show", "advise", "insert", "update", "delete", "evict",
        "create", "drop", "alter",
    ]

    /// Whether an operand is a statement rather than the name of a collection or a file.
    private static func isStatement(_ text: String) -> Bool {
        let words = text.split(maxSplits: 2) { $0.isWhitespace }
        let first = words.first?.lowercased() ?? ""
        return words.count > 1 && statementWords.contains(first)
    }

    private static func run(
        _ task: Task, _ arguments: Arguments, _ queries: QueryEngine, _ reader: LogReader,
        _ meter: ExportMeter, _ output: Output
    ) throws(ExportError) {
        let snapshot = queries.snapshot()
        let force = arguments.has("force")
        guard !task.isFull else {
            return try runFull(task.file, force, snapshot, reader, meter, output)
        }
        let run = ExportRun(meter.progress)
        var source: RowSource?
        if let text = task.source {
            source = try RowSource(
                try content(text, arguments, snapshot), queries, snapshot)
        }
        let outcome: ExportRun.Outcome
        if let path = task.file {
            let file = try PendingFile(path: path, replacing: force)
            if let source {
                outcome = try run.write(
                    source, as: task.format, table: table(of: source, arguments), to: file)
            } else {
                outcome = try run.writeTables(of: snapshot, queries, to: file)
            }
        } else if let source {
            let stream = ExportStream(output)
            outcome = try run.write(source, as: task.format, to: stream)
        } else {
            return
        }
        meter.clear()
        // Without a file, nothing but rows is printed.
        for note in outcome.notes where task.file != nil {
            output.print(note: TerminalText.visible(note))
        }
        if let path = task.file {
            output.printError(
                "wrote \(Quantity.count(outcome.rowCount, "row")) to "
                    + TerminalText.visible(path.shortened))
        }
    }

    private static func content(
        _ text: String, _ arguments: Arguments, _ snapshot: DocumentSnapshot
    ) throws(ExportError) -> RowSource.Content {
        // A collection may have any name, even that of a statement.
        guard snapshot.catalog.number(ofCollection: text) == nil, isStatement(text) else {
            return .collection(text)
        }
        let values: [String: Value]
        do throws(ToolError) {
            values = try StatementInput.arguments(arguments.allValues("arg"))
        } catch {
            throw .usage(error.message)
        }
        do throws(StoreError) {
            return .statement(try Parser.parse(text), ArgumentValues(values))
        } catch {
            throw .store(error)
        }
    }

    private static func table(of source: RowSource, _ arguments: Arguments) -> String {
        if let name = arguments.value("table") { return name }
        if case .collection(let name) = source.content { return name }
        return "rows"
    }
}

extension ExportFormat {
    /// All formats, for messages.
    fileprivate static var names: String {
        allCases.map(\.rawValue).joined(separator: ", ")
    }
}
