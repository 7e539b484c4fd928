import Sheaf
import SheafNetwork
import SheafSystem
import SheafTestSupport
import Synchronization

/// A client of hubs with a store in memory: it writes, and records what a hub acknowledges.
///
/// It uses one hub at a time, changes hubs, and sometimes loses its store.
final class HubClient: Sendable {
    private struct State {
        var random: SeededRandom
        /// The hub of the current connection.
        var hub: PeerKey?
        /// The address in use.
        var address: String
        /// The acknowledgment that the client waits for.
        var waiting: Task<Void, any Error>?
        /// Number of documents inserted, also into lost stores.
        var count = 0
        var isStopped = false
    }

    let number: Int
    let group: Int
    let peer: Peer
    private let role: HubClients.Role
    private let ledger: WriteLedger
    private let transport: TCPTransport
    private let state: Mutex<State>

    init(
        _ number: Int, _ role: HubClients.Role, _ ledger: WriteLedger, count: Int = 0,
        life: Int = 0
    ) async throws {
        self.number = number
        self.role = role
        self.ledger = ledger
        group = number % role.groups
        var random = SeededRandom(
            seed: role.seed &+ UInt64(number) << 32 &+ UInt64(life), "client of hubs")
        let address = role.hubs[Int(random.next() % UInt64(role.hubs.count))]
        var configuration = NetworkConfiguration(
            databaseID: NetworkCommand.databaseID, keyPair: try .generate(),
            identity: .sharedKey(role.key), listening: [], peers: [address])
        configuration.limits.firstRetryMilliseconds = 50
        configuration.limits.longestRetryMilliseconds = 1_000
        transport = try TCPTransport(configuration)
        state = Mutex(State(random: random, address: address, count: count))
        peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: NetworkCommand.databaseID, key: configuration.keyPair.publicKey,
                transports: [transport]))
        peer.presence.onTransportEvent { [weak self] event in self?.note(event) }
        try peer.sync.registerSubscription(
            DQL(verbatim: "SELECT * FROM items WHERE g = \(group)"))
        try peer.sync.start()
    }

    /// Number of documents inserted.
    var count: Int { state.withLock(\.count) }

    private func note(_ event: PeerTransportEvent) {
        let waiting: Task<Void, any Error>? = state.withLock { state in
            switch event {
            case .connected(let identity): state.hub = identity.key
            case .disconnected(let identity, _) where state.hub == identity.key: state.hub = nil
            default: return nil
            }
            return state.waiting
        }
        // The wait continues at the hub of the next connection.
        waiting?.cancel()
    }

    // MARK: Writing

    /// Writes until it is stopped, or returns true to lose its store.
    func write() async throws -> Bool {
        while !state.withLock(\.isStopped) {
            let dice = state.withLock { $0.random.next() % 1_000 }
            switch dice {
            case ..<5: try changeHub()
            case ..<7 where role.losesStores: return true
            case ..<350: try await insert(lasting: true)
            case ..<550: try await insert(lasting: false)
            case ..<800: try await increment()
            default: try await delete()
            }
            await pause()
        }
        return false
    }

    /// Ends writing, and the wait for an acknowledgment.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            return state.waiting
        }
        waiting?.cancel()
    }

    func close() async throws {
        stop()
        try await peer.close()
    }

    /// Inserts documents without waiting, and returns when a hub has acknowledged all.
    func insert(_ total: Int, each bytes: Int) async throws {
        let text = String(repeating: "x", count: bytes)
        var last: Int64?
        for _ in 0..<total {
            let id = nextID(lasting: true)
            let result = try await peer.store.execute(
                "INSERT INTO items DOCUMENTS ({'_id': :id, 'g': :group, 'n': 0, 't': :text})",
                ["id": id, "group": group, "text": text])
            last = result.commitID ?? last
        }
        if let last { _ = await isAcknowledged(last) }
    }

    private func nextID(lasting: Bool) -> String {
        let count = state.withLock { state in
            state.count += 1
            return state.count
        }
        return "\(lasting ? "k" : "d")-\(number)-\(count)"
    }

    private func insert(lasting: Bool) async throws {
        let id = nextID(lasting: lasting)
        try await execute(
            .insertion, of: id, "INSERT INTO items DOCUMENTS ({'_id': :id, 'g': \(group), 'n': 0})")
    }

    private func increment() async throws {
        guard let id = try await anID("LIKE 'k-%'") else { return }
        try await execute(
            .increment, of: id,
            "UPDATE COLLECTION items (n COUNTER) APPLY n INCREMENT BY 1 WHERE _id = :id")
    }

    private func delete() async throws {
        guard let id = try await anID("LIKE 'd-\(number)-%'") else { return }
        try await execute(.deletion, of: id, "DELETE FROM items WHERE _id = :id")
    }

    /// Returns the id of one of the known documents whose ids match.
    private func anID(_ condition: String) async throws -> String? {
        let found = try await peer.store.execute(
            DQL(verbatim: "SELECT _id FROM items WHERE _id \(condition) LIMIT 50"))
        let items = try found.items.map { try $0["_id"] }
        guard !items.isEmpty else { return nil }
        let index = state.withLock { Int($0.random.next() % UInt64(items.count)) }
        if case .string(let id)? = items[index] { return id }
        return nil
    }

    private func execute(
        _ write: WriteLedger.Write, of id: String, _ statement: String
    ) async throws {
        ledger.attempt(write, of: id)
        let result = try await peer.store.execute(DQL(verbatim: statement), ["id": id])
        guard let commit = result.commitID else { return }
        if await isAcknowledged(commit) { ledger.acknowledge(write, of: id) }
    }

    /// Waits until a hub has acknowledged a commit; false if the client is stopped before.
    private func isAcknowledged(_ commit: Int64) async -> Bool {
        while !state.withLock(\.isStopped) {
            guard let hub = state.withLock(\.hub) else {
                await pause()
                continue
            }
            let task = Task { [peer] in try await peer.sync.wait(for: commit, on: hub) }
            let isOutdated = state.withLock { state in
                state.waiting = task
                return state.isStopped || state.hub != hub
            }
            if isOutdated { task.cancel() }
            let result = await task.result
            state.withLock { $0.waiting = nil }
            if case .success = result { return true }
        }
        return false
    }

    /// Uses another hub from now on.
    private func changeHub() throws {
        let (old, new) = state.withLock { state in
            let old = state.address
            state.address = role.hubs[Int(state.random.next() % UInt64(role.hubs.count))]
            return (old, state.address)
        }
        guard old != new else { return }
        try transport.remove(old)
        try transport.add(new)
    }

    /// Lets the other clients run for a while.
    private func pause() async {
        let milliseconds = state.withLock { UInt64($0.random.next() % 2_000) } * role.pause / 1_000
        let end = Clock.system.monotonicNanoseconds() + milliseconds * 1_000_000
        _ = try? await Thread.run(name: "pause") { Monitor(false).wait(until: end) { !$0 } }
    }

    // MARK: Reading

    /// The checksum of the documents of its group.
    var checksum: DocumentChecksum {
        get throws {
            try peer.sync.checksum(of: DQL(verbatim: "SELECT * FROM items WHERE g = \(group)"))
        }
    }

    /// A line for each document: its id and its counter.
    var lines: [String] {
        get async throws {
            let found = try await peer.store.execute(
                DQL(verbatim: "SELECT _id, n FROM items WHERE g = \(group)"))
            return try found.items.map { item in
                guard case .string(let id)? = try item["_id"], case .integer(let n)? = try item["n"]
                else { throw FirstSyncFailure("a document without id or counter") }
                return "\(id) \(n)"
            }
        }
    }
}
