import SheafBytes
package import SheafDocument

/// The rows of a table of a SQLite database, each of which becomes a document.
///
/// A table with row ids is read in their order, any other in the order of its primary key.
/// `ImportPosition.offset` is the distance of the last row id from the least one plus 1, or else
/// the number of rows read.
package struct SQLiteSource: ImportSource {
    private let table: SQLiteTable
    private let database: SQLiteDatabase
    private let decoding: SQLiteRowDecoding
    private let range: RowRange
    private var statement: SQLiteStatement?
    private var position = ImportPosition()

    package let identity: ImportIdentity
    package var end: UInt64? { range.length }
    package var numbering: RowNumbering {
        table.rowID == nil ? .rows(table: table.name) : .rowIDs(table: table.name)
    }

    /// The rows of the table.
    private struct RowRange {
        /// The least row id; 0 if the table has none.
        var first: Int64 = 0
        /// The number of row ids from the least to the greatest one, or the number of rows.
        var length: UInt64 = 0
    }

    /// The options of an import from a database.
    package struct Options: Hashable, Sendable {
        /// The column that becomes the id; nil for the primary key.
        package var idColumn: String?
        /// Columns whose texts are JSON, besides those that are declared so.
        package var jsonColumns: [String] = []

        package init() {}
    }

    /// Creates the source of a table; `path` is that of the database.
    package init(
        _ table: SQLiteTable, of database: SQLiteDatabase, path: String, _ options: Options
    ) throws(ImportError) {
        (self.table, self.database) = (table, database)
        decoding = try SQLiteRowDecoding(table, options)
        do throws(SQLiteError) {
            range = try Self.range(of: table, in: database)
        } catch {
            throw .source(error.message)
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let words = [table.name, options.idColumn ?? ""] + options.jsonColumns.sorted()
        let head = Array(
            (table.columns.map { "\($0.name) \($0.type)" } + ["\(range.first) \(range.length)"])
                .joined(separator: "\n").utf8)
        identity = ImportIdentity(
            name: name.shortened(to: ImportProgress.maximumNameLength / 4), length: range.length,
            head: head.span.withUnsafeBytes { XXH3.hash64($0) },
            options: words.map { Value.string($0).json }.joined(separator: " "))
    }

    private static func range(
        of table: SQLiteTable, in database: SQLiteDatabase
    ) throws(SQLiteError) -> RowRange {
        let name = SQLiteDatabase.quoted(table.name)
        guard let rowID = table.rowID else {
            let statement = try SQLiteStatement("SELECT count(*) FROM \(name)", in: database)
            guard try statement.step() else { return RowRange() }
            return RowRange(length: UInt64(clamping: statement.integer(0)))
        }
        // Two statements, because SQLite finds only a single MIN or MAX without reading all rows.
        var ends: [Int64] = []
        for function in ["min", "max"] {
            let statement = try SQLiteStatement(
                "SELECT \(function)(\(rowID)) FROM \(name)", in: database)
            guard try statement.step(), case .integer(let end) = statement.column(0) else {
                return RowRange()
            }
            ends.append(end)
        }
        let distance = UInt64(bitPattern: ends[1] &- ends[0])
        return RowRange(first: ends[0], length: distance == .max ? .max : distance + 1)
    }

    package mutating func skip(to position: ImportPosition) throws(ImportError) {
        self.position = position
    }

    package mutating func read(into batch: inout ImportBatch) throws(ImportError) -> Bool {
        do throws(SQLiteError) { return try readRows(into: &batch) } catch {
            throw .source(error.message)
        }
    }

    private mutating func readRows(into batch: inout ImportBatch) throws(SQLiteError) -> Bool {
        let statement: SQLiteStatement
        if let begun = self.statement { statement = begun } else { statement = try begin() }
        self.statement = statement
        while true {
            batch.position = position
            guard !batch.isFull else { return true }
            guard try statement.step() else { return false }
            let row: UInt64
            if table.rowID == nil {
                position.offset += 1
                row = position.row
            } else {
                let id = statement.integer(table.columns.count)
                let distance = UInt64(bitPattern: id &- range.first)
                position.offset = distance == .max ? .max : distance + 1
                row = RowNumbering.number(ofRowID: id)
            }
            position.row += 1
            do throws(SQLiteRowDecoding.Refusal) {
                batch.append(try decoding.object(of: statement), row: row)
            } catch {
                batch.reject(row: row, error.reason)
            }
        }
    }

    private func begin() throws(SQLiteError) -> SQLiteStatement {
        var columns = table.columns.map { SQLiteDatabase.quoted($0.name) }
        let name = SQLiteDatabase.quoted(table.name)
        let isContinued = position.row > 1
        guard let rowID = table.rowID else {
            let key = table.key.map { SQLiteDatabase.quoted($0.name) }
            // A table has no row id for statements if its columns have all names of the row id.
            let order = key.isEmpty ? "" : " ORDER BY " + key.joined(separator: ", ")
            return try SQLiteStatement(
                "SELECT \(columns.joined(separator: ", ")) FROM \(name)\(order)"
                    + " LIMIT -1 OFFSET \(isContinued ? position.offset : 0)", in: database)
        }
        columns.append(rowID)
        let last = range.first &+ Int64(bitPattern: position.offset &- 1)
        return try SQLiteStatement(
            "SELECT \(columns.joined(separator: ", ")) FROM \(name)"
                + (isContinued ? " WHERE \(rowID) > \(last)" : "") + " ORDER BY \(rowID)",
            in: database)
    }
}
