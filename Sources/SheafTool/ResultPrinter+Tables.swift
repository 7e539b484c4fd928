import SheafDocument
import SheafQuery

/// Tables for terminals and in Markdown.
extension ResultPrinter {
    /// Maximum width of a cell outside of a terminal, in terminal cells.
    private static let maximumWidth = 60

    /// The characters between and around the cells of a table.
    private struct Borders {
        let left: String
        let between: String
        let right: String

        /// Width of both margins together, in terminal cells.
        var marginWidth: Int { left.count + right.count }
    }

    private struct Table {
        let columns: ArraySlice<ResultColumns.Column>
        let widths: [Int]
        let hasHidden: Bool
    }

    /// Prints the rows as a box or an aligned table, and their number.
    func printTable(_ rows: ResultRows) throws(StoreError) {
        let screen = output.isTerminal ? Screen.current() : nil
        let limit = screen?.columns ?? Self.maximumWidth
        let columns = try ResultColumns(
            of: rows, measuring: { TerminalText.fitted(Self.text($0), to: limit).width }
        ).all
        guard !columns.isEmpty else { return output.write(summary(rows.count)) }
        let natural = columns.map {
            max($0.width, TerminalText.fitted($0.name, to: limit).width)
        }
        let borders =
            mode == .box
            ? Borders(left: "│ ", between: " │ ", right: " │")
            : Borders(left: "", between: " | ", right: "")
        let layout = ColumnLayout(
            natural, available: screen?.columns, border: borders.marginWidth,
            gap: borders.between.count)
        let table = Table(
            columns: columns.prefix(layout.widths.count), widths: layout.widths,
            hasHidden: layout.hiddenCount > 0)
        printRule(table, "┌─", "─┬─", "─┐", isInside: false)
        printCells(table, borders) { column, width in
            (TerminalText.fitted(column.name, to: width), column.isNumeric, .bold)
        }
        printRule(table, "├─", "─┼─", "─┤", isInside: true)
        try rows.forEach { (row) throws(StoreError) in
            printCells(table, borders) { column, width in
                guard let value = row[column.name] else { return (.init(), false, nil) }
                let style: TerminalStyle? = value == .null ? .dim : nil
                return (
                    TerminalText.fitted(Self.text(value), to: width), Self.isNumber(value), style
                )
            }
            return !output.isClosed
        }
        printRule(table, "└─", "─┴─", "─┘", isInside: false)
        if mode == .table { output.write("") }
        let note =
            layout.hiddenCount == 0
            ? "" : ", \(layout.widths.count) of \(columns.count) columns (the mode line shows all)"
        output.write(
            mode == .box
                ? output.styled(summary(rows.count, note), .dim)
                : summary(rows.count, note))
    }

    private func printRule(
        _ table: Table, _ left: String, _ between: String, _ right: String, isInside: Bool
    ) {
        let widths = table.widths + (table.hasHidden ? [1] : [])
        guard mode == .box else {
            guard isInside else { return }
            return output.write(
                widths.map { String(repeating: "-", count: $0) }.joined(separator: "-+-"))
        }
        let line = widths.map { String(repeating: "─", count: $0) }.joined(separator: between)
        output.write(output.styled(left + line + right, .dim))
    }

    private func printCells(
        _ table: Table, _ borders: Borders,
        _ cell: (ResultColumns.Column, Int) -> (TerminalText.Fitted, isNumber: Bool, TerminalStyle?)
    ) {
        let between = output.styled(borders.between, .dim)
        var line = output.styled(borders.left, .dim)
        for (index, column) in table.columns.enumerated() {
            if index > 0 { line += between }
            let (fitted, isNumber, style) = cell(column, table.widths[index])
            let gap = String(repeating: " ", count: max(0, table.widths[index] - fitted.width))
            if isNumber { line += gap }
            line += style.map { output.styled(fitted.text, $0) } ?? fitted.text
            if !isNumber { line += gap }
        }
        if table.hasHidden { line += between + "…" }
        line += output.styled(borders.right, .dim)
        if mode == .table {
            // Trailing spaces would only matter when the text is copied.
            while line.utf8.last == 0x20 { line.removeLast() }
        }
        output.write(line)
    }

    private static func isNumber(_ value: Value) -> Bool {
        switch value {
        case .integer, .float: true
        default: false
        }
    }

    /// Prints the rows as a table in GitHub Flavored Markdown.
    func printMarkdown(_ rows: ResultRows) throws(StoreError) {
        let columns = try ResultColumns(of: rows).all
        guard !columns.isEmpty else { return }
        printMarkdown(columns.map { Self.escaped($0.name) })
        printMarkdown(columns.map { $0.isNumeric ? "---:" : "---" })
        try rows.forEach { (row) throws(StoreError) in
            printMarkdown(columns.map { row[$0.name].map { Self.escaped(Self.text($0)) } ?? "" })
            return !output.isClosed
        }
    }

    private func printMarkdown(_ cells: [String]) {
        output.write("| " + cells.joined(separator: " | ") + " |")
    }

    /// Returns the text with the special characters of Markdown escaped.
    private static func escaped(_ text: String) -> String {
        // A single underscore has no meaning in Markdown, and most field names have at most one.
        let hasUnderscores = text.utf8.count { $0 == UInt8(ascii: "_") } > 1
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": escaped += "<br>"
            case "\\", "|", "*", "`", "<", "&", "[", "~":
                escaped += "\\"
                escaped.unicodeScalars.append(scalar)
            case "_" where hasUnderscores: escaped += "\\_"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return TerminalText.visible(escaped)
    }
}
