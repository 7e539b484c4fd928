/// A database of cars, as a program uses it: statement by statement.
protocol CarStore: AnyObject, Sendable {
    /// A way in for one caller.
    func session() throws -> any CarSession

    /// Closes the files.
    func close() async throws
}

/// One caller's way in.
protocol CarSession: AnyObject {
    /// Looks at cars, one statement each; returns something that depends on what they are.
    func get(_ cars: PreparedCars, _ places: ArraySlice<Int>) async throws -> UInt64

    /// Inserts one car, durably.
    func insert(_ cars: PreparedCars, _ place: Int) async throws

    /// Inserts cars in one transaction, one statement each.
    func insert(_ cars: PreparedCars, _ places: Range<Int>) async throws

    /// Changes the mileage of cars in one transaction, one statement each.
    func update(_ cars: PreparedCars, _ places: ArraySlice<Int>, mileage: Int) async throws

    /// Deletes cars in one transaction, one statement each.
    func delete(_ cars: PreparedCars, _ places: Range<Int>) async throws

    func close()
}

/// A kind of database of cars.
struct CarPeer: Sendable {
    let name: String
    /// Whether each caller of it has to have a thread, since its calls block.
    let blocks: Bool
    /// Opens the database in a directory, or makes it where there is none.
    let open:
        @Sendable (_ directory: String, _ isDurable: Bool, _ hasIndex: Bool) async throws ->
            any CarStore

    /// Cars in one transaction.
    static let count = 1_000

    /// Lays cars down as fast as it goes, and opens the database for what is measured.
    func filled(
        _ directory: String, _ cars: PreparedCars, hasIndex: Bool = false
    ) async throws -> any CarStore {
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
