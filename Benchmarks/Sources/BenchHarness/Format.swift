/// Formatting of numbers and tables.
package enum Format {
    /// Returns a number with at most two decimals and thousands separators, or "-" if not finite.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        let size = abs(value)
        if size >= 100 { return grouped(Int(value.rounded())) }
        return fixed(value, decimals: size >= 10 ? 1 : 2)
    }

    /// Returns a rounded number; it has no sign if it rounds to zero.
    package static func fixed(_ value: Double, decimals: Int) -> String {
        let factor = (0..<decimals).reduce(1) { product, _ in product * 10 }
        let scaled = Int((abs(value) * Double(factor)).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return sign + String(scaled) }
        let fraction = String(scaled % factor)
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(sign)\(scaled / factor).\(zeros)\(fraction)"
    }

    /// Returns rows as aligned lines; the columns with indexes in `rightAligned` are right-aligned.
    package static func table(_ rows: [[String]], rightAligned: Set<Int>) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                return rightAligned.contains(column) ? blanks + cell : cell + blanks
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    private static func grouped(_ value: Int) -> String {
        var digits = Array(String(abs(value)))
        var position = digits.count - 3
        while position > 0 {
            digits.insert(",", at: position)
            position -= 3
        }
        return (value < 0 ? "-" : "") + String(digits)
    }
}
