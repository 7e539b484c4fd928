import SheafHubLog
package import SheafSystem
import Synchronization

/// Logs and objects in memory that the hubs of one process share.
///
/// For tests, examples and single machines: it loses everything with its last reference.
package final class MemoryHubEngine: Sendable {
    /// The entries of a shard from one number on.
    private struct Shard {
        var first: UInt64 = 1
        var entries: [HubLogEntry] = []
        var ids: [HubMessageID] = []
        var numbers: [HubMessageID: UInt64] = [:]

        var next: UInt64 { first + UInt64(entries.count) }

        mutating func append(
            _ message: [UInt8], as id: HubMessageID, at wallMilliseconds: UInt64
        ) -> UInt64 {
            let entry = next
            entries.append(HubLogEntry(entry, message, storedAt: wallMilliseconds))
            ids.append(id)
            numbers[id] = entry
            return entry
        }

        mutating func trim(before entry: UInt64) {
            let count = min(entry, next) - min(first, entry)
            for id in ids.prefix(Int(count)) { numbers[id] = nil }
            ids.removeFirst(Int(count))
            entries.removeFirst(Int(count))
            first += count
        }
    }

    private struct State {
        var logs: [HubLogID: [Shard]] = [:]
        var objects: [String: [UInt8]] = [:]
        var replaceable: [String: (bytes: [UInt8], revision: UInt64)] = [:]
        var revision: UInt64 = 0
        var members: [ObjectIdentifier: MemoryHubLog] = [:]
    }

    private let clock: Clock
    private let state = Mutex(State())

    /// Creates an engine without logs and objects.
    package init(clock: Clock = .system) {
        self.clock = clock
    }

    // MARK: - Logs

    func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        guard 1...HubLimits.shards ~= shardCount else {
            throw .refused("a log of \(shardCount) shards; it has 1 to \(HubLimits.shards)")
        }
        try state.withLock { state throws(HubLogError) in
            guard let shards = state.logs[log] else {
                state.logs[log] = [Shard](repeating: Shard(), count: shardCount)
                return
            }
            guard shards.count == shardCount, shards.allSatisfy({ $0.next == 1 }) else {
                throw .refused("a new log with the id of one that has entries or other shards")
            }
        }
    }

    /// The logs that have, or had, entries.
    var logs: [HubLogID] {
        state.withLock { state in
            state.logs.filter { $0.value.contains { $0.next > 1 } }.map { $0.key }
        }
    }

    func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        let count = state.withLock { $0.logs[log]?.count }
        guard count == shardCount else { throw .missing("log with \(shardCount) shards") }
    }

    func remove(_ log: HubLogID) {
        state.withLock { _ = $0.logs.removeValue(forKey: log) }
    }

    /// Stores a message, or finds the entry that has its id; returns the number of the entry.
    func append(
        _ message: [UInt8], to shard: HubShard, as id: HubMessageID
    ) throws(HubLogError) -> UInt64 {
        guard message.count <= HubLimits.messageLength else {
            throw .refused(
                "a message of \(message.count) bytes; it has at most \(HubLimits.messageLength)")
        }
        return try state.withLock { state throws(HubLogError) in
            let number = Int(shard.number)
            guard let count = state.logs[shard.log]?.count, number < count else {
                throw .missing("shard \(number)")
            }
            if let entry = state.logs[shard.log]?[number].numbers[id] { return entry }
            let now = clock.wallMilliseconds()
            return state.logs[shard.log]?[number].append(message, as: id, at: now) ?? 0
        }
    }

    /// Returns entries in their order, beginning with a number or the first one that exists.
    ///
    /// It stops before the entry that `take` refuses.
    func read(
        _ shard: HubShard, _ entries: ClosedRange<UInt64>, _ take: (Int) -> Bool
    ) -> [HubLogEntry] {
        state.withLock { state in
            let number = Int(shard.number)
            guard let shards = state.logs[shard.log], number < shards.count else { return [] }
            let found = shards[number]
            var result: [HubLogEntry] = []
            var entry = max(entries.lowerBound, found.first)
            while entry < found.next, entry <= entries.upperBound {
                let stored = found.entries[Int(entry - found.first)]
                guard take(stored.bytes.count) else { break }
                result.append(stored)
                entry += 1
            }
            return result
        }
    }

    /// Returns whether an entry exists whose number is in a range, which may be empty.
    func contains(_ shard: HubShard, anyFrom first: UInt64, through last: UInt64) -> Bool {
        state.withLock { state in
            let number = Int(shard.number)
            guard let shards = state.logs[shard.log], number < shards.count else { return false }
            let start = max(first, shards[number].first)
            return start <= last && start < shards[number].next
        }
    }

    func trim(_ shard: HubShard, before entry: UInt64) {
        state.withLock { state in
            let number = Int(shard.number)
            guard let count = state.logs[shard.log]?.count, number < count else { return }
            state.logs[shard.log]?[number].trim(before: entry)
        }
    }

    // MARK: - Objects

    func put(_ name: String, _ bytes: [UInt8]) {
        state.withLock { state in
            if state.objects[name] == nil { state.objects[name] = bytes }
        }
    }

    func object(_ name: String) -> [UInt8]? { state.withLock { $0.objects[name] } }

    func names(_ prefix: String) -> [String] {
        state.withLock { $0.objects.keys.filter { $0.hasPrefix(prefix) } }.sorted()
    }

    func remove(_ name: String) {
        state.withLock { _ = $0.objects.removeValue(forKey: name) }
    }

    func load(_ name: String) -> (bytes: [UInt8], revision: UInt64)? {
        state.withLock { $0.replaceable[name] }
    }

    /// Removes a replaceable object, as an engine that loses it.
    package func lose(_ name: String) {
        state.withLock { _ = $0.replaceable.removeValue(forKey: name) }
    }

    func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) -> HubLogReplacement {
        state.withLock { state in
            guard state.replaceable[name]?.revision == revision else { return .changed }
            state.revision += 1
            state.replaceable[name] = (bytes, state.revision)
            return .replaced
        }
    }

    // MARK: - Members

    func add(_ log: MemoryHubLog) {
        state.withLock { $0.members[ObjectIdentifier(log)] = log }
    }

    func remove(_ log: MemoryHubLog) {
        state.withLock { _ = $0.members.removeValue(forKey: ObjectIdentifier(log)) }
    }

    /// The logs that were started and not stopped.
    var members: [MemoryHubLog] { state.withLock { Array($0.members.values) } }
}
