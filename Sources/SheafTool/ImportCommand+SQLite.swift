import SheafBytes
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTransfer

/// Imports from SQLite databases.
extension ImportCommand {
    /// Whether an operand is a SQLite database.
    static func isSQLite(_ path: String, _ arguments: Arguments) -> Bool {
        if let format = arguments.value("format") { return format == sqliteFormat }
        return SQLiteImport.isDatabase(path)
    }

    static let sqliteFormat = "sqlite"

    /// Imports the tables of a database, one after the other.
    static func runSQLite(
        _ file: String, into collection: String?, _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        for option in ["separator", "types", "null"] where arguments.value(option) != nil {
            throw .usage("--\(option) applies to CSV, and \(file.shortened) is a SQLite database")
        }
        let path = arguments.operands[0]
        var options = try options(arguments)
        // The source already returns the column as `_id`.
        options.idName = "_id"
        let sqlite = try onImport { () throws(ImportError) in
            try SQLiteImport(
                path: file, collection: collection, table: arguments.value("table"),
                try sqliteOptions(arguments))
        }
        for skipped in sqlite.skipped {
            output.print(note: TerminalText.visible(skipped) + "; it is not imported")
        }
        // All sources are opened before the store, so that a wrong option creates no store.
        for part in sqlite.parts {
            _ = try onImport { () throws(ImportError) in try sqlite.source(part) }
        }
        let signals = try StopSignals()
        let log = try openLog(at: path, output)
        let result: (code: ExitCode, importedCount: UInt64)
        do throws(ToolError) {
            let queries = try queries(log, at: path)
            // All tables are checked before the first one is imported.
            var runs: [TableRun] = []
            for part in sqlite.parts {
                let target = ImportTarget(log, queries, collection: part.collection)
                let run = try prepare(part, of: sqlite, target, options, output)
                if let run { runs.append(TableRun(table: part.table, run: run, target: target)) }
            }
            result = try self.run(runs, file, signals, output)
        } catch {
            try? log.close()
            throw error
        }
        try onStore(at: path) { () throws(StorageError) in
            try ImportTarget.close(log, after: result.importedCount)
        }
        return result.code
    }

    /// The prepared import of a table.
    private struct TableRun {
        let table: String
        let run: ImportRun
        let target: ImportTarget
    }

    /// Imports tables until one stops; returns the exit code and the number of documents.
    private static func run(
        _ tables: [TableRun], _ file: String, _ signals: StopSignals, _ output: Output
    ) throws(ToolError) -> (ExitCode, UInt64) {
        var code = ExitCode.ok
        var importedCount: UInt64 = 0
        for (index, table) in tables.enumerated() {
            guard !signals.wait(milliseconds: 0) else {
                printNote(notImported: tables[index...], output)
                return (.failed, importedCount)
            }
            let others = tables[(index + 1)...]
            let report: ImportReport
            do throws(ToolError) {
                report = try run(table.run, table.target, file, signals, output)
            } catch {
                printNote(notImported: others, output)
                throw error
            }
            importedCount += report.importedCount
            if !report.isComplete { code = .failed }
            guard !report.isStopped, !report.isInterrupted else {
                printNote(notImported: others, output)
                break
            }
        }
        return (code, importedCount)
    }

    /// Prints a note with the tables after the one in which an import stopped, if there are any.
    private static func printNote(notImported tables: ArraySlice<TableRun>, _ output: Output) {
        guard !tables.isEmpty else { return }
        let names = tables.map { "'\(TerminalText.visible($0.table.shortened))'" }
        output.print(
            note: (tables.count == 1 ? "the table " : "the tables ")
                + names.joined(separator: ", ") + (tables.count == 1 ? " was" : " were")
                + " not imported; --resume imports the rest, without the tables whose collection "
                + "has documents and whose import was not interrupted")
    }

    /// Prepares the import of a table; returns nil if an earlier import has finished it.
    private static func prepare(
        _ part: SQLiteImport.Part, of sqlite: SQLiteImport, _ target: ImportTarget,
        _ options: ImportOptions, _ output: Output
    ) throws(ToolError) -> ImportRun? {
        if options.resumes, sqlite.parts.count > 1 {
            let isFinished = try onImport { () throws(ImportError) in
                try SQLiteImport.isFinished(try sqlite.source(part), target)
            }
            if isFinished {
                output.write(
                    "the table '\(TerminalText.visible(part.table.shortened))' is skipped: its "
                        + "collection has documents, and its import was not interrupted")
                return nil
            }
        }
        return try onImport { () throws(ImportError) in
            try ImportRun(try sqlite.source(part), into: target, options)
        }
    }

    private static func sqliteOptions(
        _ arguments: Arguments
    ) throws(ImportError) -> SQLiteSource.Options {
        var options = SQLiteSource.Options()
        options.idColumn = arguments.value("id")
        if let text = arguments.value("json-columns") {
            options.jsonColumns = text.split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
            guard !options.jsonColumns.contains("") else {
                throw .usage(
                    "--json-columns needs names with commas between them, not "
                        + "'\(text.shortened)'")
            }
        }
        return options
    }
}

/// Runs `body` and converts its errors.
func onImport<Result>(
    _ body: () throws(ImportError) -> Result
) throws(ToolError) -> Result {
    do throws(ImportError) { return try body() } catch { throw ToolError(error) }
}
