#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The functions of libsqlite3, loaded when a database is first opened.
///
/// The library is never linked, so the tool runs on systems without it.
package struct SQLiteLibrary: Sendable {
    typealias Database = OpaquePointer
    typealias Statement = OpaquePointer

    let versionNumber: @Sendable @convention(c) () -> Int32
    let open:
        @Sendable @convention(c) (
            UnsafePointer<CChar>, UnsafeMutablePointer<Database?>, Int32, UnsafePointer<CChar>?
        ) -> Int32
    let close: @Sendable @convention(c) (Database?) -> Int32
    let message: @Sendable @convention(c) (Database?) -> UnsafePointer<CChar>?
    let limit: @Sendable @convention(c) (Database, Int32, Int32) -> Int32
    let prepare:
        @Sendable @convention(c) (
            Database, UnsafePointer<CChar>, Int32, UnsafeMutablePointer<Statement?>,
            UnsafeMutablePointer<UnsafePointer<CChar>?>?
        ) -> Int32
    let step: @Sendable @convention(c) (Statement) -> Int32
    let reset: @Sendable @convention(c) (Statement) -> Int32
    let finalize: @Sendable @convention(c) (Statement?) -> Int32
    let bindNull: @Sendable @convention(c) (Statement, Int32) -> Int32
    let bindInteger: @Sendable @convention(c) (Statement, Int32, Int64) -> Int32
    let bindFloat: @Sendable @convention(c) (Statement, Int32, Double) -> Int32
    /// The last argument is the destructor; 0 (SQLITE_STATIC) leaves the bytes to the caller.
    let bindText:
        @Sendable @convention(c) (Statement, Int32, UnsafeRawPointer?, Int32, Int) -> Int32
    let bindBlob:
        @Sendable @convention(c) (Statement, Int32, UnsafeRawPointer?, Int32, Int) -> Int32
    let columnType: @Sendable @convention(c) (Statement, Int32) -> Int32
    let columnInteger: @Sendable @convention(c) (Statement, Int32) -> Int64
    let columnFloat: @Sendable @convention(c) (Statement, Int32) -> Double
    let columnText: @Sendable @convention(c) (Statement, Int32) -> UnsafeRawPointer?
    let columnBlob: @Sendable @convention(c) (Statement, Int32) -> UnsafeRawPointer?
    let columnLength: @Sendable @convention(c) (Statement, Int32) -> Int32

    /// The environment variable with the path of the library, in place of the usual names.
    package static let pathVariable = "SHEAF_SQLITE_LIBRARY"

    #if canImport(Darwin)
        private static let names = ["libsqlite3.dylib"]
    #else
        private static let names = ["libsqlite3.so.0", "libsqlite3.so"]
    #endif

    /// The first version with `PRAGMA table_list`.
    package static let minimumVersion: Int32 = 3_037_000

    /// Loads the library; the process keeps it until it ends.
    package init() throws(SQLiteError) {
        let names = getenv(Self.pathVariable).map { [String(cString: $0)] } ?? Self.names
        var failures: [String] = []
        var found: UnsafeMutableRawPointer?
        for name in names where found == nil {
            found = dlopen(name, RTLD_NOW | RTLD_LOCAL)
            if found == nil { failures.append(dlerror().map { String(cString: $0) } ?? name) }
        }
        guard let library = found else { throw Self.missing(failures) }
        versionNumber = try Self.function("sqlite3_libversion_number", library)
        open = try Self.function("sqlite3_open_v2", library)
        close = try Self.function("sqlite3_close_v2", library)
        message = try Self.function("sqlite3_errmsg", library)
        limit = try Self.function("sqlite3_limit", library)
        prepare = try Self.function("sqlite3_prepare_v2", library)
        step = try Self.function("sqlite3_step", library)
        reset = try Self.function("sqlite3_reset", library)
        finalize = try Self.function("sqlite3_finalize", library)
        bindNull = try Self.function("sqlite3_bind_null", library)
        bindInteger = try Self.function("sqlite3_bind_int64", library)
        bindFloat = try Self.function("sqlite3_bind_double", library)
        bindText = try Self.function("sqlite3_bind_text", library)
        bindBlob = try Self.function("sqlite3_bind_blob", library)
        columnType = try Self.function("sqlite3_column_type", library)
        columnInteger = try Self.function("sqlite3_column_int64", library)
        columnFloat = try Self.function("sqlite3_column_double", library)
        columnText = try Self.function("sqlite3_column_text", library)
        columnBlob = try Self.function("sqlite3_column_blob", library)
        columnLength = try Self.function("sqlite3_column_bytes", library)
        let version = versionNumber()
        guard version >= Self.minimumVersion else {
            throw SQLiteError(
                "libsqlite3 has the version \(Self.text(ofVersion: version)); SQLite databases "
                    + "need \(Self.text(ofVersion: Self.minimumVersion)) or newer")
        }
    }

    private static func missing(_ failures: [String]) -> SQLiteError {
        let reason = failures.joined(separator: "; ")
        guard getenv(pathVariable) == nil else {
            return SQLiteError(
                "cannot load the library that \(pathVariable) names: \(reason)")
        }
        return SQLiteError(
            "cannot load libsqlite3, which SQLite databases need: \(reason); install the package "
                + "libsqlite3-0 (Debian, Ubuntu), or set \(pathVariable) to the path of the library"
        )
    }

    private static func function<Function>(
        _ name: String, _ library: UnsafeMutableRawPointer
    ) throws(SQLiteError) -> Function {
        guard let symbol = dlsym(library, name) else {
            throw SQLiteError("the library of SQLite has no function \(name)")
        }
        return unsafeBitCast(symbol, to: Function.self)
    }

    private static func text(ofVersion number: Int32) -> String {
        "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)"
    }
}

/// An error of SQLite or of its library.
package struct SQLiteError: Error, Hashable, Sendable {
    package let message: String

    init(_ message: String) {
        self.message = message
    }
}
