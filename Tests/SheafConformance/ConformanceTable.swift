import SheafDocument

/// A table of cases; in its statement, `@1` is the row header and `@2` the column header.
struct ConformanceTable: Sendable {
    package enum Kind: Sendable {
        /// Each cell is the value of the column `v`.
        case values
        /// Column headers are ids; an x marks each document found.
        case ids
    }

    private let kind: Kind
    private let statement: String
    private var columnHeaders: [String]?

    init(_ kind: Kind, _ statement: String) {
        self.kind = kind
        self.statement = statement
    }

    /// Parses a row into statements with their expected results.
    mutating func read(
        _ line: String, _ value: (String) throws(ConformanceSyntaxError) -> Value?
    ) throws(ConformanceSyntaxError) -> [(text: String, expected: [String])] {
        let cells = Self.cells(of: line)
        guard let columnHeader = cells.first else { return [] }
        guard let columnHeaders else {
            columnHeaders = Array(cells.dropFirst())
            return []
        }
        if columnHeader.hasPrefix("---") { return [] }
        var cases: [(String, [String])] = []
        var found: [String] = []
        for (column, cell) in zip(columnHeaders, cells.dropFirst()) {
            switch kind {
            case .ids:
                if cell == "x" { found.append("= {\"_id\":\"\(column)\"}") }
            case .values:
                let expected = try value(cell).map { "= {\"v\":\($0.json)}" } ?? "= {}"
                cases.append((filled(columnHeader, column), [expected]))
            }
        }
        return kind == .ids ? [(filled(columnHeader, ""), found)] : cases
    }

    private func filled(_ row: String, _ column: String) -> String {
        var text = ""
        var rest = statement[...]
        while let next = rest.firstIndex(of: "@") {
            text += rest[..<next]
            let number = rest.index(after: next)
            text += rest[number...].hasPrefix("2") ? column : row
            rest = rest[rest.index(after: number)...]
        }
        return text + rest
    }

    /// Returns the cells between the bars; `\|` is a bar inside a cell.
    private static func cells(of line: String) -> [String] {
        var cells: [String] = []
        var cell = ""
        var isEscaped = false
        for character in line.dropFirst() {
            switch character {
            case "\\" where !isEscaped: isEscaped = true
            case "|" where !isEscaped:
                cells.append(trimmed(cell))
                cell = ""
            default:
                if isEscaped, character != "|" { cell.append("\\") }
                isEscaped = false
                cell.append(character)
            }
        }
        return cells
    }

    private static func trimmed(_ text: String) -> String {
        let start = text.drop { $0 == " " }
        let end = start.lastIndex { $0 != " " }
        return end.map { String(start[...$0]) } ?? ""
    }
}
