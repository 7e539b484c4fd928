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
        // The source has made the id of the column.
        options.idName = "_id"
        let sqlite = try onImport { () throws(ImportError) in
            try SQLiteImport(
                path: file, collection: collection, table: arguments.value("table"),
                try sqliteOptions(arguments))
        }
        for skipped in sqlite.skipped {
            output.print(note: TerminalText.visible(skipped) + "; it is not imported")
        }
        // The first source is opened before the store, so that a wrong option creates no store.
        for part in sqlite.parts {
            _ = try onImport { () throws(ImportError) in try sqlite.source(part) }
        }
        let signals = try StopSignals()
        let log = try openLog(at: path, output)
        var code = ExitCode.ok
        var importedCount: UInt64 = 0
        do throws(ToolError) {
            let queries = try queries(log, at: path)
            // All tables are checked before the first one is imported.
            var runs: [(run: ImportRun, target: ImportTarget)] = []
            for part in sqlite.parts {
                let target = ImportTarget(log, queries, collection: part.collection)
                let run = try prepare(part, of: sqlite, target, options, output)
                if let run { runs.append((run, target)) }
            }
            for (run, target) in runs where !signals.wait(milliseconds: 0) {
                do throws(ToolError) {
                    let report = try self.run(
                        run, target, file, signals, output, rowNoun: "row")
                    importedCount += report.importedCount
                    if !report.isComplete { code = .failed }
                } catch {
                    if sqlite.parts.count > 1 {
                        output.print(
                            note: "the import ended with \(TerminalText.visible(target.collection))"
                                + ": with --resume it skips the tables that are complete")
                    }
                    throw error
                }
            }
        } catch {
            try? log.close()
            throw error
        }
        try onStore(at: path) { () throws(StorageError) in
            try ImportTarget.close(log, after: importedCount)
        }
        return code
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
                output.write("\(TerminalText.visible(part.collection)) had been imported before")
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
