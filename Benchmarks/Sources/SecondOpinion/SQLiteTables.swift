import CSQLite
import SheafDocument

/// The documents in an in-memory SQLite database.
final class SQLiteTables {
    /// An error message of SQLite.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let handle: OpaquePointer

    init() throws {
        var opened: OpaquePointer?
        let status = sqlite3_open(":memory:", &opened)
        guard status == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw Failure(description: "SQLite cannot open an in-memory database: status \(status)")
        }
        handle = opened
        try run("PRAGMA case_sensitive_like = ON")
        for collection in Schema.collections {
            // Columns without a type store values unconverted.
            let columns = Schema.fields.map { "\($0.column), \($0.presenceColumn)" }
            try run(
                "CREATE TABLE \(collection)(_id PRIMARY KEY NOT NULL, "
                    + "\(columns.joined(separator: ", ")))")
        }
    }

    deinit { sqlite3_close(handle) }

    /// Removes all documents.
    func clear() throws {
        for collection in Schema.collections { try run("DELETE FROM \(collection)") }
    }

    /// Executes a statement and returns its rows, with NULL as null.
    @discardableResult
    func run(_ text: String, _ values: [Value] = []) throws -> [[Value]] {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, text, -1, &prepared, nil) == SQLITE_OK,
            let statement = prepared
        else { throw failure() }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() { bind(value, Int32(index + 1), of: statement) }
        var rows: [[Value]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append(
                    (0..<sqlite3_column_count(statement)).map { column(statement, $0) })
            case SQLITE_DONE: return rows
            default: throw failure()
            }
        }
    }

    private func bind(_ value: Value, _ parameter: Int32, of statement: OpaquePointer) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: sqlite3_bind_null(statement, parameter)
        case .bool(let flag): sqlite3_bind_int64(statement, parameter, flag ? 1 : 0)
        case .integer(let number): sqlite3_bind_int64(statement, parameter, number)
        case .float(let number): sqlite3_bind_double(statement, parameter, number)
        case .string(let text):
            sqlite3_bind_text(statement, parameter, text, Int32(text.utf8.count), transient)
        case .bytes, .array, .object:
            preconditionFailure("No column holds \(value.json).")
        }
    }

    private func column(_ statement: OpaquePointer, _ index: Int32) -> Value {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
        case SQLITE_FLOAT: return .float(sqlite3_column_double(statement, index))
        case SQLITE_NULL: return .null
        default:
            guard let bytes = sqlite3_column_text(statement, index) else { return .string("") }
            let count = Int(sqlite3_column_bytes(statement, index))
            return .string(
                String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
        }
    }

    private func failure() -> Failure {
        Failure(description: String(cString: sqlite3_errmsg(handle)))
    }

    /// Returns the result of a query; each column of Sheaf is two columns in SQLite.
    func answer(_ select: DualSelect) throws -> Answer {
        Answer(
            rows: try run(select.sqlite).map { row in
                select.columns.enumerated().map { index, column -> Value? in
                    let value = row[2 * index]
                    guard row[2 * index + 1] == 0 else { return nil }
                    guard column.dual.kind == .boolean, case .integer(let flag) = value else {
                        return value
                    }
                    return .bool(flag != 0)
                }
            })
    }
}
