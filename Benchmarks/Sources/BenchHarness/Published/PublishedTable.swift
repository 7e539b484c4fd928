/// The published results as a table in Markdown.
package enum PublishedTable {
    private static let columns = ["SQLite", "LMDB", "RocksDB"]

    /// Returns the lines of the table; cells in which the engine is slower are bold.
    package static func lines(_ results: PublishedResults) -> [String] {
        let header = ["", "Sheaf"] + columns + ["others"]
        var rows = [header, header.map { _ in "---" }]
        for group in results.groups {
            rows += group.rows.map { row in
                let name = "\(group.title.prefix { $0 != ":" }): \(row.label)"
                let others = row.ratios.filter { !columns.contains($0.name) }
                return [name, "\(Format.number(row.value)) \(row.unit)"]
                    + columns.map { column in
                        row.ratios.first { $0.name == column }.map { cell($0.advantage) } ?? ""
                    } + [others.map { "\(cell($0.advantage)) \($0.name)" }.joined(separator: ", ")]
            }
        }
        return rows.map { "| " + $0.joined(separator: " | ") + " |" }
    }

    private static func cell(_ advantage: Double) -> String {
        let ratio = Format.ratio(advantage)
        return advantage < 1 ? "**\(ratio)**" : ratio
    }
}
