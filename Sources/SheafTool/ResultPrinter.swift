import SheafDocument
import SheafQuery

/// The output of the rows of a result.
///
/// Modes with columns iterate over the rows twice, first to find the columns, so that no row is
/// kept in memory.
struct ResultPrinter {
    let mode: ResultMode
    let output: Output

    /// Prints all rows.
    func print(_ rows: ResultRows) throws(StoreError) {
        switch mode {
        case .json:
            try rows.forEach { (row) throws(StoreError) in
                output.write(TerminalText.visible(Value.object(row).json))
                return !output.isClosed
            }
        case .line: try printFields(rows)
        case .csv: try printDelimited(rows)
        case .table: try printTable(rows)
        case .markdown: try printMarkdown(rows)
        }
    }

    /// Returns a value as text: strings without quotes, other values as JSON.
    static func text(_ value: Value) -> String {
        if case .string(let text) = value { return text }
        return value.json
    }

    // MARK: Lines

    private func printFields(_ rows: ResultRows) throws(StoreError) {
        let columns = rows.columns ?? []
        let known = Set(columns.map { Array($0.utf8) })
        var isFirst = true
        try rows.forEach { (row) throws(StoreError) in
            if !isFirst { output.write("") }
            isFirst = false
            for name in columns {
                if let value = row[name] { printField(name, value) }
            }
            for field in row where known.isEmpty || !known.contains(Array(field.name.utf8)) {
                printField(field.name, field.value)
            }
            return !output.isClosed
        }
    }

    private func printField(_ name: String, _ value: Value) {
        output.write(
            TerminalText.visible(name) + " = " + TerminalText.visible(Self.text(value)))
    }

    // MARK: CSV

    /// Prints RFC 4180 records, with control characters escaped only on a terminal.
    private func printDelimited(_ rows: ResultRows) throws(StoreError) {
        let columns = try ResultColumns(of: rows).all
        guard !columns.isEmpty else { return }
        printRecord(columns.map { Self.delimited(Value.string($0.name)) })
        try rows.forEach { (row) throws(StoreError) in
            printRecord(columns.map { row[$0.name].map(Self.delimited) ?? "" })
            return !output.isClosed
        }
    }

    private func printRecord(_ cells: [String]) {
        let line = cells.joined(separator: ",")
        output.write((output.isTerminal ? TerminalText.visible(line) : line) + "\r")
    }

    private static func delimited(_ value: Value) -> String {
        let cell = text(value)
        var needsQuotes = cell.utf8.contains {
            [UInt8(ascii: "\""), UInt8(ascii: ","), 0x0A, 0x0D].contains($0)
        }
        // The quotes distinguish these strings from missing values and null.
        if case .string = value, cell.isEmpty || cell == "null" { needsQuotes = true }
        guard needsQuotes else { return cell }
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in cell.utf8 {
            quoted.append(byte)
            if byte == UInt8(ascii: "\"") { quoted.append(byte) }
        }
        quoted.append(UInt8(ascii: "\""))
        return String(decoding: quoted, as: UTF8.self)
    }
}
