import SheafHubLog
import SheafSystem

/// A hub that records the events of its log.
final class RecordingHost: HubLogHost {
    struct State {
        var stored: [(id: HubMessageID, entry: UInt64)] = []
        var failed: [(id: HubMessageID, error: HubLogError)] = []
        var entries: [HubShard: [HubLogEntry]] = [:]
        var broadcasts: [[UInt8]] = []
        var rereads: [Reread] = []
        /// Whether the log was connected, after each event of its connection.
        var connections: [Bool] = []
        /// The reason why the connection was lost last.
        var loss: HubLogError?
        /// Whether `stop` of the log has returned.
        var isStopped = false
        var eventsAfterStop = 0

        /// The total length of the entries of a shard.
        func length(of shard: HubShard) -> Int {
            entries[shard, default: []].reduce(0) { $0 + $1.bytes.count }
        }

        func numbers(of shard: HubShard) -> [UInt64] {
            entries[shard, default: []].map(\.number)
        }

        /// The numbers and bytes of the entries of a shard.
        func contents(of shard: HubShard) -> [HubLogEntry] {
            entries[shard, default: []].map { HubLogEntry($0.number, $0.bytes) }
        }
    }

    /// An ended call of `reread`.
    struct Reread: Equatable {
        let entries: ClosedRange<UInt64>
        let shard: HubShard
        let error: HubLogError?
        /// Number of the entries of the shard that arrived before its end.
        let arrivedCount: Int
    }

    private let state = Monitor(State())
    private let consume: Monitor<(any HubLog)?>

    /// Creates a host that consumes all entries of `log`; without one it consumes none.
    init(consumingFrom log: (any HubLog)? = nil) {
        consume = Monitor(log)
    }

    var current: State { state.withLock { $0 } }

    func stored(_ id: HubMessageID, as entry: UInt64) { note { $0.stored.append((id, entry)) } }

    func failed(_ id: HubMessageID, _ error: HubLogError) {
        note { $0.failed.append((id, error)) }
    }

    func received(_ entries: [HubLogEntry], of shard: HubShard) {
        note { $0.entries[shard, default: []] += entries }
        let length = entries.reduce(0) { $0 + $1.bytes.count }
        consume.withLock { $0 }?.consumed(length, of: shard)
    }

    func received(broadcast: [UInt8]) { note { $0.broadcasts.append(broadcast) } }

    func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard, _ error: HubLogError?) {
        note { state in
            state.rereads.append(
                Reread(
                    entries: entries, shard: shard, error: error,
                    arrivedCount: state.entries[shard, default: []].count))
        }
    }

    func connected() { note { $0.connections.append(true) } }

    func disconnected(_ error: HubLogError) {
        note { state in
            state.connections.append(false)
            state.loss = error
        }
    }

    /// Waits for events; returns whether `predicate` holds within a minute.
    func waits(for predicate: (State) -> Bool) -> Bool {
        let deadline = Clock.system.monotonicNanoseconds() + 60_000_000_000
        return state.wait(until: deadline, while: { !predicate($0) })
    }

    /// Waits for a moment, while brokers elect a leader.
    func pause() {
        let deadline = Clock.system.monotonicNanoseconds() + 300_000_000
        state.wait(until: deadline, while: { _ in true })
    }

    /// Notes that no event may follow.
    func stopped() {
        state.withLock { $0.isStopped = true }
        consume.withLock { $0 = nil }
    }

    private func note(_ body: (inout State) -> Void) {
        state.withLock { state in
            if state.isStopped { state.eventsAfterStop += 1 }
            body(&state)
        }
        state.broadcast()
    }
}
