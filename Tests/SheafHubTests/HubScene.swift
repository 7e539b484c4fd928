import Sheaf
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Hubs and clients in one process, over a log in memory.
final class HubScene: Sendable {
    /// A time in seconds that no test reaches, however slow the machine is.
    static let longSeconds = 3_600
    let engine: MemoryHubEngine
    let network = MemoryNetwork(connectsAll: false)
    let database: DatabaseID = "hub tests"
    private let directory = TemporaryDirectory()

    init(clock: Clock = .system) {
        engine = MemoryHubEngine(clock: clock)
    }

    func path(_ name: String) -> String { directory.path(name) }

    /// The configuration of a peer or hub; `.random()` is another one each time.
    func configuration(_ key: PeerKey) -> PeerConfiguration {
        PeerConfiguration(
            databaseID: database, key: key, transports: [network.transport(for: key)])
    }

    /// Opens a hub in memory, which accepts connections when it is ready.
    func hub(
        _ key: PeerKey = .random(), options: HubOptions = HubOptions(), at path: String? = nil,
        through gate: LogGate? = nil
    ) async throws -> Hub {
        let log = hubEngine(gate)
        let hub =
            if let path {
                try await Hub.open(
                    at: path, configuration: configuration(key), engine: log, options: options)
            } else {
                try await Hub.inMemory(
                    configuration: configuration(key), engine: log, options: options)
            }
        try hub.start()
        return hub
    }

    /// Opens hubs that have received beats of each other.
    func hubs(_ count: Int) async throws -> [Hub] {
        var hubs: [Hub] = []
        for _ in 0..<count { hubs.append(try await hub()) }
        for hub in hubs {
            try await hub.waitUntilReady()
            try await until("a hub knows the others") {
                hub.status.hubs.count { $0.isLive && $0.isReady } >= count - 1
            }
        }
        return hubs
    }

    /// Opens a client that subscribes to the collection `cars` and connects to a hub.
    func client(of hub: Hub) async throws -> Peer {
        let peer = try await Peer.inMemory(configuration: configuration(.random()))
        try peer.sync.registerSubscription("SELECT * FROM cars")
        try peer.sync.start()
        network.connect(peer.key, hub.peer.key)
        return peer
    }

    /// The engine of the scene.
    var memory: HubEngine { hubEngine(nil) }

    private func hubEngine(_ gate: LogGate?) -> HubEngine {
        HubEngine { [engine] _, _ in
            let log = MemoryHubLog(engine)
            return gate.map { GatedHubLog(log, $0) } ?? log
        }
    }
}

/// Waits until a condition holds; records an issue if it does not within two waits of five minutes.
///
/// The first wait may pass before a task that the test created gets a thread, because tasks run in
/// order of creation. The task has a thread when the second wait begins.
func until(
    _ what: String, _ location: SourceLocation = #_sourceLocation,
    _ condition: @escaping @Sendable () throws -> Bool
) async throws {
    var isTrue = try await becomesTrue(condition)
    if !isTrue { isTrue = try await becomesTrue(condition) }
    #expect(isTrue, "not within ten minutes: \(what)", sourceLocation: location)
}

/// Waits until a condition holds; returns false after five minutes.
private func becomesTrue(_ condition: @escaping @Sendable () throws -> Bool) async throws -> Bool {
    try await Thread.run(name: "sheaf-test") {
        Result {
            let end = Clock.testDeadline()
            while try !condition() {
                let now = Clock.system.monotonicNanoseconds()
                guard now < end else { return false }
                Monitor(false).wait(until: min(end, now + 5_000_000)) { !$0 }
            }
            return true
        }
    }.get()
}

extension Peer {
    /// Inserts a car; returns the commit.
    func insert(_ id: String, text: String = "") async throws -> Int64 {
        let result = try await store.execute(
            "INSERT INTO cars DOCUMENTS (:car)", ["car": ["_id": id, "text": text]])
        let commit = result.commitID
        return try #require(commit)
    }

    /// Inserts a car, and waits until a hub has acknowledged it.
    func insert(_ id: String, text: String = "", acknowledgedBy hub: Hub) async throws {
        try await sync.wait(for: try await insert(id, text: text), on: hub.peer.key)
    }

    /// Returns the ids of all cars, in ascending order.
    func cars() async throws -> [String] {
        try await store.execute("SELECT _id FROM cars ORDER BY _id").items.map { item in
            guard case .string(let id)? = try item.value["_id"] else { return "?" }
            return id
        }
    }

    /// Waits until the store has these cars.
    func waitForCars(
        _ ids: [String], _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let end = Clock.testDeadline()
        while try await cars() != ids {
            guard Clock.system.monotonicNanoseconds() < end else { break }
            await Task.yield()
        }
        #expect(try await cars() == ids, sourceLocation: location)
    }
}
