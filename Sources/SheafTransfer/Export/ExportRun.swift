import SheafBytes
import SheafDocument
package import SheafEngine
package import SheafStatements

/// An export to a file or a stream.
package struct ExportRun {
    /// The result of an export.
    package struct Outcome: Equatable, Sendable {
        /// Number of rows.
        package var rowCount = 0
        /// Differences between the file and the documents, such as names that it cannot have.
        package var notes: [String] = []
    }

    private let progress: ExportProgress

    package init(_ progress: ExportProgress = ExportProgress()) {
        self.progress = progress
    }

    /// Writes rows as text.
    package func write(
        _ source: RowSource, as format: ExportFormat, to stream: ExportStream
    ) throws(ExportError) -> Outcome {
        guard format != .sqlite else {
            throw .usage("a SQLite database is written to a file; name FILE")
        }
        let text = TextExport(source: source, stream: stream, progress: progress)
        return try text.run(format)
    }

    /// Writes rows to a file; on an error, there is no new file.
    ///
    /// `table` is the name of the table in a SQLite database.
    package func write(
        _ source: RowSource, as format: ExportFormat, table: String, to file: PendingFile
    ) throws(ExportError) -> Outcome {
        guard format == .sqlite else {
            let outcome = try write(source, as: format, to: ExportStream(file))
            try file.publish()
            return outcome
        }
        return try writeTables([(table, source)], to: file)
    }

    /// Writes all collections as tables of a SQLite database.
    package func writeTables(
        of snapshot: DocumentSnapshot, _ queries: QueryEngine, to file: PendingFile
    ) throws(ExportError) -> Outcome {
        var tables: [(String, RowSource)] = []
        for name in RowSource.collections(of: snapshot) {
            tables.append((name, try RowSource(.collection(name), queries, snapshot)))
        }
        return try writeTables(tables, to: file)
    }

    private func writeTables(
        _ tables: [(name: String, source: RowSource)], to file: PendingFile
    ) throws(ExportError) -> Outcome {
        var outcome = Outcome()
        do {
            let export = try SQLiteExport(into: file, progress)
            for (name, source) in tables { try export.add(source, as: name) }
            try export.finish()
            outcome = Outcome(rowCount: export.rowCount, notes: export.notes)
        }
        // SQLite has closed the database.
        try file.publish()
        return outcome
    }
}
