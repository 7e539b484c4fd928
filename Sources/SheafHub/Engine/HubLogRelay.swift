package import SheafHubLog
import SheafReplication
import SheafSync
package import SheafSystem
import Synchronization

/// The hub log as the peer of a hub uses it.
///
/// It passes all calls to the engine, and all events to the peer, and records what shows the state
/// of the engine: messages without an answer, and the beats of all hubs.
package final class HubLogRelay: HubLog, HubLogHost {
    struct State {
        var host: (any HubLogHost)?
        /// Whether the engine was started, and not stopped.
        var isConnected = false
        var traffic = EngineTraffic()
        var hubs = OtherHubs()
    }

    private let engine: any HubLog
    private let clock: Clock
    /// The key of this hub, whose own beats return from the engine.
    private let key: [UInt8]
    private let state = Mutex(State())

    /// Creates a relay to an engine that is not connected.
    package init(_ engine: any HubLog, key: [UInt8], _ clock: Clock) {
        self.engine = engine
        self.key = key
        self.clock = clock
    }

    /// Connects to the engine; blocking calls are possible from now on.
    func connect() throws(HubLogError) {
        try engine.start(self)
        state.withLock { $0.isConnected = true }
    }

    /// Records the beats of the hubs of a log from now on.
    func read(beatsOf log: HubLogID) {
        state.withLock { state in
            // Beats of another log do not return as those of this one.
            if state.hubs.log != log { state.traffic.returnedAt = nil }
            state.hubs.log = log
        }
    }

    /// Forgets the messages without an answer for which the hub no longer waits.
    func forgetReplaced(_ progress: HubProgress) {
        state.withLock { $0.traffic.forgetReplaced(progress) }
    }

    /// The messages of this hub, and the answers of the engine.
    package var traffic: EngineTraffic { state.withLock { $0.traffic } }
    /// The other hubs, as their last beats show them.
    var hubs: OtherHubs { state.withLock { $0.hubs } }

    // MARK: - Calls of the peer

    /// Passes events to the peer from now on; the engine is connected already.
    package func start(_ host: any HubLogHost) throws(HubLogError) {
        state.withLock { $0.host = host }
    }

    package func stop() {
        let isConnected = state.withLock { state in
            defer { state.isConnected = false }
            return state.isConnected
        }
        guard isConnected else { return }
        engine.stop()
        state.withLock { $0.host = nil }
    }

    package func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {
        let (now, wall) = (clock.monotonicNanoseconds(), clock.wallMilliseconds())
        state.withLock { $0.traffic.appended(id, message.count, to: log, at: now, wall) }
        engine.append(message, to: log, as: id)
    }

    package func follow(_ shard: HubShard, from entry: UInt64) { engine.follow(shard, from: entry) }

    package func unfollow(_ shard: HubShard) {
        engine.unfollow(shard)
        state.withLock { $0.traffic.forget(shard) }
    }

    package func consumed(_ bytes: Int, of shard: HubShard) {
        engine.consumed(bytes, of: shard)
    }

    package func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
        engine.reread(entries, of: shard)
    }

    package func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
        try engine.trim(shard, before: entry)
    }

    package func broadcast(_ bytes: [UInt8]) {
        state.withLock { $0.hubs.send(bytes) }
        engine.broadcast(bytes)
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
        try engine.put(name, bytes)
    }

    package func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) {
        try engine.get(name, body)
    }

    package func list(_ prefix: String) throws(HubLogError) -> [String] { try engine.list(prefix) }
    package func remove(_ name: String) throws(HubLogError) { try engine.remove(name) }

    package func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
        try engine.load(name)
    }

    package func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement {
        try engine.replace(name, with: bytes, at: revision)
    }

    package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try engine.create(log, shardCount: shardCount)
    }

    package func logs() throws(HubLogError) -> [HubLogID] { try engine.logs() }

    package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try engine.check(log, shardCount: shardCount)
    }

    package func remove(_ log: HubLogID) throws(HubLogError) { try engine.remove(log) }

    // MARK: - Events of the engine

    package func stored(_ id: HubMessageID, as entry: UInt64) {
        host { $0.traffic.stored(id, as: entry) }?.stored(id, as: entry)
    }

    package func failed(_ id: HubMessageID, _ error: HubLogError) {
        host { $0.traffic.failed(error) }?.failed(id, error)
    }

    package func received(_ entries: [HubLogEntry], of shard: HubShard) {
        host { $0.traffic.received(entries, of: shard) }?.received(entries, of: shard)
    }

    package func received(broadcast bytes: [UInt8]) {
        let (now, wall) = (clock.monotonicNanoseconds(), clock.wallMilliseconds())
        let host = host { state in
            let isOwn = state.hubs.receive(bytes, own: key, at: now, wall)
            if isOwn { state.traffic.returnedAt = now }
        }
        host?.received(broadcast: bytes)
    }

    package func reread(
        _ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?
    ) {
        host { _ in }?.reread(entries, of: shard, error)
    }

    package func connected() {
        host { $0.traffic.connected() }?.connected()
    }

    package func disconnected(_ error: HubLogError) {
        let now = clock.monotonicNanoseconds()
        host { $0.traffic.disconnected(error, at: now) }?.disconnected(error)
    }

    /// Records an event, and returns the peer that it concerns as well.
    private func host(_ record: (inout State) -> Void) -> (any HubLogHost)? {
        state.withLock { state in
            record(&state)
            return state.host
        }
    }
}
