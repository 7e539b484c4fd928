package import SheafDocument

/// Rows of one shape: a collection of Sheaf, and a table of the other systems.
///
/// A key of one column is the `_id` of the document; a key of several columns is an object with
/// these fields. Fields that are null in a row are missing in the document.
package struct FlatTable: Sendable {
    /// The type of a column.
    package enum Kind: Sendable {
        case integer, text
    }

    package let name: String
    package let columns: [(name: String, kind: Kind)]
    /// The columns of the primary key.
    package let key: [String]
    /// The columns of each index, in all systems but DuckDB, which scans its columns.
    package let indexes: [[String]]
    package private(set) var rows: [[Value]] = []

    /// Creates an empty table; its key is `_id` unless `key` has other columns.
    package init(
        _ name: String, key: [String] = ["_id"], integers: [String], texts: [String] = [],
        indexes: [[String]] = []
    ) {
        self.name = name
        self.key = key
        self.indexes = indexes
        columns = integers.map { ($0, .integer) } + texts.map { ($0, .text) }
    }

    /// Appends a row with its values in the order of the columns: integers first, then texts.
    package mutating func append(_ values: Value...) {
        precondition(values.count == columns.count, "A row has a value for each column.")
        rows.append(values)
    }

    /// Returns the number of a column.
    package func index(of column: String) -> Int? { columns.firstIndex { $0.name == column } }

    /// Returns a row as a flat object, with all columns that are not null.
    package func object(_ row: [Value]) -> Object {
        Object(
            zip(columns, row).compactMap { column, value in
                if case .null = value { nil } else { (column.name, value) }
            })
    }

    /// Returns the document of a row.
    package func document(_ row: [Value]) -> Object {
        var document = object(row)
        guard key != ["_id"] else { return document }
        var id = Object()
        for column in key {
            id[column] = document[column]
            document[column] = nil
        }
        document["_id"] = .object(id)
        return document
    }

    /// The path of a column in the document.
    private func path(of column: String) -> String {
        key != ["_id"] && key.contains(column) ? "_id.\(column)" : column
    }

    /// The statements of Sheaf that create the indexes.
    ///
    /// A key of several columns has one, like the primary key of SQLite, because the order of
    /// documents by `_id` serves only conditions on the complete `_id`.
    package var dqlIndexes: [String] {
        let all = key.count > 1 ? [key] + indexes : indexes
        return all.enumerated().map { number, columns in
            let paths = columns.map(path).joined(separator: ", ")
            return "CREATE INDEX \(name)_\(number) ON \(name) (\(paths))"
        }
    }

    /// The statements of SQLite that create the indexes.
    package var sqliteIndexes: [String] {
        indexes.enumerated().map { number, columns in
            "CREATE INDEX \(name)_\(number) ON \(name)(\(columns.joined(separator: ", ")))"
        }
    }

    /// The statement of SQLite that creates the table.
    package var sqliteTable: String {
        let isNumbered =
            key.count == 1 && columns.contains { $0.name == key[0] && $0.kind == .integer }
        let list = columns.map { "\($0.name) \($0.kind == .integer ? "INTEGER" : "TEXT")" }
        return "CREATE TABLE \(name)(\(list.joined(separator: ", ")), "
            + "PRIMARY KEY(\(key.joined(separator: ", "))))\(isNumbered ? "" : " WITHOUT ROWID")"
    }

    /// The statement of DuckDB that creates the table.
    package var duckDBTable: String {
        let list = columns.map { "\($0.name) \($0.kind == .integer ? "BIGINT" : "VARCHAR")" }
        return "CREATE TABLE \(name)(\(list.joined(separator: ", ")), "
            + "PRIMARY KEY(\(key.joined(separator: ", "))))"
    }

    /// Returns the statement of DuckDB that loads the table from a file of JSON lines.
    package func duckDBLoad(from path: String) -> String {
        let list = columns.map { "\($0.name): '\($0.kind == .integer ? "BIGINT" : "VARCHAR")'" }
        return "INSERT INTO \(name) SELECT * FROM read_json('\(path)', "
            + "format = 'newline_delimited', columns = {\(list.joined(separator: ", "))})"
    }
}
