import BenchStores
import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore

/// One way to change or read a car, as an application does.
enum Operation: String, CaseIterable {
    /// Only the cars are made that the others insert.
    case make
    /// Only the preparation that the others begin with.
    case prepare
    case insert
    case insertJSON = "insert-json"
    /// Insertions of arrays of cars, one for each transaction.
    case insertArray = "insert-array"
    /// Insertions of instances of a type.
    case insertTyped = "insert-typed"
    case update
    case delete
    case get
    case typed
    /// The search of a car by an indexed field.
    case find
    /// The parsing and planning of a new statement.
    case plan

    /// Whether the cars are inserted before the operation.
    var needsCars: Bool {
        switch self {
        case .make, .insert, .insertJSON, .insertArray, .insertTyped: false
        case .prepare, .update, .delete, .get, .typed, .find, .plan: true
        }
    }
}

/// The store of cars whose operations are counted.
struct CountedCars {
    private struct Year: Decodable, Sendable {
        var year: Int
    }

    /// Number of operations in a transaction.
    private static let batch = 1_000

    private let store: Store
    /// The cars, and their ids as arguments, made before the operations.
    private var cars: [Value] = []
    private var texts: [String] = []
    private var instances: [StoredCar] = []
    private var ids: [String] = []

    init(_ store: Store) {
        self.store = store
    }

    /// Inserts cars for the operations that need some.
    mutating func prepare(_ count: Int) async throws {
        // A field name gets its number when it occurs for the second time.
        for number in 0..<3 {
            try await store.execute(
                "INSERT INTO cars DOCUMENTS (:car)",
                QueryArguments(["car": try Value(json: Cars.text(UInt64(number)))]))
        }
        try await run(.insert, count)
    }

    private mutating func makeCars(_ count: Int) throws {
        for number in ids.count..<count {
            let id = Cars.id(UInt64(number))
            guard case .object(var car) = try Value(json: Cars.text(UInt64(number))) else {
                preconditionFailure("A car is an object.")
            }
            car["_id"] = .string(id)
            cars.append(.object(car))
            texts.append(Value.object(car).json)
            instances.append(try ValueDecoder().decode(StoredCar.self, from: .object(car)))
            ids.append(id)
        }
    }

    /// Executes an operation `count` times.
    mutating func run(_ operation: Operation, _ count: Int) async throws {
        try makeCars(count)
        switch operation {
        case .make, .prepare: return
        case .get: try await get(count)
        case .typed: try await getTyped(count)
        case .find: try await find(count)
        case .plan: try plan(count)
        case .insert, .insertJSON, .insertArray, .insertTyped, .update, .delete:
            for start in stride(from: 0, to: count, by: Self.batch) {
                let batch = start..<min(start + Self.batch, count)
                try await store.transaction { [self] transaction in
                    if operation == .insertArray {
                        try await transaction.execute(
                            "INSERT INTO cars DOCUMENTS (:cars)",
                            QueryArguments(["cars": .array(Array(cars[batch]))]))
                        return .commit
                    }
                    let typed = transaction.collection("cars", of: StoredCar.self)
                    for car in batch {
                        if operation == .insertTyped {
                            try await typed.insert(instances[car])
                        } else {
                            try await execute(operation, car, in: transaction)
                        }
                    }
                    return .commit
                }
            }
        }
    }

    private func execute(
        _ operation: Operation, _ car: Int, in transaction: StoreTransaction
    ) async throws {
        switch operation {
        case .insert:
            try await transaction.execute(
                "INSERT INTO cars DOCUMENTS (:car)", QueryArguments(["car": cars[car]]))
        case .insertJSON:
            try await transaction.execute(
                "INSERT INTO cars DOCUMENTS (deserialize_json(:car))",
                QueryArguments(["car": .string(texts[car])]))
        case .update:
            try await transaction.execute(
                "UPDATE cars SET mileage = :mileage WHERE _id = :id",
                QueryArguments([
                    "id": .string(ids[car]), "mileage": .integer(Int64(300_000 + car * 7)),
                ]))
        case .delete:
            try await transaction.execute(
                "DELETE FROM cars WHERE _id = :id", QueryArguments(["id": .string(ids[car])]))
        case .make, .prepare, .insertArray, .insertTyped, .get, .typed, .find, .plan: return
        }
    }

    private func get(_ count: Int) async throws {
        for car in 0..<count {
            let result = try await store.execute(
                "SELECT * FROM cars WHERE _id = :id", QueryArguments(["id": .string(ids[car])]))
            let year = try result.items[0]["year"]
            precondition(year != nil, "Each car has a year.")
        }
    }

    private func find(_ count: Int) async throws {
        for car in 0..<count {
            let result = try await store.execute(
                "SELECT make, model FROM cars WHERE mileage = :mileage",
                QueryArguments(["mileage": .integer(Int64(car * 7 % 300_000))]))
            for item in result.items { _ = try item["model"] }
        }
    }

    private func plan(_ count: Int) throws {
        for car in 0..<count {
            let statement = try Parser.parse(
                "SELECT make, model FROM cars WHERE year = \(1990 + car % 35) "
                    + "AND mileage > \(car) ORDER BY mileage LIMIT 20")
            try store.queries.makeRun(statement).prepare()
        }
    }

    private func getTyped(_ count: Int) async throws {
        let years = store.collection("cars", of: Year.self)
        for car in 0..<count {
            let found = try await years.get(ids[car])
            precondition(found != nil, "Each car has a year.")
        }
    }
}
