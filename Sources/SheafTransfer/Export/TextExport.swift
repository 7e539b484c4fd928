import SheafDocument

/// The export of rows as text.
struct TextExport {
    let source: RowSource
    let stream: ExportStream
    /// The receiver of the numbers of rows read and written.
    let progress: ExportProgress

    /// Writes all rows.
    func run(_ format: ExportFormat) throws(ExportError) -> ExportRun.Outcome {
        switch format {
        case .jsonl: ExportRun.Outcome(rowCount: try writeLines())
        case .json: ExportRun.Outcome(rowCount: try writeArray())
        case .csv: try writeCSV()
        case .markdown: ExportRun.Outcome(rowCount: try writeMarkdown())
        case .sqlite: preconditionFailure("A database is not a text.")
        }
    }

    private func writeLines() throws(ExportError) -> Int {
        var count = 0
        var buffer: [UInt8] = []
        try source.forEachJSON(&buffer) { (buffer) throws(ExportError) in
            buffer.append(0x0A)
            count += 1
            try progress.report(count, stream.sentCount)
            try stream.sendIfFull(&buffer)
        }
        try stream.sendAll(&buffer)
        return count
    }

    private func writeArray() throws(ExportError) -> Int {
        var count = 0
        var buffer = Array("[\n".utf8)
        // A comma is inserted at the start of each row but the first, once the row is known.
        var start = buffer.count
        try source.forEachJSON(&buffer) { (buffer) throws(ExportError) in
            if count > 0 { buffer.insert(contentsOf: ",\n".utf8, at: start) }
            count += 1
            try progress.report(count, stream.sentCount)
            try stream.sendIfFull(&buffer)
            start = buffer.count
        }
        buffer.append(contentsOf: (count > 0 ? "\n]\n" : "]\n").utf8)
        try stream.sendAll(&buffer)
        return count
    }

    private func writeCSV() throws(ExportError) -> ExportRun.Outcome {
        let columns = try ExportColumns(of: source, progress)
        var buffer: [UInt8] = []
        var count = 0
        guard !columns.all.isEmpty else {
            return ExportRun.Outcome(rowCount: columns.rowCount)
        }
        CSVCells.append(names: columns.all.map(\.name), to: &buffer)
        try source.forEachObject { (row) throws(ExportError) in
            for (index, column) in columns.all.enumerated() {
                if index > 0 { buffer.append(UInt8(ascii: ",")) }
                if let value = row[column.name] { CSVCells.append(value, to: &buffer) }
            }
            buffer.append(contentsOf: "\r\n".utf8)
            count += 1
            try progress.report(count, stream.sentCount)
            try stream.sendIfFull(&buffer)
        }
        try stream.sendAll(&buffer)
        var outcome = ExportRun.Outcome(rowCount: count)
        if source.hasUniqueIDs, let note = columns.csvImportNote { outcome.notes.append(note) }
        return outcome
    }

    private func writeMarkdown() throws(ExportError) -> Int {
        let columns = try ExportColumns(of: source, progress)
        var buffer: [UInt8] = []
        var count = 0
        guard !columns.all.isEmpty else { return columns.rowCount }
        MarkdownCells.append(columns.all.map { MarkdownCells.escaped($0.name) }, to: &buffer)
        MarkdownCells.append(
            columns.all.map { $0.kinds.isNumeric ? "---:" : "---" }, to: &buffer)
        try source.forEachObject { (row) throws(ExportError) in
            MarkdownCells.append(
                columns.all.map { row[$0.name].map(MarkdownCells.text) ?? "" }, to: &buffer)
            count += 1
            try progress.report(count, stream.sentCount)
            try stream.sendIfFull(&buffer)
        }
        try stream.sendAll(&buffer)
        return count
    }
}

extension ExportColumns.Kinds {
    /// Whether all values are numbers or null, and at least one is a number.
    var isNumeric: Bool {
        !isDisjoint(with: [.integer, .float]) && isSubset(of: [.integer, .float, .null])
    }
}
