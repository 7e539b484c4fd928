import BenchStores
import CLMDB

/// Cars as JSON texts in LMDB; each read renews a transaction, as LMDB's manual advises.
final class LMDBCars: CarBenchmarkStore {
    static let peer = CarPeer(name: "lmdb", blocks: true) { directory, isDurable, _ in
        try LMDBCars(directory, isDurable: isDurable)
    }

    private let environment: LMDBEnvironment

    init(_ directory: String, isDurable: Bool) throws {
        environment = try LMDBEnvironment(
            directory, flags: isDurable ? MDB_NOTLS : MDB_NOTLS | MDB_NOSYNC)
    }

    func session() throws -> any CarSession { try LMDBCarSession(environment) }

    func close() throws {
        try environment.synchronize()
        environment.close()
    }
}

private final class LMDBCarSession: CarSession {
    private let environment: LMDBEnvironment
    private let reader: OpaquePointer

    init(_ environment: LMDBEnvironment) throws {
        self.environment = environment
        reader = try environment.begin(isReadOnly: true)
        mdb_txn_reset(reader)
    }

    func get(_ cars: PreparedCars, _ indices: ArraySlice<Int>) async throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            try environment.check("renew", mdb_txn_renew(reader))
            defer { mdb_txn_reset(reader) }
            var id = cars.ids[index]
            sum &+= try id.withUTF8 { id in
                var key = MDB_val(borrowing: UnsafeRawBufferPointer(id))
                var found = MDB_val()
                guard mdb_get(reader, environment.table, &key, &found) == MDB_SUCCESS,
                    let text = found.mv_data
                else { throw StoreFailure.missingKey }
                return UInt64(text.load(as: UInt8.self)) &+ UInt64(found.mv_size)
            }
        }
        return sum
    }

    func insert(_ cars: PreparedCars, _ index: Int) async throws {
        try await insert(cars, index..<index + 1)
    }

    func insert(_ cars: PreparedCars, _ indices: Range<Int>) async throws {
        let transaction = try environment.begin()
        for index in indices {
            var (id, text) = (cars.ids[index], cars.texts[index])
            try id.withUTF8 { id in
                try text.withUTF8 { text in
                    try environment.put(
                        UnsafeRawBufferPointer(id), UnsafeRawBufferPointer(text), in: transaction)
                }
            }
        }
        try environment.check("commit", mdb_txn_commit(transaction))
    }

    func update(_ cars: PreparedCars, _ indices: ArraySlice<Int>, mileage: Int) async throws {
        throw StoreFailure(description: "LMDB does not support updating a field")
    }

    func delete(_ cars: PreparedCars, _ indices: Range<Int>) async throws {
        let transaction = try environment.begin()
        for index in indices {
            var id = cars.ids[index]
            try id.withUTF8 { id in
                var key = MDB_val(borrowing: UnsafeRawBufferPointer(id))
                try environment.check(
                    "delete", mdb_del(transaction, environment.table, &key, nil))
            }
        }
        try environment.check("commit", mdb_txn_commit(transaction))
    }

    func close() {
        mdb_txn_abort(reader)
    }
}
