package import SheafHubLog
import Synchronization

/// The hub log of one hub over an engine in memory.
///
/// The engine retains it from `start` to `stop`.
package final class MemoryHubLog: HubLog {
    /// A followed shard.
    private struct Follower {
        /// The next entry to deliver; nil if only the credit is kept.
        var next: UInt64?
        var credit: ShardCredit
        /// Entries that wait for credit to be reread, and the ranges of the calls.
        var rereads: [(rest: ClosedRange<UInt64>, call: ClosedRange<UInt64>)] = []
    }

    private struct State {
        var events: HubEventThread?
        var followers: [HubShard: Follower] = [:]
    }

    private let engine: MemoryHubEngine
    private let unreadLength: Int
    private let state = Mutex(State())

    /// Creates a hub log that is not started.
    package init(_ engine: MemoryHubEngine, unreadLength: Int = HubLimits.unreadLength) {
        self.engine = engine
        self.unreadLength = unreadLength
    }

    package func start(_ host: any HubLogHost) throws(HubLogError) {
        let events = try HubEventThread(host)
        let isFirst = state.withLock { state in
            guard state.events == nil else { return false }
            state.events = events
            return true
        }
        precondition(isFirst, "A hub log is started once.")
        events.post(.connected)
        engine.add(self)
    }

    package func stop() {
        engine.remove(self)
        let events = state.withLock { state in
            state.followers = [:]
            return state.events
        }
        events?.stop()
    }

    package func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {
        guard let events = state.withLock({ $0.events }) else { return }
        let shard = HubShard(id.shard, of: log)
        do throws(HubLogError) {
            events.post(.stored(id, as: try engine.append(message, to: shard, as: id)))
        } catch {
            return events.post(.failed(id, error))
        }
        for member in engine.members { member.deliver(shard) }
    }

    package func follow(_ shard: HubShard, from entry: UInt64) {
        change(shard) { $0.next = entry }
    }

    package func unfollow(_ shard: HubShard) {
        change(shard) { follower in
            follower.next = nil
            follower.rereads = []
        }
    }

    package func consumed(_ bytes: Int, of shard: HubShard) {
        change(shard) { $0.credit.consumed(bytes) }
    }

    package func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
        change(shard) { $0.rereads.append((entries, entries)) }
    }

    package func trim(_ shard: HubShard, before entry: UInt64) -> Bool {
        engine.trim(shard, before: entry)
        return false
    }

    package func broadcast(_ bytes: [UInt8]) {
        guard bytes.count <= HubLimits.broadcastLength else { return }
        for member in engine.members {
            member.state.withLock { $0.events }?.post(.broadcast(bytes))
        }
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
        engine.put(name, bytes)
    }

    package func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) {
        guard let bytes = engine.object(name) else { throw .missing("object \(name)") }
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.pieceLength, bytes.count)
            try body(Array(bytes[start..<end]))
            start = end
        }
    }

    package func list(_ prefix: String) throws(HubLogError) -> [String] { engine.names(prefix) }

    package func remove(_ name: String) throws(HubLogError) { engine.remove(name) }

    package func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
        engine.load(name)
    }

    package func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement {
        engine.replace(name, with: bytes, at: revision)
    }

    package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try engine.create(log, shardCount: shardCount)
    }

    package func logs() throws(HubLogError) -> [HubLogID] { engine.logs }

    package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try engine.check(log, shardCount: shardCount)
    }

    package func remove(_ log: HubLogID) throws(HubLogError) { engine.remove(log) }

    /// Length of the chunks of an object.
    private static let pieceLength = 256 << 10

    private func change(_ shard: HubShard, _ body: (inout Follower) -> Void) {
        state.withLock { state in
            guard state.events != nil else { return }
            let credit = ShardCredit(limit: unreadLength)
            body(&state.followers[shard, default: Follower(next: nil, credit: credit)])
        }
        deliver(shard)
    }

    /// Posts the entries that the credit of a shard admits.
    private func deliver(_ shard: HubShard) {
        // Posted under the lock, so that concurrent calls keep the order of the entries.
        state.withLock { state in
            guard let events = state.events, var follower = state.followers[shard] else { return }
            defer { state.followers[shard] = follower }
            while let (rest, call) = follower.rereads.first {
                let entries = engine.read(shard, rest) { follower.credit.take($0) }
                if !entries.isEmpty { events.post(.received(entries, of: shard)) }
                let next = entries.last.map { $0.number + 1 } ?? rest.lowerBound
                guard !engine.contains(shard, anyFrom: next, through: rest.upperBound) else {
                    follower.rereads[0].rest = next...rest.upperBound
                    return
                }
                follower.rereads.removeFirst()
                events.post(.reread(call, of: shard, nil))
            }
            guard let next = follower.next else { return }
            let entries = engine.read(shard, next...UInt64.max) { follower.credit.take($0) }
            guard let last = entries.last else { return }
            follower.next = last.number + 1
            events.post(.received(entries, of: shard))
        }
    }
}
