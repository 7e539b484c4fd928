import SheafHubLog
import SheafSystem
import Synchronization

/// The faults of a gated hub log.
final class LogGate: Sendable {
    struct State {
        /// Whether the engine stores no message of the hub.
        var losesAppends = false
        /// Whether the engine never stores the next message of the hub.
        var losesNext = false
        /// The message that the engine never stores.
        var lost: HubMessageID?
        /// Whether the engine does not respond, and how often it has not.
        var isUnreachable = false
        var refusedStarts = 0
        /// Called while the engine does not respond.
        var onRefusedStart: @Sendable () -> Void = {}
        /// Whether entries wait until the gate is opened.
        var holdsEntries = false
        /// Whether broadcasts are lost.
        var losesBroadcasts = false
        /// How long the engine needs to store an object.
        var putNanoseconds: UInt64 = 0
        var held: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Delivers what was held, in its order, and holds nothing more.
    func open() {
        let held = state.withLock { state in
            defer { state = State() }
            return state.held
        }
        for event in held { event() }
    }

    /// Whether the engine does not store a message.
    func loses(_ id: HubMessageID) -> Bool {
        state.withLock { state in
            if state.losesNext { (state.lost, state.losesNext) = (id, false) }
            return state.losesAppends || state.lost == id
        }
    }

    /// Throws if the engine does not respond.
    func start() throws(HubLogError) {
        let refuse: (@Sendable () -> Void)? = state.withLock { state in
            guard state.isUnreachable else { return nil }
            state.refusedStarts += 1
            return state.onRefusedStart
        }
        guard let refuse else { return }
        refuse()
        throw .timeout("a connection")
    }

    var refusedStarts: Int { state.withLock { $0.refusedStarts } }
    /// Whether a message was lost for good.
    var hasLost: Bool { state.withLock { $0.lost != nil } }
    var losesBroadcasts: Bool { state.withLock { $0.losesBroadcasts } }

    /// Waits as long as the engine needs to store an object.
    func put() {
        let end = Clock.system.monotonicNanoseconds() + state.withLock { $0.putNanoseconds }
        Monitor(false).wait(until: end) { !$0 }
    }

    /// Keeps an event if entries are held; returns whether it does.
    func hold(_ event: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if state.holdsEntries { state.held.append(event) }
            return state.holdsEntries
        }
    }
}

/// A hub log whose engine does not do everything.
final class GatedHubLog: HubLog {
    private let log: any HubLog
    private let gate: LogGate

    init(_ log: any HubLog, _ gate: LogGate) {
        (self.log, self.gate) = (log, gate)
    }

    func start(_ host: any HubLogHost) throws(HubLogError) {
        try gate.start()
        try log.start(Host(host, gate))
    }

    func stop() { log.stop() }

    func append(_ message: [UInt8], to hubLog: HubLogID, as id: HubMessageID) {
        if !gate.loses(id) { log.append(message, to: hubLog, as: id) }
    }

    func broadcast(_ bytes: [UInt8]) {
        if !gate.losesBroadcasts { log.broadcast(bytes) }
    }

    func follow(_ shard: HubShard, from entry: UInt64) { log.follow(shard, from: entry) }
    func unfollow(_ shard: HubShard) { log.unfollow(shard) }
    func consumed(_ bytes: Int, of shard: HubShard) { log.consumed(bytes, of: shard) }
    func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
        log.reread(entries, of: shard)
    }
    func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
        try log.trim(shard, before: entry)
    }
    func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
        gate.put()
        try log.put(name, bytes)
    }
    func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) { try log.get(name, body) }
    func list(_ prefix: String) throws(HubLogError) -> [String] { try log.list(prefix) }
    func remove(_ name: String) throws(HubLogError) { try log.remove(name) }
    func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
        try log.load(name)
    }
    func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement { try log.replace(name, with: bytes, at: revision) }
    func create(_ hubLog: HubLogID, shardCount: Int) throws(HubLogError) {
        try log.create(hubLog, shardCount: shardCount)
    }
    func logs() throws(HubLogError) -> [HubLogID] { try log.logs() }
    func check(_ hubLog: HubLogID, shardCount: Int) throws(HubLogError) {
        try log.check(hubLog, shardCount: shardCount)
    }
    func remove(_ hubLog: HubLogID) throws(HubLogError) { try log.remove(hubLog) }

    private final class Host: HubLogHost {
        private let host: any HubLogHost
        private let gate: LogGate

        init(_ host: any HubLogHost, _ gate: LogGate) {
            (self.host, self.gate) = (host, gate)
        }

        func stored(_ id: HubMessageID, as entry: UInt64) { host.stored(id, as: entry) }
        func failed(_ id: HubMessageID, _ error: HubLogError) { host.failed(id, error) }
        func reread(
            _ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?
        ) { host.reread(entries, of: shard, error) }
        func connected() { host.connected() }
        func disconnected(_ error: HubLogError) { host.disconnected(error) }
        func received(broadcast: [UInt8]) { host.received(broadcast: broadcast) }

        func received(_ entries: [HubLogEntry], of shard: HubShard) {
            let host = host
            if !gate.hold({ host.received(entries, of: shard) }) {
                host.received(entries, of: shard)
            }
        }
    }
}
