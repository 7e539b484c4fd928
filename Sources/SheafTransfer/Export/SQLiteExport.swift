import SheafBytes
import SheafDocument

/// The export of collections as tables of a new SQLite database.
///
/// | values of a column | declared type | as |
/// |---|---|---|
/// | integers | INTEGER | INTEGER |
/// | floats | REAL | REAL; SQLite has no NaN, which becomes NULL, and no negative zero |
/// | strings | TEXT | TEXT |
/// | bytes | BLOB | BLOB |
/// | booleans | BOOLEAN | 0 and 1 |
/// | several of integers, floats, strings and bytes | none | as above |
/// | arrays, objects, or booleans and others | JSON TEXT | JSON |
///
/// A missing field is NULL, and so is null, except in a column of JSON.
final class SQLiteExport {
    private let database: SQLiteDatabase
    private let progress: ExportProgress
    private var tableNames = SQLiteNames()
    private(set) var rowCount = 0
    /// Notes on names that SQLite cannot have.
    private(set) var notes: [String] = []

    init(into file: PendingFile, _ progress: ExportProgress) throws(ExportError) {
        database = try onSQLite { () throws(SQLiteError) in
            try SQLiteDatabase(path: file.temporaryPath, .fill, shownAs: file.path)
        }
        self.progress = progress
        try execute("BEGIN")
    }

    /// Creates a table with all rows of a source.
    func add(_ source: RowSource, as name: String) throws(ExportError) {
        let table = tableNames.add(name)
        if UTF8Order.compare(table, name) != 0 {
            notes.append("the collection \(name.shortened) is the table \(table.shortened)")
        }
        let columns = try ExportColumns(
            of: source, maximumCount: database.maximumColumnCount, progress
        ).all
        try create(table, columns, hasUniqueIDs: source.hasUniqueIDs)
        guard !columns.isEmpty else { return }
        let marks = columns.map { _ in "?" }.joined(separator: ",")
        let insert = try statement(
            "INSERT INTO \(SQLiteDatabase.quoted(table)) VALUES (\(marks))")
        var row = SQLiteRow(columns)
        try source.forEachObject { (object) throws(ExportError) in
            row.fill(from: object)
            try onSQLite { () throws(SQLiteError) in try row.insert(with: insert) }
            rowCount += 1
            try progress.report(rowCount, nil)
        }
    }

    /// Completes the database.
    func finish() throws(ExportError) {
        try execute("COMMIT")
    }

    private func create(
        _ table: String, _ columns: [ExportColumns.Column], hasUniqueIDs: Bool
    ) throws(ExportError) {
        var names = SQLiteNames()
        var definitions: [String] = []
        for column in columns {
            let name = names.add(column.name)
            if UTF8Order.compare(name, column.name) != 0 {
                notes.append(
                    "the field \(column.name.shortened) of \(table.shortened) is the column "
                        + name.shortened)
            }
            var words = [SQLiteDatabase.quoted(name)]
            let type = SQLiteColumnType(column.kinds).declaration
            if !type.isEmpty { words.append(type) }
            if hasUniqueIDs, column.name == "_id" { words.append("PRIMARY KEY NOT NULL") }
            definitions.append(words.joined(separator: " "))
        }
        // A table must have a column, and an empty collection has no fields.
        if definitions.isEmpty { definitions = ["\"_id\" PRIMARY KEY NOT NULL"] }
        try execute(
            "CREATE TABLE \(SQLiteDatabase.quoted(table)) (\(definitions.joined(separator: ", ")))"
        )
    }

    private func execute(_ text: String) throws(ExportError) {
        try onSQLite { () throws(SQLiteError) in try database.execute(text) }
    }

    private func statement(_ text: String) throws(ExportError) -> SQLiteStatement {
        try onSQLite { () throws(SQLiteError) in try SQLiteStatement(text, in: database) }
    }
}

/// The type of a column of a table.
enum SQLiteColumnType {
    /// Values as SQLite holds them, with the declared type of the column.
    case plain(String)
    case boolean
    case json

