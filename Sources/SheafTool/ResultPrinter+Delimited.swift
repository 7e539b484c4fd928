import SheafDocument
import SheafQuery

/// Records whose values are separated by commas or tabs.
extension ResultPrinter {
    /// Prints CSV (RFC 4180) or TSV, with control characters escaped on a terminal.
    func printDelimited(_ rows: ResultRows) throws(StoreError) {
        let columns = try ResultColumns(of: rows).all
        guard !columns.isEmpty else { return }
        let cell = mode == .csv ? Self.delimited : Self.tabbed
        printRecord(columns.map { cell(Value.string($0.name)) })
        try rows.forEach { (row) throws(StoreError) in
            printRecord(columns.map { row[$0.name].map(cell) ?? "" })
            return !output.isClosed
        }
    }

    private func printRecord(_ cells: [String]) {
        guard mode == .csv else {
            // On a terminal, all control characters but the tabs between cells are escaped.
            let shown = output.isTerminal ? cells.map(TerminalText.visible) : cells
            return output.write(shown.joined(separator: "\t"))
        }
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

    /// Returns a value for TSV: null is `\N`, and tabs, line breaks and backslashes are escaped.
    private static func tabbed(_ value: Value) -> String {
        if value == .null { return "\\N" }
        let cell = text(value)
        var escaped: [UInt8] = []
        for byte in cell.utf8 {
            switch byte {
            case 0x09: escaped += "\\t".utf8
            case 0x0A: escaped += "\\n".utf8
            case 0x0D: escaped += "\\r".utf8
            case UInt8(ascii: "\\"): escaped += "\\\\".utf8
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}
