/// A database of opaque keys and payloads, open in one directory.
protocol Store: AnyObject, Sendable {
    /// How many entries one transaction of a bulk load best has.
    var bulkSize: Int { get }

    /// A way in for one writer or reader.
    func session() throws -> any StoreSession

    /// Brings the files into the form that reads like best, where there is such a form.
    func settle() throws

    /// Closes the files.
    func close() throws
}

/// One writer's or reader's way into a store; it stays on one thread.
protocol StoreSession: AnyObject {
    /// Puts the entries of `indices` in one transaction, durable when the call returns.
    func commit(_ entries: Entries, _ indices: Range<UInt64>) async throws

    /// Takes the snapshot that reads will see, for as long as the session lives.
    func beginReading() throws

    /// Reads the payload of a key that is there; returns something that depends on its bytes.
    func read(_ key: Key) throws -> UInt64

    /// Lets go of the store.
    func close()
}

/// A session whose commits block the thread.
protocol BlockingSession: StoreSession {
    /// Puts the entries of `indices` in one transaction, durable when the call returns.
    func commitBlocking(_ entries: Entries, _ indices: Range<UInt64>) throws
}

extension BlockingSession {
    func commit(_ entries: Entries, _ indices: Range<UInt64>) async throws {
        try commitBlocking(entries, indices)
    }
}

/// How a store is opened.
struct StoreOptions: Sendable {
    /// Whether a commit returns only when it survives a power cut.
    var isDurable = true
    /// Whether what is written stays in the log, for an opening that has to replay it.
    var staysInLog = false

    /// For data that is laid down before the measurement.
    static let bulk = StoreOptions(isDurable: false)
}

/// A store that refused.
struct StoreFailure: Error, CustomStringConvertible {
    let description: String

    /// The key of a read that must succeed was not there.
    static let missingKey = StoreFailure(description: "a key that was put is not there")
}

/// A kind of store.
struct Peer: Sendable {
    let name: String
    /// Opens the store in a directory, or makes it where there is none.
    let open: @Sendable (_ directory: String, _ options: StoreOptions) throws -> any Store
}

extension Store {
    /// Lays down the first `count` entries.
    func load(_ entries: Entries, count: Int) async throws {
        let session = try session()
        defer { session.close() }
        for start in stride(from: 0, to: count, by: bulkSize) {
            let end = min(count, start + min(bulkSize, count))
            try await session.commit(entries, UInt64(start)..<UInt64(end))
        }
    }
}
