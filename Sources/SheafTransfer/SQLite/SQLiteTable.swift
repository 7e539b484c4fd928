import SheafBytes

/// A table of a SQLite database that can be imported.
package struct SQLiteTable {
    /// A column, as the schema declares it.
    struct Column {
        let name: String
        /// The declared type in lowercase; empty if there is none.
        let type: String
        /// The position in the primary key, from 1; 0 if the column is not part of it.
        let keyPosition: Int

        /// Whether the name has these bytes; Unicode equivalence is not enough.
        func isNamed(_ other: String) -> Bool { name.utf8.elementsEqual(other.utf8) }
    }

    package let name: String
    let columns: [Column]
    /// The name by which statements refer to the row id; nil if the table has none.
    let rowID: String?

    /// The columns of the primary key, in its order.
    var key: [Column] {
        columns.filter { $0.keyPosition > 0 }.sorted { $0.keyPosition < $1.keyPosition }
    }

    /// Returns the index of a column; nil if there is none.
    func index(of name: String) -> Int? { columns.firstIndex { $0.isNamed(name) } }

    /// The tables of a database, and the names of those that cannot be imported.
    package struct List {
        package var tables: [SQLiteTable] = []
        /// Views and virtual tables, with the reason.
        package var others: [(name: String, reason: String)] = []
    }

    /// Reads the schema of a database.
    package static func all(of database: SQLiteDatabase) throws(SQLiteError) -> List {
        var list = List()
        let statement = try SQLiteStatement(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' "
                + "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name", in: database)
        while try statement.step() {
            guard let name = statement.text(0), let kind = statement.text(1) else {
                throw SQLiteError("the database has a table whose name is not valid UTF-8")
            }
            switch kind {
            case "table":
                list.tables.append(
                    try SQLiteTable(name, in: database, hasRowID: statement.integer(2) == 0))
            case "view":
                list.others.append((name, "is a view; copy it with CREATE TABLE ... AS SELECT"))
            case "virtual":
                list.others.append(
                    (name, "is a virtual table; copy it with CREATE TABLE ... AS SELECT"))
            // The tables in which a virtual table stores its content.
            default: break
            }
        }
        return list
    }

    private init(
        _ name: String, in database: SQLiteDatabase, hasRowID: Bool
    ) throws(SQLiteError) {
        self.name = name
        var columns: [Column] = []
        let quoted = SQLiteDatabase.quoted(name)
        let statement = try SQLiteStatement("PRAGMA table_xinfo(\(quoted))", in: database)
        while try statement.step() {
            guard let column = statement.text(1), let type = statement.text(2) else {
                throw SQLiteError(
                    "the table \(name.shortened) has a column whose name is not valid UTF-8")
            }
            columns.append(
                Column(
                    name: column, type: type.lowercased(),
                    keyPosition: Int(statement.integer(5))))
        }
        self.columns = columns
        let taken = Set(columns.map { $0.name.lowercased() })
        rowID = hasRowID ? ["rowid", "_rowid_", "oid"].first { !taken.contains($0) } : nil
    }
}
