import BenchHarness
import BenchStores
import CSQLite
import SheafDocument

/// SQLite tables with the cars and orders, read from memory-mapped pages.
final class SQLiteQueries: QuerySystem {
    private let connection: SQLiteConnection
    private let hasColumns: Bool
    private var prepared: OpaquePointer?

    init(_ stage: Stage, hasColumns: Bool) throws {
        self.hasColumns = hasColumns
        connection = try SQLiteConnection(
            "\(stage.memory.path)/query.sqlite", BenchmarkStoreOptions(isDurable: false))
        try connection.execute("PRAGMA mmap_size=1073741824")
        try connection.execute("BEGIN")
        try hasColumns ? fillColumns() : fillJSON()
        try connection.execute("COMMIT")
        try connection.execute("ANALYZE")
    }

    private func fillJSON() throws {
        try connection.execute("CREATE TABLE cars(id TEXT PRIMARY KEY, doc TEXT) WITHOUT ROWID")
        try connection.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, doc TEXT)")
        let cars = try connection.prepare("INSERT INTO cars VALUES(?, ?)")
        for index in 0..<UInt64(QueryCars.count) {
            try insert(cars, [.string(Cars.id(index)), .string(Cars.text(index))])
        }
        sqlite3_finalize(cars)
        let orders = try connection.prepare("INSERT INTO orders VALUES(?, ?)")
        for index in 0..<UInt64(QueryCars.orderCount) {
            let text =
                #"{"car":"\#(QueryCars.car(ofOrder: index))","amount":"#
                + "\(QueryCars.amount(ofOrder: index))}"
            try insert(orders, [.integer(Int64(index)), .string(text)])
        }
        sqlite3_finalize(orders)
        try connection.execute("CREATE INDEX a ON cars(json_extract(doc, '$.mileage'))")
        try connection.execute(
            "CREATE INDEX b ON cars(json_extract(doc, '$.year'), json_extract(doc, '$.mileage'))")
    }

    private func fillColumns() throws {
        try connection.execute(
            """
            CREATE TABLE cars(id TEXT PRIMARY KEY, make, model, year, color, mileage, price, sold, \
            owner, city, tags, description) WITHOUT ROWID
            """)
        try connection.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, car, amount)")
        let cars = try connection.prepare("INSERT INTO cars VALUES(?,?,?,?,?,?,?,?,?,?,?,?)")
        for index in 0..<UInt64(QueryCars.count) {
            let car = try Value(json: Cars.text(index))
            try insert(
                cars,
                [
                    .string(Cars.id(index)), car["make"], car["model"], car["year"],
                    car["color"], car["mileage"], car["price"], car["sold"],
                    car["owner", "name"], car["owner", "city"],
                    .string(car["tags"]?.json ?? ""), car["description"],
                ])
        }
        sqlite3_finalize(cars)
        let orders = try connection.prepare("INSERT INTO orders VALUES(?, ?, ?)")
        for index in 0..<UInt64(QueryCars.orderCount) {
            try insert(
                orders,
                [
                    .integer(Int64(index)), .string(QueryCars.car(ofOrder: index)),
                    .integer(Int64(QueryCars.amount(ofOrder: index))),
                ])
        }
        sqlite3_finalize(orders)
        try connection.execute("CREATE INDEX a ON cars(mileage)")
        try connection.execute("CREATE INDEX b ON cars(year, mileage)")
    }

    private func insert(_ statement: OpaquePointer, _ values: [Value?]) throws {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (index, value) in values.enumerated() {
            let parameter = Int32(index + 1)
            switch value {
            case .string(let text)?:
                sqlite3_bind_text(statement, parameter, text, Int32(text.utf8.count), transient)
            case .integer(let number)?: sqlite3_bind_int64(statement, parameter, number)
            case .float(let number)?: sqlite3_bind_double(statement, parameter, number)
            case .bool(let flag)?: sqlite3_bind_int(statement, parameter, flag ? 1 : 0)
            default: sqlite3_bind_null(statement, parameter)
            }
        }
        guard sqlite3_step(statement) == SQLITE_DONE else { throw connection.failure("insert") }
        sqlite3_reset(statement)
    }

    func run(_ query: QueryCase) throws -> Int {
        let statement = try self.statement(query)
        let columnCount = sqlite3_column_count(statement)
        var rows = 0
        var checksum: UInt64 = 0
        while true {
            let status = sqlite3_step(statement)
            guard status == SQLITE_ROW else {
                guard status == SQLITE_DONE else { throw connection.failure(query.name) }
                break
            }
            rows += 1
            for column in 0..<columnCount {
                switch sqlite3_column_type(statement, column) {
                case SQLITE_TEXT:
                    if let text = sqlite3_column_text(statement, column) {
                        checksum &+= UInt64(text[0])
                    }
                case SQLITE_INTEGER:
                    checksum &+= UInt64(bitPattern: sqlite3_column_int64(statement, column))
                default: checksum &+= sqlite3_column_double(statement, column).bitPattern
                }
            }
        }
        sqlite3_reset(statement)
        sink(checksum)
        return rows
    }

    func rows(_ query: QueryCase) throws -> [[Value]] {
        let statement = try self.statement(query)
        defer { sqlite3_reset(statement) }
        var rows: [[Value]] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            rows.append(
                (0..<sqlite3_column_count(statement)).map { column in
                    switch sqlite3_column_type(statement, column) {
                    case SQLITE_TEXT:
                        .string(String(cString: sqlite3_column_text(statement, column)))
                    case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, column))
                    case SQLITE_FLOAT: .float(sqlite3_column_double(statement, column))
                    default: .null
                    }
                })
        }
        return rows
    }

    private func statement(_ query: QueryCase) throws -> OpaquePointer {
        if let prepared { return prepared }
        let statement = try connection.prepare(hasColumns ? query.columns : query.json)
        prepared = statement
        return statement
    }

    func close() {
        sqlite3_finalize(prepared)
        connection.close()
    }
}
