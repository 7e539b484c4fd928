public import Foundation
public import Sheaf

/// A database under the names of the reference system.
///
///     let ditto = try await Ditto.open(at: "cars.sheaf")
///     let result = try await ditto.store.execute(
///         query: "SELECT * FROM cars WHERE color = :color", arguments: ["color": "blue"])
///     try await ditto.close()
///
/// Code that was written for that system runs with it; new code is better off with `Store`, whose values
/// have types, and whose errors nobody can overlook.
public final class Ditto: Sendable {
    /// What is stored here.
    public let store: DittoStore

    /// Gives an open store the names of the reference system; both can be used side by side.
    public init(over store: Store) {
        self.store = DittoStore(store)
    }

    /// Opens the database in the directory at `path`, or makes one where there is none.
    public static func open(at path: String) async throws -> Ditto {
        Ditto(over: try await inDittoWords { try await Store.open(at: path) })
    }

    /// Opens the database in a directory, or makes one where there is none.
    public static func open(at persistenceDirectory: URL) async throws -> Ditto {
        try await open(at: persistenceDirectory.path)
    }

    /// Makes an empty database in memory, which is gone when it is closed.
    public static func inMemory() async throws -> Ditto {
        Ditto(over: try await inDittoWords { try await Store.inMemory() })
    }

    /// Waits for all transactions, makes everything durable, and lets go of the database.
    ///
    /// Observers are cancelled then.
    public func close() async throws {
        try await inDittoWords { try await store.sheaf.close() }
        for observer in store.observers { observer.cancel() }
    }
}
