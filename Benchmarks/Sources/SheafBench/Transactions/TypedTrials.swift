import BenchHarness
import BenchStores
import CLMDB
import CSQLite
import Sheaf
import SheafBytes
import SheafDocument

/// One field of a car.
private struct CarYear: Decodable, Sendable {
    var year: Int
}

/// Gets of cars by ID, of which one field is decoded.
final class FieldGetTrial: Trial {
    /// The way in which a car is read.
    enum Reader {
        case typed, statement, lmdb, sqlite
    }

    private let cars: PreparedCars
    private let gets: Int
    private let read: ([Int]) async throws -> UInt64
    private let close: () async throws -> Void

    init(_ reader: Reader, _ stage: Stage) async throws {
        cars = try PreparedCars(0..<PreparedCars.count)
        gets = stage.scale.pick(400_000, quick: 100_000)
        switch reader {
        case .typed, .statement:
            let store = try await SheafCars.peer.filled(stage.disk.path, cars)
            guard let store = store as? SheafCars else {
                throw StoreFailure(description: "the trial requires SheafCars")
            }
            let (ids, sheaf) = (cars.ids, store.store)
            let years = sheaf.collection("cars", of: CarYear.self)
            read =
                reader == .typed
                ? { try await Self.readTyped(years, ids, $0) }
                : { try await Self.readByStatement(sheaf, ids, $0) }
            close = { try await store.close() }
        case .lmdb:
            let table = try EncodedLMDBCars(stage.disk.path, cars)
            read = { try table.years($0) }
            close = { table.close() }
        case .sqlite:
            let store = try await SQLiteCars.peer.filled(stage.disk.path, cars)
            let years = try SQLiteYears("\(stage.disk.path)/cars.sqlite", cars.ids)
            read = { try years.read($0) }
            close = {
                years.close()
                try await store.close()
            }
        }
        sink(try await read(Array(cars.ids.indices)))
    }

    private static func readTyped(
        _ years: DocumentCollection<CarYear>, _ ids: [String], _ indices: [Int]
    ) async throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            guard let car = try await years.get(ids[index]) else { throw StoreFailure.missingKey }
            sum &+= UInt64(car.year)
        }
        return sum
    }

    private static func readByStatement(
        _ store: Sheaf.Store, _ ids: [String], _ indices: [Int]
    ) async throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            let result = try await store.execute(
                SheafCarQueries.get, QueryArguments(["id": .string(ids[index])]))
            sum &+= UInt64(try result.items[0].decode(CarYear.self).year)
        }
        return sum
    }

    func run(round: Int) async throws -> Sample {
        let indices = cars.draws(gets, round: round)
        let start = now()
        sink(try await read(indices))
        return Sample(Double(gets) / seconds(since: start))
    }

    func finish() async throws { try await close() }
}

/// Sheaf's encoded cars in LMDB.
private final class EncodedLMDBCars {
    private let environment: LMDBEnvironment
    private let reader: OpaquePointer
    private let ids: [String]

    init(_ directory: String, _ cars: PreparedCars) throws {
        let environment = try LMDBEnvironment(directory, flags: MDB_NOTLS | MDB_NOSYNC)
        self.environment = environment
        ids = cars.ids
        let writer = try environment.begin()
        for (number, id) in cars.ids.enumerated() {
            var id = id
            let document = try Cars.document(Array(cars.texts[number].utf8), UInt64(number))
            try id.withUTF8 { id in
                try document.withUnsafeBytes { document in
                    try environment.put(UnsafeRawBufferPointer(id), document, in: writer)
                }
            }
        }
        try environment.check("commit", mdb_txn_commit(writer))
        reader = try environment.begin(isReadOnly: true)
        mdb_txn_reset(reader)
    }

    func years(_ indices: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        let names = Cars.names
        for index in indices {
            try environment.check("renew", mdb_txn_renew(reader))
            defer { mdb_txn_reset(reader) }
            var id = ids[index]
            sum &+= try id.withUTF8 { id in
                var key = MDB_val(borrowing: UnsafeRawBufferPointer(id))
                var found = MDB_val()
                guard mdb_get(reader, environment.table, &key, &found) == MDB_SUCCESS else {
                    throw StoreFailure.missingKey
                }
                let document = try EncodedDocument(
                    UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size))
                guard case .integer(let year)? = try document.fields()?.value(of: "year", names)
                else { throw StoreFailure.missingKey }
                return UInt64(year)
            }
        }
        return sum
    }

    func close() {
        mdb_txn_abort(reader)
        environment.close()
    }
}

/// The year of cars in SQLite, by a prepared statement.
private final class SQLiteYears {
    private let connection: SQLiteConnection
    private let selection: OpaquePointer
    private let ids: [String]

    init(_ path: String, _ ids: [String]) throws {
        self.ids = ids
        connection = try SQLiteConnection(path, BenchmarkStoreOptions(isDurable: true))
        try connection.execute("PRAGMA mmap_size=1073741824")
        selection = try connection.prepare("SELECT doc ->> '$.year' FROM cars WHERE id = ?")
    }

    func read(_ indices: [Int]) throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            var id = ids[index]
            sum &+= try id.withUTF8 { id in
                try id.withMemoryRebound(to: CChar.self) { id in
                    sqlite3_bind_text(selection, 1, id.baseAddress, Int32(id.count), nil)
                    defer { sqlite3_reset(selection) }
                    guard sqlite3_step(selection) == SQLITE_ROW else {
                        throw StoreFailure.missingKey
                    }
                    return UInt64(sqlite3_column_int64(selection, 0))
                }
            }
        }
        return sum
    }

    func close() {
        sqlite3_finalize(selection)
        connection.close()
    }
}

/// An array of cars that is inserted in one durable commit.
final class ArrayInsertTrial: Trial {
    private let cars: [StoredCar]
    private let folder: Folder
    private let isTyped: Bool

    init(_ stage: Stage, isTyped: Bool) throws {
        self.isTyped = isTyped
        folder = stage.disk
        let prepared = try PreparedCars(0..<10_000)
        cars = try prepared.values.map { try ValueDecoder().decode(StoredCar.self, from: $0) }
    }

    func run(round: Int) async throws -> Sample {
        let folder = try folder.child("round-\(round)")
        defer { folder.remove() }
        let cars = cars
        let store = try await Sheaf.Store.open(at: "\(folder.path)/cars.sheaf")
        let start = now()
        if isTyped {
            try await store.collection("cars", of: StoredCar.self).insert(cars)
        } else {
            try await store.transaction { transaction in
                for car in cars {
                    try await transaction.execute("INSERT INTO cars DOCUMENTS (\(car))")
                }
            }
        }
        let elapsed = seconds(since: start)
        try await store.close()
        return Sample(Double(cars.count) / elapsed)
    }

    func finish() {}
}
