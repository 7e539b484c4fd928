import BenchStores
import Sheaf
import SheafDocument

/// Cars in a Sheaf store, through its public API.
final class SheafCars: CarBenchmarkStore {
    static let peer = CarPeer(name: "sheaf", blocks: false) { directory, isDurable, hasIndex in
        try await SheafCars(directory, isDurable: isDurable, hasIndex: hasIndex)
    }

    let store: Sheaf.Store

    init(_ directory: String, isDurable: Bool, hasIndex: Bool) async throws {
        store = try await Sheaf.Store.open(
            at: "\(directory)/cars.sheaf",
            options: Sheaf.StoreOptions(
                durability: isDurable ? .full : .relaxed(milliseconds: 100)))
        guard hasIndex else { return }
        try await store.execute("CREATE INDEX IF NOT EXISTS mileage ON cars (mileage)")
    }

    func session() -> any CarSession { SheafCarSession(store) }

    func close() async throws { try await store.close() }
}

/// The statements of the workload.
enum SheafCarQueries {
    static let get: DQL = "SELECT * FROM cars WHERE _id = :id"
    static let insert: DQL = "INSERT INTO cars DOCUMENTS (:car)"
    static let update: DQL = "UPDATE cars SET mileage = :mileage WHERE _id = :id"
    static let delete: DQL = "DELETE FROM cars WHERE _id = :id"

    static func id(_ cars: PreparedCars, _ index: Int) -> QueryArguments {
        QueryArguments(["id": .string(cars.ids[index])])
    }

    /// Reads one field of a row, as an application that displays it would.
    static func read(_ result: QueryResult) throws -> UInt64 {
        guard result.items.count == 1, case .integer(let year)? = try result.items[0]["year"] else {
            throw StoreFailure.missingKey
        }
        return UInt64(bitPattern: year)
    }
}

private final class SheafCarSession: CarSession {
    private let store: Sheaf.Store
    private typealias Queries = SheafCarQueries

    init(_ store: Sheaf.Store) {
        self.store = store
    }

    func get(_ cars: PreparedCars, _ indices: ArraySlice<Int>) async throws -> UInt64 {
        var sum: UInt64 = 0
        for index in indices {
            let result = try await store.execute(Queries.get, Queries.id(cars, index))
            sum &+= try Queries.read(result)
        }
        return sum
    }

    func insert(_ cars: PreparedCars, _ index: Int) async throws {
        try await store.execute(Queries.insert, QueryArguments(["car": cars.values[index]]))
    }

    func insert(_ cars: PreparedCars, _ indices: Range<Int>) async throws {
        try await store.transaction { transaction in
            for index in indices {
                try await transaction.execute(
                    Queries.insert, QueryArguments(["car": cars.values[index]]))
            }
            return .commit
        }
    }

    func update(_ cars: PreparedCars, _ indices: ArraySlice<Int>, mileage: Int) async throws {
        try await store.transaction { transaction in
            for index in indices {
                let value = Value.integer(Int64((mileage &+ index) % 200_000))
                try await transaction.execute(
                    Queries.update,
                    QueryArguments(["id": .string(cars.ids[index]), "mileage": value]))
            }
            return .commit
        }
    }

    func delete(_ cars: PreparedCars, _ indices: Range<Int>) async throws {
        try await store.transaction { transaction in
            for index in indices {
                try await transaction.execute(Queries.delete, Queries.id(cars, index))
            }
            return .commit
        }
    }

    func close() {}
}
