import SheafBytes
package import SheafHubLog

/// The shards that a host follows, and the entries to read next.
package struct FollowedShards: Sendable {
    /// A query for entries of a shard.
    package struct Query: Equatable, Sendable {
        package let shard: HubShard
        package let first: UInt64
        package let last: UInt64
        /// Maximum length of the entries in bytes.
        package let length: Int
        /// Whether one entry is read that is longer.
        package let isAdmitted: Bool
        package let purpose: Purpose
    }

    /// The call for which entries are read.
    package enum Purpose: Equatable, Sendable {
        /// A call of `follow`, by its number.
        case follow(generation: UInt64)
        /// A call of `reread`, by its entries.
        case reread(ClosedRange<UInt64>)
    }

    /// The events that follow from the result of a query.
    package struct Completion: Equatable, Sendable {
        /// Whether the host must receive the entries.
        package var isWanted = false
        /// The entries of the call of `reread` that has ended.
        package var ended: ClosedRange<UInt64>?
    }

    private struct Reread: Sendable {
        let call: ClosedRange<UInt64>
        /// The entries that were not read.
        let rest: ClosedRange<UInt64>
    }

    private struct Shard: Sendable {
        /// The next entry to deliver; nil if only the unread bytes are counted.
        var next: UInt64?
        var generation: UInt64 = 0
        /// Number of bytes that were delivered and not consumed.
        var unread = 0
        /// Whether there may be entries from `next` on.
        var isDue = false
        /// Whether the next entry may have been left out for lack of room.
        var isBlocked = false
        /// Whether rereads wait for room.
        var mustConsume = false
        var rereads: [Reread] = []
        /// The last entry that was delivered in order, and its hash.
        var last: (number: UInt64, hash: UInt64)?

        var canReread: Bool { !rereads.isEmpty && !mustConsume }
        var hasWork: Bool { next != nil && isDue || canReread }
    }

    private let unreadLength: Int
    private var shards: [HubShard: Shard] = [:]
    /// The shards in the order in which they are read next.
    private var order: [HubShard] = []
    private var names: [String: HubShard] = [:]
    private var generation: UInt64 = 0

    package init(unreadLength: Int) {
        self.unreadLength = unreadLength
    }

    /// Follows a shard from a number on, in place of an earlier call.
    package mutating func follow(_ shard: HubShard, from entry: UInt64) {
        generation += 1
        let generation = generation
        change(shard) { state in
            state.next = max(entry, 1)
            state.generation = generation
            state.isDue = true
            state.last = nil
        }
    }

    /// Ends the delivery of new entries; the unread bytes are still counted.
    package mutating func unfollow(_ shard: HubShard) {
        shards[shard]?.next = nil
        shards[shard]?.rereads = []
        shards[shard]?.last = nil
    }

    /// Records consumed bytes; returns whether they make room for entries that wait.
    package mutating func consume(_ bytes: Int, of shard: HubShard) -> Bool {
        guard var state = shards[shard] else { return false }
        state.unread -= min(max(bytes, 0), state.unread)
        state.mustConsume = false
        if state.isBlocked { (state.isDue, state.isBlocked) = (true, false) }
        shards[shard] = state
        return state.hasWork && hasRoom(state)
    }

    /// Reads entries once more.
    package mutating func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
        change(shard) { $0.rereads.append(Reread(call: entries, rest: entries)) }
    }

    private mutating func change(_ shard: HubShard, _ body: (inout Shard) -> Void) {
        if shards[shard] == nil {
            order.append(shard)
            names[shard.notification] = shard
        }
        body(&shards[shard, default: Shard()])
    }

    /// Marks a shard as one that has new entries.
    ///
    /// - Parameter name: The shard as in notifications; that of other hubs is ignored.
    package mutating func notice(_ name: String) {
        guard let shard = names[name] else { return }
        shards[shard]?.isDue = true
    }

    /// Marks all shards as ones that may have new entries.
    package mutating func noticeAll() {
        for shard in order { shards[shard]?.isDue = true }
    }

    /// Takes the next query; nil if there is none.
    package mutating func nextQuery() -> Query? {
        for (index, shard) in order.enumerated() {
            guard var state = shards[shard], state.hasWork, hasRoom(state) else { continue }
            order.remove(at: index)
            order.append(shard)
            defer { shards[shard] = state }
            let length = min(unreadLength - state.unread, PostgreSQLLimits.readLength)
            let isAdmitted = state.unread == 0
            if state.canReread {
                let reread = state.rereads.removeFirst()
                return Query(
                    shard: shard, first: reread.rest.lowerBound, last: reread.rest.upperBound,
                    length: length, isAdmitted: isAdmitted, purpose: .reread(reread.call))
            }
            state.isDue = false
            return Query(
                shard: shard, first: state.next ?? 1, last: .max, length: length,
                isAdmitted: isAdmitted, purpose: .follow(generation: state.generation))
        }
        return nil
    }

    /// Repeats a query that failed.
    package mutating func repeatQuery(_ query: Query) {
        switch query.purpose {
        case .follow: shards[query.shard]?.isDue = true
        case .reread(let call):
            let reread = Reread(call: call, rest: query.first...query.last)
            shards[query.shard]?.rereads.insert(reread, at: 0)
        }
    }

    /// Records the result of a query.
    ///
    /// - Parameter isCut: Whether another entry was left out because it is too long.
    package mutating func complete(
        _ query: Query, _ entries: [HubLogEntry], isCut: Bool
    ) -> Completion {
        guard var state = shards[query.shard] else { return Completion() }
        defer { shards[query.shard] = state }
        let length = entries.reduce(0) { $0 + $1.bytes.count }
        let mayContinue = isCut || entries.count >= PostgreSQLLimits.readEntries
        // The host may have consumed entries during the query.
        let isBlocked =
            isCut && entries.isEmpty && unreadLength - state.unread <= query.length
        let next = entries.last.map { $0.number + 1 } ?? query.first
        switch query.purpose {
        case .follow(let generation):
            guard state.next != nil, state.generation == generation else { return Completion() }
        case .reread(let call):
            state.unread += length
            guard mayContinue, next <= query.last else {
                return Completion(isWanted: !entries.isEmpty, ended: call)
            }
            state.rereads.insert(Reread(call: call, rest: next...query.last), at: 0)
            state.mustConsume = isBlocked
            return Completion(isWanted: !entries.isEmpty)
        }
        state.isBlocked = isBlocked
        if mayContinue, !isBlocked { state.isDue = true }
        guard let last = entries.last else { return Completion() }
        state.unread += length
        state.next = next
        state.last = (last.number, Self.hash(last.bytes))
        return Completion(isWanted: true)
    }

    /// The last delivered entry of each shard, and its hash.
    package var lastEntries: [(shard: HubShard, number: UInt64, hash: UInt64)] {
        order.compactMap { shard in
            shards[shard]?.last.map { (shard, $0.number, $0.hash) }
        }
    }

    static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.span.withUnsafeBytes { XXH3.hash64($0) }
    }

    /// Whether there is room for entries, or a long one is admitted because nothing is unread.
    ///
    /// A query for little room would often return nothing.
    private func hasRoom(_ state: Shard) -> Bool {
        let least = min(HubLimits.messageLength, unreadLength / 16)
        return state.unread == 0 || unreadLength - state.unread >= max(least, 1)
    }
}
