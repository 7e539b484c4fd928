import SheafBytes
package import SheafDocument

/// The meaning of the numbers of rows, for messages.
package enum RowNumbering: Hashable, Sendable {
    /// The number of the first line of a row, from 1.
    case lines
    /// The number of a value in a JSON array or sequence, from 1.
    case values
    /// The encoded row id (`number(ofRowID:)`) of a row of a table in SQLite.
    case rowIDs(table: String)
    /// The number of a row of a table without row ids, from 1.
    case rows(table: String)

    /// Returns the number of a row, so that numbers have the order of the ids.
    static func number(ofRowID id: Int64) -> UInt64 { UInt64(bitPattern: id) ^ 1 << 63 }

    /// Returns the name of a row.
    package func name(of row: UInt64) -> String {
        switch self {
        case .lines: "line \(row)"
        case .values: "value \(row)"
        case .rowIDs(let table):
            "table \(table.shortened), rowid \(Int64(bitPattern: row ^ 1 << 63))"
        case .rows(let table): "table \(table.shortened), row \(row)"
        }
    }

    /// Returns the name of all rows before a position.
    func names(before position: ImportPosition) -> String {
        switch self {
        case .lines, .values: "the good rows up to \(name(before: position))"
        case .rowIDs, .rows: name(before: position)
        }
    }

    /// Returns the name of a position as that of the rows before it.
    package func name(before position: ImportPosition) -> String {
        let last = position.row - 1
        return switch self {
        case .lines: "line \(last)"
        case .values: "value \(last)"
        case .rowIDs(let table), .rows(let table):
            (last == 1 ? "1 row" : "\(last) rows") + " of the table \(table.shortened)"
        }
    }
}
