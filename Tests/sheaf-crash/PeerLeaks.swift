import DittoNames
import Foundation
import Sheaf
import SheafNetwork
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport

/// Resources left by peers released without closing, in a process that does nothing else.
///
/// When released, both peers have connections, subscriptions and observers; one has an open
/// transaction, and a local and a received write that wait for it.
enum PeerLeaks {
    /// Maximum time until the lock is free after the last release.
    private static let longestNanoseconds: UInt64 = 1_000_000_000
    private static let allowedGrowth = 4 << 20

    /// Verifies that locks are freed within a second and that resources do not grow.
    ///
    /// Threads, descriptors and memory are compared with those after half of the rounds.
    static func run(rounds: Int) async throws -> String {
        let directory = TemporaryDirectory()
        var longest: UInt64 = 0
        // The first half fills caches that all peers share.
        for round in 0..<rounds / 2 { longest = max(longest, try await use(round, directory)) }
        let before = ProcessCounts.now()
        for round in rounds / 2..<rounds {
            longest = max(longest, try await use(round, directory))
        }
        let after = try await settled(from: before)
        guard !after.hasGrown(from: before, allowing: allowedGrowth) else {
            throw CrashFailure("leaked: \(before) before, \(after) after \(rounds) rounds")
        }
        return
            "\(rounds) rounds: unlocked within \(longest / 1_000) us, \(after), before \(before)"
    }

    /// Returns the counts once the threads of the last round have ended, or after a second.
    private static func settled(from before: ProcessCounts) async throws -> ProcessCounts {
        let end = Clock.system.monotonicNanoseconds() + longestNanoseconds
        var counts = ProcessCounts.now()
        while counts.hasGrown(from: before, allowing: allowedGrowth),
            Clock.system.monotonicNanoseconds() < end
        {
            await Task.yield()
            counts = ProcessCounts.now()
        }
        return counts
    }

    /// Runs and releases two peers; returns the nanoseconds until both directories were unlocked.
    private static func use(_ round: Int, _ directory: TemporaryDirectory) async throws -> UInt64 {
        let paths = [directory.path("left"), directory.path("right")]
        let gate = AsyncStream<Void>.makeStream()
        let pending: [Task<Void, any Error>]
        switch round % 4 {
        case 0: pending = try await overMemory(round, paths, until: gate.stream)
        case 1: pending = try await overTCP(round, paths, until: gate.stream)
        case 2: pending = try await asDitto(round, paths, until: gate.stream)
        default: pending = try await openedAsDitto(round, paths, until: gate.stream)
        }
        gate.continuation.finish()
        for task in pending { try await task.value }
        let start = Clock.system.monotonicNanoseconds()
        for path in paths { try await reopen(path, by: start + longestNanoseconds) }
        return Clock.system.monotonicNanoseconds() - start
    }

    private static func reopen(_ path: String, by deadline: UInt64) async throws {
        while true {
            do {
                return try await Store.open(at: path).close()
            } catch let error as StoreError where error.reason == .inUse {
                guard Clock.system.monotonicNanoseconds() < deadline else {
                    throw CrashFailure("\(path) stays locked: \(error)")
                }
                await Task.yield()
            }
        }
    }

    // MARK: Kinds of peers

    private static func overMemory(
        _ round: Int, _ paths: [String], until gate: AsyncStream<Void>
    ) async throws -> [Task<Void, any Error>] {
        let network = MemoryNetwork()
        var peers: [Peer] = []
        for path in paths {
            let key = PeerKey.random()
            peers.append(
                try await Peer.open(
                    at: path,
                    configuration: PeerConfiguration(
                        databaseID: "leaks", key: key, transports: [network.transport(for: key)])))
        }
        return try await live(peers[0], peers[1], round, until: gate)
    }

    private static func overTCP(
        _ round: Int, _ paths: [String], until gate: AsyncStream<Void>
    ) async throws -> [Task<Void, any Error>] {
        let (left, _) = try await tcpPeer(paths[0])
        let (right, transport) = try await tcpPeer(paths[1])
        let addresses = AsyncStream<String>.makeStream()
        left.presence.onTransportEvent { event in
            if case .listening(let address) = event { addresses.continuation.yield(address) }
        }
        try left.sync.start()
        for await address in addresses.stream {
            try transport.add(address)
            break
        }
        return try await live(left, right, round, until: gate)
    }

