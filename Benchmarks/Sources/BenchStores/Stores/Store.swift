/// A database of opaque keys and payloads, open in one directory.
protocol BenchmarkStore: AnyObject, Sendable {
    /// The preferred number of entries per transaction in a bulk load.
    var bulkSize: Int { get }

    /// Opens a session for one writer or reader.
    func session() throws -> any StoreSession

    /// Compacts the files for reading, where the system supports it.
    func settle() throws

    /// Closes the files.
    func close() throws
}

/// A session of one writer or reader, used by one caller at a time.
protocol StoreSession: AnyObject {
    /// Puts the entries of `indices` in one transaction, durable on return if the store is durable.
    func commit(_ entries: Entries, _ indices: Range<UInt64>) async throws

    /// Takes the snapshot that later reads of the session use.
    func beginReading() throws

    /// Reads the payload of an existing key; returns a value that depends on its bytes.
    func read(_ key: Key) throws -> UInt64

    /// Releases the resources of the session.
    func close()
}

/// A session whose commits block the thread.
protocol BlockingSession: StoreSession {
    /// Puts the entries of `indices` in one transaction, durable on return if the store is durable.
    func commitBlocking(_ entries: Entries, _ indices: Range<UInt64>) throws
}

extension BlockingSession {
    func commit(_ entries: Entries, _ indices: Range<UInt64>) async throws {
        try commitBlocking(entries, indices)
    }
}

/// The options for opening a store.
package struct BenchmarkStoreOptions: Sendable {
    /// Whether a commit is durable when it returns.
    var isDurable = true
    /// Whether writes stay in the log, so that opening replays it.
    var staysInLog = false

    /// The options for loading data before a measurement.
    package static let bulk = BenchmarkStoreOptions(isDurable: false)

    package init(isDurable: Bool = true, staysInLog: Bool = false) {
        self.isDurable = isDurable
        self.staysInLog = staysInLog
    }
}

/// An error of a benchmarked store.
package struct StoreFailure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }

    /// The error for a read of an existing key that finds nothing.
    package static let missingKey = StoreFailure(description: "an inserted key is missing")
}

/// A database system for opaque entries.
struct BenchmarkPeer: Sendable {
    let name: String
    /// The function that opens the store in a directory, creating it if necessary.
    let open:
        @Sendable (_ directory: String, _ options: BenchmarkStoreOptions) throws ->
            any BenchmarkStore
}

extension BenchmarkStore {
    /// Inserts the first `count` entries.
    func load(_ entries: Entries, count: Int) async throws {
        let session = try session()
        defer { session.close() }
        for start in stride(from: 0, to: count, by: bulkSize) {
            let end = min(count, start + min(bulkSize, count))
            try await session.commit(entries, UInt64(start)..<UInt64(end))
        }
    }
}
