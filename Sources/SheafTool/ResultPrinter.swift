import SheafDocument
import SheafQuery

/// The output of the rows of a result.
///
/// Modes with columns iterate over the rows twice, first to find the columns, so that no row is
/// kept in memory.
struct ResultPrinter {
    let mode: ResultMode
    let output: Output
    /// The time that the statement took, printed after the rows on a terminal.
    var nanoseconds: UInt64?

    /// Prints all rows.
    func print(_ rows: ResultRows) throws(StoreError) {
        switch mode {
        case .json, .jsonl:
            var printer = JSONPrinter(mode, output)
            try print(rows, to: &printer)
            printer.close()
        case .line: try printFields(rows)
        case .csv, .tsv: try printDelimited(rows)
        case .box, .table: try printTable(rows)
        case .markdown: try printMarkdown(rows)
        }
    }

    /// Prints the rows as JSON.
    func print(_ rows: ResultRows, to printer: inout JSONPrinter) throws(StoreError) {
        var filled = printer
        defer { printer = filled }
        try rows.forEach { (row) throws(StoreError) in
            filled.add(TerminalText.visible(Value.object(row).json))
            return !output.isClosed
        }
    }

    /// The number of rows, with the time on a terminal.
    func summary(_ count: Int, _ note: String = "") -> String {
        var text = Quantity.count(count, "row") + note
        if output.isTerminal, let nanoseconds { text += " in " + ElapsedTime.text(nanoseconds) }
        return text
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
        guard output.isTerminal else { return }
        if !isFirst { output.write("") }
        output.write(output.styled(summary(rows.count), .dim))
    }

    private func printField(_ name: String, _ value: Value) {
        let text = TerminalText.visible(Self.text(value))
        output.write(
            output.styled(TerminalText.visible(name), .bold) + " = "
                + (value == .null ? output.styled(text, .dim) : text))
    }
}
