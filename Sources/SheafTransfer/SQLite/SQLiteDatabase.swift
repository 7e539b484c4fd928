import SheafBytes

/// An open SQLite database, closed when it is released.
package final class SQLiteDatabase {
    /// The way in which a database is opened.
    package enum Access {
        /// Reading of an existing database, which is never changed.
        case read
        /// Filling of an empty file that exists.
        case fill
    }

    /// The values of `sqlite3_open_v2`, `sqlite3_limit` and results that are used here.
    private enum Code {
        static let readOnly: Int32 = 1
        static let readWrite: Int32 = 2
        static let columnLimit: Int32 = 2
    }

    /// The access to files of SQLite without locks.
    ///
    /// They could conflict with the lock that the export has on the file, and would end when it
    /// closes the file.
    private static let unlocked = "unix-none"

    let library: SQLiteLibrary
    let handle: SQLiteLibrary.Database
    /// The path of the file in messages.
    private let path: String

    /// Opens the file at `path`; messages name it `shownPath`, if it has another name there.
    package init(
        path: String, _ access: Access, shownAs shownPath: String? = nil
    ) throws(SQLiteError) {
        let shown = (shownPath ?? path).shortened(to: ErrorText.limit)
        let library = try SQLiteLibrary()
        guard !path.utf8.contains(0) else {
            throw SQLiteError("the path \(shown) contains a zero byte")
        }
        var opened: SQLiteLibrary.Database?
        let code =
            switch access {
            case .read: library.open(path, &opened, Code.readOnly, nil)
            case .fill: library.open(path, &opened, Code.readWrite, Self.unlocked)
            }
        guard code == 0, let handle = opened else {
            let reason = Self.message(of: opened, library)
            _ = library.close(opened)
            throw SQLiteError("cannot open \(shown): \(reason)")
        }
        (self.library, self.handle, self.path) = (library, handle, shown)
        switch access {
        case .read:
            // A text that is not a database is only detected by reading it.
            try execute("SELECT count(*) FROM sqlite_schema")
        case .fill:
            // The file gets its name only when it is complete, so a crash needs no rollback.
            try execute("PRAGMA journal_mode = OFF")
            try execute("PRAGMA synchronous = OFF")
        }
    }

    deinit { _ = library.close(handle) }

    /// Maximum number of columns of a table.
    var maximumColumnCount: Int { Int(library.limit(handle, Code.columnLimit, -1)) }

    /// The error of the last failed call.
    var error: SQLiteError {
        SQLiteError("\(path): \(Self.message(of: handle, library))")
    }

    /// Runs a statement, ignoring its rows.
    package func execute(_ text: String) throws(SQLiteError) {
        let statement = try SQLiteStatement(text, in: self)
        while try statement.step() {}
    }

    /// Returns the name in double quotes, as a statement contains it.
    static func quoted(_ name: String) -> String {
        var quoted = "\""
        for scalar in name.unicodeScalars {
            if scalar == "\"" { quoted += "\"" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    private static func message(
        of handle: SQLiteLibrary.Database?, _ library: SQLiteLibrary
    ) -> String {
        library.message(handle).map { String(cString: $0) } ?? "out of memory"
    }
}

/// A prepared statement of a database, finalized when it is released.
package final class SQLiteStatement {
    private let database: SQLiteDatabase
    private let handle: SQLiteLibrary.Statement
    private var library: SQLiteLibrary { database.library }

    private enum Code {
        static let row: Int32 = 100
        static let done: Int32 = 101
        static let integer: Int32 = 1
        static let float: Int32 = 2
        static let text: Int32 = 3
        static let blob: Int32 = 4
    }

    package init(_ text: String, in database: SQLiteDatabase) throws(SQLiteError) {
        var prepared: SQLiteLibrary.Statement?
        let code = database.library.prepare(database.handle, text, -1, &prepared, nil)
        guard code == 0, let handle = prepared else { throw database.error }
        (self.database, self.handle) = (database, handle)
    }

    deinit { _ = library.finalize(handle) }

    /// Advances to the next row; returns false at the end.
    package func step() throws(SQLiteError) -> Bool {
        switch library.step(handle) {
        case Code.row: return true
        case Code.done: return false
        default: throw database.error
        }
    }

    /// Ends a run, so that values can be bound for the next one.
    func reset() { _ = library.reset(handle) }

    // MARK: Values of parameters, numbered from 1

    /// A parameter; the bytes must stay valid until the statement is reset.
    enum Parameter {
        case null
        case integer(Int64)
        case float(Double)
        case text(UnsafeRawBufferPointer)
        case blob(UnsafeRawBufferPointer)
    }

    func bind(_ parameter: Parameter, at number: Int) throws(SQLiteError) {
        let number = Int32(number)
        let code =
            switch parameter {
            case .null: library.bindNull(handle, number)
            case .integer(let value): library.bindInteger(handle, number, value)
            case .float(let value): library.bindFloat(handle, number, value)
            case .text(let bytes):
                library.bindText(handle, number, Self.start(of: bytes), Int32(bytes.count), 0)
            case .blob(let bytes):
                library.bindBlob(handle, number, Self.start(of: bytes), Int32(bytes.count), 0)
            }
        guard code == 0 else { throw database.error }
    }

    /// Returns the start of the bytes, which is never null: SQLite takes null for NULL.
    private static func start(of bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
        guard let start = bytes.baseAddress else {
            preconditionFailure("The bytes of a parameter lie in the buffer of its row.")
        }
        return start
    }

    // MARK: Values of the current row, numbered from 0

    /// A value of a row; bytes are valid until the next step.
    enum Column {
        case null
        case integer(Int64)
        case float(Double)
        case text(UnsafeRawBufferPointer)
        case blob(UnsafeRawBufferPointer)
    }

    func column(_ index: Int) -> Column {
        let index = Int32(index)
        switch library.columnType(handle, index) {
        case Code.integer: return .integer(library.columnInteger(handle, index))
        case Code.float: return .float(library.columnFloat(handle, index))
        case Code.text:
            let start = library.columnText(handle, index)
            let length = Int(library.columnLength(handle, index))
            return .text(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : length))
        case Code.blob:
            let start = library.columnBlob(handle, index)
            let length = Int(library.columnLength(handle, index))
            return .blob(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : length))
        default: return .null
        }
    }

    /// Returns a column that is text by the schema of SQLite; nil if it is not valid UTF-8.
    package func text(_ index: Int) -> String? {
        guard case .text(let bytes) = column(index) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns a column that is an integer by the schema of SQLite.
    func integer(_ index: Int) -> Int64 {
        guard case .integer(let value) = column(index) else { return 0 }
        return value
    }
}