    init(_ kinds: ExportColumns.Kinds) {
        let kinds = kinds.subtracting(.null)
        switch kinds {
        case .integer: self = .plain("INTEGER")
        case .float: self = .plain("REAL")
        case .string: self = .plain("TEXT")
        case .bytes: self = .plain("BLOB")
        case .boolean: self = .boolean
        // Without a declared type SQLite converts nothing.
        case _ where kinds.isSubset(of: [.integer, .float, .string, .bytes]): self = .plain("")
        default: self = .json
        }
    }

    var declaration: String {
        switch self {
        case .plain(let declaration): declaration
        case .boolean: "BOOLEAN"
        // TEXT in the name makes SQLite keep texts such as 1.0 as they are.
        case .json: "JSON TEXT"
        }
    }
}

/// Distinct names of tables or columns, which SQLite compares without regard to the case of ASCII
/// letters.
struct SQLiteNames {
    private var folded: Set<[UInt8]> = []

    /// Returns the name, changed if SQLite cannot hold it or has it already.
    mutating func add(_ name: String) -> String {
        var valid = ""
        // SQLite would end the statement at a zero.
        for scalar in name.unicodeScalars {
            valid.unicodeScalars.append(scalar == "\0" ? "\u{FFFD}" : scalar)
        }
        if Self.fold(valid).starts(with: "sqlite_".utf8) { valid = "_" + valid }
        var candidate = valid
        var number = 2
        while !folded.insert(Self.fold(candidate)).inserted {
            candidate = "\(valid) (\(number))"
            number += 1
        }
        return candidate
    }

    private static func fold(_ name: String) -> [UInt8] {
        name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}

/// The parameters of a statement that inserts a row.
private struct SQLiteRow {
    private enum Parameter {
        case null
        case integer(Int64)
        case float(Double)
        case text(Range<Int>)
        case blob(Range<Int>)
    }

    private let columns: [(name: String, type: SQLiteColumnType)]
    private var parameters: [Parameter] = []
    /// The bytes of texts and blobs, after one byte, so that none of them is at a null pointer.
    private var bytes: [UInt8] = []

    init(_ columns: [ExportColumns.Column]) {
        self.columns = columns.map { ($0.name, SQLiteColumnType($0.kinds)) }
    }

    mutating func fill(from row: Object) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(0)
        parameters.removeAll(keepingCapacity: true)
        for column in columns {
            guard let value = row[column.name] else {
                parameters.append(.null)
                continue
            }
            if case .json = column.type {
                parameters.append(append(json: value))
            } else {
                parameters.append(append(value))
            }
        }
    }

    private mutating func append(_ value: Value) -> Parameter {
        let start = bytes.count
        switch value {
        case .null: return .null
        case .bool(let value): return .integer(value ? 1 : 0)
        case .integer(let value): return .integer(value)
        case .float(let value): return .float(value)
        case .string(let text):
            bytes.append(contentsOf: text.utf8)
            return .text(start..<bytes.count)
        case .bytes(let value):
            bytes.append(contentsOf: value)
            return .blob(start..<bytes.count)
        case .array, .object: return append(json: value)
        }
    }

    private mutating func append(json value: Value) -> Parameter {
        let start = bytes.count
        var writer = JSONWriter()
        swap(&writer.bytes, &bytes)
        writer.write(value)
        swap(&writer.bytes, &bytes)
        return .text(start..<bytes.count)
    }

    func insert(with statement: SQLiteStatement) throws(SQLiteError) {
        try bytes.span.withUnsafeBytes { (bytes) throws(SQLiteError) in
            for (index, parameter) in parameters.enumerated() {
                let bound: SQLiteStatement.Parameter =
                    switch parameter {
                    case .null: .null
                    case .integer(let value): .integer(value)
                    case .float(let value): .float(value)
                    case .text(let range): .text(UnsafeRawBufferPointer(rebasing: bytes[range]))
                    case .blob(let range): .blob(UnsafeRawBufferPointer(rebasing: bytes[range]))
                    }
                try statement.bind(bound, at: index + 1)
            }
            while try statement.step() {}
            statement.reset()
        }
    }
}
