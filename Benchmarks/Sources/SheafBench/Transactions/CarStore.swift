/// A database of cars, each read or written by one statement.
protocol CarBenchmarkStore: AnyObject, Sendable {
    /// Opens a session for one caller.
    func session() throws -> any CarSession

    /// Closes the files.
    func close() async throws
}

/// The connection of one caller to a database.
protocol CarSession: AnyObject {
    /// Reads the cars at `indices` one by one; returns a value that depends on each.
    func get(_ cars: PreparedCars, _ indices: ArraySlice<Int>) async throws -> UInt64

    /// Inserts one car; it is durable on return if the store is durable.
    func insert(_ cars: PreparedCars, _ index: Int) async throws

    /// Inserts cars one by one, in one transaction.
    func insert(_ cars: PreparedCars, _ indices: Range<Int>) async throws

    /// Changes the mileage of cars one by one, in one transaction.
    func update(_ cars: PreparedCars, _ indices: ArraySlice<Int>, mileage: Int) async throws

    /// Deletes cars one by one, in one transaction.
    func delete(_ cars: PreparedCars, _ indices: Range<Int>) async throws

    func close()
}

/// A database system that stores cars.
struct CarPeer: Sendable {
    let name: String
    /// Whether calls block, so that each caller needs a thread.
    let blocks: Bool
    /// The function that opens the database in a directory, creating it if necessary.
    let open:
        @Sendable (_ directory: String, _ isDurable: Bool, _ hasIndex: Bool) async throws ->
            any CarBenchmarkStore

    /// The number of cars per transaction.
    static let count = 1_000

    /// Inserts cars without durability, then reopens the database for measurements.
    func filled(
        _ directory: String, _ cars: PreparedCars, hasIndex: Bool = false
    ) async throws -> any CarBenchmarkStore {
        let loading = try await open(directory, false, hasIndex)
        let session = try loading.session()
        for start in stride(from: 0, to: cars.count, by: Self.count) {
            try await session.insert(cars, start..<min(start + Self.count, cars.count))
        }
        session.close()
        try await loading.close()
        return try await open(directory, true, hasIndex)
    }
}