    private static func tcpPeer(_ path: String) async throws -> (Peer, TCPTransport) {
        let keyPair = try PeerKeyPair.generate()
        var configuration = NetworkConfiguration(
            databaseID: "leaks", keyPair: keyPair, identity: .development())
        configuration.limits.firstRetryMilliseconds = 5
        let transport = try TCPTransport(configuration)
        let peer = try await Peer.open(
            at: path,
            configuration: PeerConfiguration(
                databaseID: "leaks", key: keyPair.publicKey, transports: [transport]))
        return (peer, transport)
    }

    /// Uses peers on a memory network through `DittoNames`.
    private static func asDitto(
        _ round: Int, _ paths: [String], until gate: AsyncStream<Void>
    ) async throws -> [Task<Void, any Error>] {
        let network = MemoryNetwork()
        var dittos: [Ditto] = []
        for path in paths {
            let key = PeerKey.random()
            dittos.append(
                Ditto(
                    over: try await Peer.open(
                        at: path,
                        configuration: PeerConfiguration(
                            databaseID: "leaks", key: key,
                            transports: [network.transport(for: key)]))))
        }
        return try await live(dittos, round, until: gate)
    }

    /// Opens databases with a configuration, which have their own network and connection handler.
    private static func openedAsDitto(
        _ round: Int, _ paths: [String], until gate: AsyncStream<Void>
    ) async throws -> [Task<Void, any Error>] {
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        var dittos: [Ditto] = []
        for path in paths {
            let ditto = try await Ditto.open(
                config: DittoConfig(
                    databaseID: "leaks", connect: .smallPeersOnly(privateKey: key),
                    persistenceDirectory: URL(filePath: path)))
            ditto.presence.connectionRequestHandler = { _ in .allow }
            dittos.append(ditto)
        }
        let addresses = AsyncStream<String>.makeStream()
        dittos[0].peer?.presence.onTransportEvent { event in
            if case .listening(let address) = event { addresses.continuation.yield(address) }
        }
        dittos[0].updateTransportConfig { config in
            config.listen.tcp.isEnabled = true
            config.listen.tcp.interfaceIP = "127.0.0.1"
            config.listen.tcp.port = 0
        }
        try dittos[0].startSync()
        for await address in addresses.stream {
            dittos[1].updateTransportConfig { $0.connect.tcpServers.insert(address) }
            break
        }
        return try await live(dittos, round, until: gate)
    }

    // MARK: Load

    private static func live(
        _ dittos: [Ditto], _ round: Int, until gate: AsyncStream<Void>
    ) async throws -> [Task<Void, any Error>] {
        defer { withExtendedLifetime(dittos) {} }
        for ditto in dittos {
            try ditto.sync.registerSubscription(query: "SELECT * FROM t")
            ditto.store.registerObserver(query: "SELECT * FROM t") { _ in }
        }
        guard let left = dittos[0].peer, let right = dittos[1].peer else {
            throw CrashFailure("a Ditto has no peer")
        }
        return try await live(left, right, round, until: gate)
    }

    /// Shares a document between two peers, then leaves a transaction of the left one open.
    ///
    /// The transaction lasts until `gate` ends; a local and a received write wait for it.
    private static func live(
        _ left: Peer, _ right: Peer, _ round: Int, until gate: AsyncStream<Void>
    ) async throws -> [Task<Void, any Error>] {
        var observers: [(StoreObserver, PresenceObserver)] = []
        defer { withExtendedLifetime(observers) {} }
        for peer in [left, right] {
            try peer.sync.registerSubscription("SELECT * FROM t")
            observers.append(
                (
                    try peer.store.observe("SELECT * FROM t WHERE n > 3") { _ in },
                    peer.presence.observe { _ in }
                ))
            try peer.sync.start()
        }
        try await left.store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 'left', 'n': \(round)}) ON ID CONFLICT DO UPDATE")
        for try await result in try right.store.observe(
            "SELECT * FROM t WHERE _id = 'left' AND n = \(round)")
        where !result.items.isEmpty { break }
        let begun = AsyncStream<Void>.makeStream()
        let store = left.store
        let transaction = Task {
            try await store.transaction { transaction in
                try await transaction.execute("UPDATE t SET open = \(round)")
                begun.continuation.finish()
                for await _ in gate {}
            }
        }
        for await _ in begun.stream {}
        // The left peer receives this write, which then waits for the transaction.
        try await right.store.execute(
            "INSERT INTO t DOCUMENTS ({'_id': 'right', 'n': \(round)}) ON ID CONFLICT DO UPDATE")
        let waiting = Task {
            _ = try await store.execute("UPDATE t SET waited = \(round)")
        }
        return [transaction, waiting]
    }
}
