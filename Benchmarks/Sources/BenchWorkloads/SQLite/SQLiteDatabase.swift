import BenchStores
import CSQLite
import SheafDocument

/// A connection of one thread to an SQLite database, with prepared statements.
final class SQLiteDatabase {
    private let connection: SQLiteConnection

    /// Opens the database; `isDurable` selects `synchronous=FULL`, otherwise NORMAL.
    init(_ path: String, isDurable: Bool) throws {
        connection = try SQLiteConnection(path, BenchmarkStoreOptions(isDurable: true))
        try execute("PRAGMA journal_mode=WAL")
        if !isDurable { try execute("PRAGMA synchronous=NORMAL") }
        try execute("PRAGMA mmap_size=1073741824")
        try execute("PRAGMA case_sensitive_like=ON")
    }

    /// Executes statements and ignores their rows.
    func execute(_ sql: String) throws { try connection.execute(sql) }

    /// Creates the table of a collection.
    func createTable(_ collection: String) throws {
        // Without a type, the column keeps integers and texts apart.
        try execute(
            "CREATE TABLE IF NOT EXISTS \(SQLTranslator.quoted(collection))"
                + "(_id PRIMARY KEY NOT NULL, doc TEXT) WITHOUT ROWID")
    }

    /// Compiles a statement.
    func prepare(_ translation: SQLTranslator.Translation) throws -> SQLiteStatement {
        SQLiteStatement(
            try connection.prepare(translation.sql), connection,
            isComplete: translation.columns == nil)
    }

    /// Compiles a statement that no file describes.
    func prepare(sql: String) throws -> SQLiteStatement {
        SQLiteStatement(try connection.prepare(sql), connection, isComplete: false)
    }

    /// The number of rows that the last statement changed.
    var changes: Int { connection.changes }

    /// Closes the connection; its statements must have been finalized.
    func close() { connection.close() }
}

/// A prepared statement.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: SQLiteConnection
    /// Whether rows are complete documents, in an ID and a JSON text.
    private let isComplete: Bool
    /// The number of each parameter, by its name.
    private var numbers: [String: Int32] = [:]

    fileprivate init(_ handle: OpaquePointer, _ connection: SQLiteConnection, isComplete: Bool) {
        self.handle = handle
        self.connection = connection
        self.isComplete = isComplete
        for number in 1..<max(sqlite3_bind_parameter_count(handle), 0) + 1 {
            guard let name = sqlite3_bind_parameter_name(handle, number) else { continue }
            numbers[String(cString: name.advanced(by: 1))] = number
        }
    }

    deinit { sqlite3_finalize(handle) }

    /// Returns the values of the parameters in the order of their numbers.
    func values(of arguments: [String: Value]) -> [Value] {
        var values = Array(repeating: Value.null, count: numbers.count)
        for (name, number) in numbers {
            values[Int(number) - 1] = Self.value(of: name, arguments)
        }
        return values
    }

    private static func value(of name: String, _ arguments: [String: Value]) -> Value {
        if let value = arguments[name] {
            switch value {
            case .array, .object: return .string(value.json)
            default: return value
            }
        }
        if name.hasSuffix("__id"), case .object(let object)? = arguments[String(name.dropLast(4))] {
            return object["_id"] ?? .null
        }
        guard name.hasSuffix("__doc"),
            case .object(var object)? = arguments[String(name.dropLast(5))]
        else { return .null }
        object["_id"] = nil
        return .string(Value.object(object).json)
    }

    /// The names of the columns; empty if the statement returns no rows.
    var columns: [String] {
        (0..<sqlite3_column_count(handle)).map { String(cString: sqlite3_column_name(handle, $0)) }
    }

    /// Runs the statement, and passes each row; returns their number.
    func run(_ values: [Value], _ body: (SQLiteStatement) -> Void) throws -> Int {
        defer { sqlite3_reset(handle) }
        for (index, value) in values.enumerated() { bind(value, Int32(index + 1)) }
        var rows = 0
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW:
                rows += 1
                body(self)
            case SQLITE_DONE: return rows
            default: throw connection.failure(String(cString: sqlite3_sql(handle)))
            }
        }
    }

    private func bind(_ value: Value, _ number: Int32) {
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .string(let text):
            sqlite3_bind_text(handle, number, text, Int32(text.utf8.count), copies)
        case .integer(let integer): sqlite3_bind_int64(handle, number, integer)
        case .float(let float): sqlite3_bind_double(handle, number, float)
        case .bool(let flag): sqlite3_bind_int(handle, number, flag ? 1 : 0)
        default: sqlite3_bind_null(handle, number)
        }
    }

    /// A number that depends on each column of the current row.
    var checksum: UInt64 {
        var sum: UInt64 = 0
        for column in 0..<sqlite3_column_count(handle) {
            switch sqlite3_column_type(handle, column) {
            case SQLITE_TEXT:
                if let text = sqlite3_column_text(handle, column) { sum &+= UInt64(text[0]) }
            case SQLITE_INTEGER:
                sum &+= UInt64(bitPattern: sqlite3_column_int64(handle, column))
            default: sum &+= sqlite3_column_double(handle, column).bitPattern
            }
        }
        return sum
    }

    /// The values of the current row; complete documents are one object.
    var row: [Value] {
        let columns = (0..<sqlite3_column_count(handle)).map(value)
        guard isComplete, columns.count == 2, case .string(let json) = columns[1],
            case .object(var object)? = try? Value(json: json)
        else { return columns }
        object["_id"] = columns[0]
        return [.object(object)]
    }

    private func value(_ column: Int32) -> Value {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: .float(sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            sqlite3_column_text(handle, column).map { .string(String(cString: $0)) } ?? .null
        default: .null
        }
    }
}
