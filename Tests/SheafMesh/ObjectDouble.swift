package import SheafHubLog
import Synchronization

/// The objects beside a `LogDouble`, in the same process.
package final class ObjectDouble: HubStorage {
    private struct State {
        var objects: [String: [UInt8]] = [:]
        var replaceable: [String: (bytes: [UInt8], revision: UInt64)] = [:]
        var revision: UInt64 = 0
        /// The numbers of shards of logs.
        var created: [HubLogID: Int] = [:]
        var trimmed: [HubShard: UInt64] = [:]
        /// Whether the next replacements are stored, of which the engine reports nothing.
        var silentReplacements: [Bool] = []
        /// Objects of which the engine answers that there are none.
        var hidden: Set<String> = []
        /// Number of writes that succeed before all fail; nil if none fails.
        var remaining: Int?
        /// Whether the engine removes no entries.
        var failsTrims = false
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: Tests

    /// The number of the first entry of a shard that exists.
    package func trimmed(_ shard: HubShard) -> UInt64 {
        state.withLock { $0.trimmed[shard] ?? 1 }
    }

    /// The logs that were created, and not removed.
    package var created: Set<HubLogID> { state.withLock { Set($0.created.keys) } }

    /// The names and lengths of all objects.
    package var names: [String] { state.withLock { $0.objects.keys.sorted() } }

    /// Changes the bytes of an object.
    package func damage(_ name: String, _ change: (inout [UInt8]) -> Void) {
        state.withLock { state in
            guard var bytes = state.objects[name] else { return }
            change(&bytes)
            state.objects[name] = bytes
        }
    }

    /// Removes an object, or the configuration.
    package func lose(_ name: String) {
        state.withLock { state in
            state.objects[name] = nil
            state.replaceable[name] = nil
        }
    }

    /// Lets the engine answer that there are no such objects, as one does that has not all of them.
    package func hide(_ names: Set<String>) { state.withLock { $0.hidden = names } }

    /// Lets writes fail after some more, or not at all.
    package func failWrites(after count: Int?) { state.withLock { $0.remaining = count } }

    /// Lets attempts to remove entries fail, or not.
    package func failTrims(_ areFailing: Bool) { state.withLock { $0.failsTrims = areFailing } }

    /// Lets the engine not respond to the next replacements, of which it stores some.
    package func silenceReplacements(_ areStored: [Bool]) {
        state.withLock { $0.silentReplacements = areStored }
    }

    private func write<Result: Sendable>(
        _ body: (inout State) -> Result
    ) throws(HubLogError) -> Result {
        let result: Result? = state.withLock { state in
            if let remaining = state.remaining {
                guard remaining > 0 else { return nil }
                state.remaining = remaining - 1
            }
            return body(&state)
        }
        guard let result else { throw .disconnected("the test has ended the connection") }
        return result
    }

    // MARK: HubStorage

    package func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
        let isTrimmed: Bool = state.withLock { state in
            guard !state.failsTrims else { return false }
            state.trimmed[shard] = max(state.trimmed[shard] ?? 1, entry)
            return true
        }
        guard isTrimmed else { throw .disconnected("the test has ended the connection") }
        return false
    }

    package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        try write { $0.created[log] = shardCount }
    }

    package func logs() throws(HubLogError) -> [HubLogID] { Array(created) }

    package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
        let found = state.withLock { $0.created[log] }
        guard found == shardCount else {
            throw .missing("log \(log) with \(shardCount) shards")
        }
    }

    package func remove(_ log: HubLogID) throws(HubLogError) {
        try write { _ = $0.created.removeValue(forKey: log) }
    }

    package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
        try write { state in
            if state.objects[name] == nil { state.objects[name] = bytes }
        }
    }

    package func get(
        _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
    ) throws(HubLogError) {
        let bytes = state.withLock { state in
            state.hidden.contains(name) ? nil : state.objects[name]
        }
        guard let bytes else { throw .missing("object \(name)") }
        let middle = bytes.count / 2
        try body(Array(bytes[..<middle]))
        try body(Array(bytes[middle...]))
    }

    package func list(_ prefix: String) throws(HubLogError) -> [String] {
        names.filter { $0.hasPrefix(prefix) }
    }

    package func remove(_ name: String) throws(HubLogError) {
        try write { _ = $0.objects.removeValue(forKey: name) }
    }

    package func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
        state.withLock { $0.replaceable[name] }
    }

    package func replace(
        _ name: String, with bytes: [UInt8], at revision: UInt64?
    ) throws(HubLogError) -> HubLogReplacement {
        let isStored: Bool? = state.withLock { state in
            state.silentReplacements.isEmpty ? nil : state.silentReplacements.removeFirst()
        }
        if isStored == false { return .ambiguous(.timeout("the test stores nothing")) }
        let outcome: HubLogReplacement = try write { state in
            guard state.replaceable[name]?.revision == revision else { return .changed }
            state.revision += 1
            state.replaceable[name] = (bytes, state.revision)
            return .replaced
        }
        return isStored == nil ? outcome : .ambiguous(.timeout("the test loses the response"))
    }
}
