package import SheafDocument

/// A query of a table workload, in the languages of all systems.
package struct TableQuery: Sendable {
    /// The source of an argument.
    package enum Argument: Sendable {
        /// A column of a random row; all arguments of one table have the values of one row.
        case column(String, of: String)
        /// A random integer of a range.
        case integer(ClosedRange<Int>)
        /// One of the texts.
        case text([String])
    }

    package let name: String
    package let dql: String
    package let sql: String
    private let arguments: KeyValuePairs<String, Argument>
    private let setCount: Int

    /// The default number of sets of arguments of a query that has arguments.
    private static let defaultSetCount = 8

    /// Creates a query.
    ///
    /// Without `sql`, the text of SQL is derived from the other one. A query runs once for each of
    /// `sets` different sets of arguments.
    package init(
        _ name: String, _ dql: String, sql: String? = nil, sets: Int? = nil,
        _ arguments: KeyValuePairs<String, Argument> = [:]
    ) {
        self.name = name
        self.dql = dql
        self.sql = sql ?? Self.sql(of: dql)
        self.arguments = arguments
        setCount = arguments.isEmpty ? 1 : sets ?? Self.defaultSetCount
    }

    /// Whether the query changes documents.
    package var isWriting: Bool { !dql.hasPrefix("SELECT") }

    /// The text for DuckDB, whose parameters begin with a dollar sign.
    package var duckDB: String { sql.replacing(#/:(\w+)/#) { "$\($0.output.1)" } }

    /// Returns the SQL of a statement over flat tables.
    ///
    /// A missing field is a null column, and each part of an `_id` is a column.
    package static func sql(of dql: String) -> String {
        dql.replacing(#/IS (NOT )?MISSING/#) { "IS \($0.output.1 ?? "")NULL" }
            .replacing(#/((?:\w+\.)?)_id = \{([^}]*)\}/#) { match in
                let parts = match.output.2.split(separator: ", ").map { part in
                    let sides = part.split(separator: ": ")
                    let column = sides[0].filter { $0 != "'" }
                    return "\(match.output.1)\(column) = \(sides[1])"
                }
                return parts.joined(separator: " AND ")
            }
            .replacing("_id.", with: "")
    }

    /// Returns the sets of arguments for the rows of tables; the same for all systems.
    package func sets(_ tables: [FlatTable], seed: UInt64) -> [[String: Value]] {
        var random = RandomSource(seed: seed)
        return (0..<setCount).map { _ in
            var chosen: [String: [Value]] = [:]
            var values: [String: Value] = [:]
            for (name, argument) in arguments {
                switch argument {
                case .integer(let range):
                    values[name] = .integer(Int64(range.lowerBound + random.below(range.count)))
                case .text(let texts): values[name] = .string(texts[random.below(texts.count)])
                case .column(let column, let tableName):
                    guard let table = tables.first(where: { $0.name == tableName }),
                        let index = table.index(of: column)
                    else { preconditionFailure("The table \(tableName) has \(column).") }
                    let row = chosen[tableName] ?? table.rows[random.below(table.rows.count)]
                    chosen[tableName] = row
                    values[name] = row[index]
                }
            }
            return values
        }
    }
}
