import BenchHarness
import BenchStores
import CSQLite
import Sheaf
import SheafDocument

/// A connection of a peer with one in a thousand documents to a peer with all of them.
///
/// The first peer was started without cursors, so the peers reconcile.
final class ConnectionTrial: Trial {
    /// A condition that matches one car in a thousand.
    static let condition = "mileage < 200"

    static func documents(_ stage: Stage) -> Int { stage.scale.pick(1_000_000, quick: 100_000) }

    private let network = MemoryNetwork(connectsAll: false)
    private let rights: PeerRights?
    private let path: String
    private let server: Sheaf.Peer
    private let deviceKey: PeerKey

    /// Fills and starts a server; a limited device may read and write only documents that match the
    /// condition.
    init(_ stage: Stage, isLimited: Bool) async throws {
        rights =
            isLimited
            ? PeerRights(read: ["cars": Self.condition], write: ["cars": Self.condition]) : nil
        path = stage.memory.path
        deviceKey = try Self.key(2)
        let key = try Self.key(1)
        server = try await Self.open("\(path)/server.sheaf", key, network.transport(for: key))
        let count = Self.documents(stage)
        for start in stride(from: 0, to: count, by: 1_000) {
            let cars = try PreparedCars(start..<min(start + 1_000, count))
            try await server.store.transaction { transaction in
                for car in cars.values {
                    try await transaction.execute(
                        SheafCarQueries.insert, QueryArguments(["car": car]))
                }
            }
        }
        try server.sync.start()
    }

    private static func key(_ number: UInt8) throws -> PeerKey {
        guard let key = PeerKey([UInt8](repeating: number, count: 32)) else {
            throw StoreFailure.missingKey
        }
        return key
    }

    private static func open(
        _ path: String, _ key: PeerKey, _ transport: any PeerTransport
    ) async throws -> Sheaf.Peer {
        try await Sheaf.Peer.open(
            at: path,
            configuration: PeerConfiguration(
                databaseID: ShippingPeer.database, key: key, transports: [transport],
                store: Sheaf.StoreOptions(durability: .relaxed(milliseconds: 100))))
    }

    /// Returns the milliseconds from the connection until the device acknowledges an earlier write.
    func run(round: Int) async throws -> Sample {
        let device = try await Self.open(
            "\(path)/device.sheaf", deviceKey, network.transport(for: deviceKey, rights: rights))
        try device.sync.registerSubscription("SELECT * FROM cars WHERE \(Self.condition)")
        try device.sync.start()
        let result = try await server.store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'new', 'mileage': :n}) ON ID CONFLICT DO UPDATE",
            ["n": round])
        guard let commit = result.commitID else { throw StoreFailure.missingKey }
        let start = now()
        network.connect(server.key, deviceKey)
        try await server.sync.wait(for: commit, on: deviceKey)
        let milliseconds = seconds(since: start) * 1_000
        network.disconnect(server.key, deviceKey)
        try await device.close()
        return Sample(milliseconds)
    }

    func finish() async throws { try await server.close() }
}

/// A scan of an SQLite table with the condition of a `ConnectionTrial`.
final class ConditionScanTrial: Trial {
    private let connection: SQLiteConnection
    private let statement: OpaquePointer

    init(_ stage: Stage) throws {
        connection = try SQLiteConnection(
            "\(stage.memory.path)/cars.sqlite", BenchmarkStoreOptions(isDurable: false))
        try connection.execute("PRAGMA mmap_size=1073741824")
        try connection.execute("CREATE TABLE cars(id TEXT PRIMARY KEY, doc TEXT) WITHOUT ROWID")
        try connection.execute("BEGIN")
        let insert = try connection.prepare("INSERT INTO cars VALUES(?, ?)")
        defer { sqlite3_finalize(insert) }
        for number in 0..<UInt64(ConnectionTrial.documents(stage)) {
            try connection.bind(insert, [Cars.id(number), Cars.text(number)])
        }
        try connection.execute("COMMIT")
        statement = try connection.prepare(
            "SELECT id FROM cars WHERE json_extract(doc, '$.mileage') < 200")
    }

    /// Returns the milliseconds for a scan of the table.
    func run(round: Int) throws -> Sample {
        let start = now()
        var checksum: UInt64 = 0
        while sqlite3_step(statement) == SQLITE_ROW {
            checksum &+= UInt64(sqlite3_column_text(statement, 0)?[0] ?? 0)
        }
        sqlite3_reset(statement)
        sink(checksum)
        return Sample(seconds(since: start) * 1_000)
    }

    func finish() {
        sqlite3_finalize(statement)
        connection.close()
    }
}
