import SheafDocument
import SheafQuery

/// Tables for terminals and in Markdown.
extension ResultPrinter {
    /// Maximum width of a table cell, in columns of the terminal.
    private static let maximumWidth = 60

    /// Prints the rows as an aligned table, and their number.
    func printTable(_ rows: ResultRows) throws(StoreError) {
        var columns = try ResultColumns(of: rows, measuring: { Self.cell($0).width }).all
        for (index, column) in columns.enumerated() {
            columns[index].width = max(column.width, Self.header(column).width)
        }
        if !columns.isEmpty {
            printCells(columns) { (Self.header($0), $0.isNumeric) }
            output.write(
                columns.map { String(repeating: "-", count: $0.width) }.joined(separator: "-+-"))
            try rows.forEach { (row) throws(StoreError) in
                printCells(columns) { column in
                    guard let value = row[column.name] else { return (.init(), false) }
                    return (Self.cell(value), Self.isNumber(value))
                }
                return !output.isClosed
            }
            output.write("")
        }
        output.write(Quantity.count(rows.count, "row"))
    }

    private func printCells(
        _ columns: [ResultColumns.Column],
        _ cell: (ResultColumns.Column) -> (TerminalText.Fitted, isNumber: Bool)
    ) {
        var line: [UInt8] = []
        for (index, column) in columns.enumerated() {
            if index > 0 { line += " | ".utf8 }
            let (fitted, isNumber) = cell(column)
            let gap = repeatElement(0x20 as UInt8, count: max(0, column.width - fitted.width))
            if isNumber { line += gap }
            line += fitted.text.utf8
            if !isNumber { line += gap }
        }
        // Trailing spaces would only matter when the text is copied.
        while line.last == 0x20 { line.removeLast() }
        output.write(String(decoding: line, as: UTF8.self))
    }

    private static func cell(_ value: Value) -> TerminalText.Fitted {
        TerminalText.fitted(text(value), to: maximumWidth)
    }

    private static func header(_ column: ResultColumns.Column) -> TerminalText.Fitted {
        TerminalText.fitted(column.name, to: maximumWidth)
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
