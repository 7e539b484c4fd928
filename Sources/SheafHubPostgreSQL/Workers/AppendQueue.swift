package import SheafHubLog

/// The messages that wait to be appended, and those that the server has not committed.
///
/// A batch has messages of one shard, in their order, and is one transaction: so it locks the
/// counter of one shard, and hubs never deadlock. At most one batch of a
/// shard is in flight, so a batch that fails is repeated before later messages.
///
/// A message has one entry in the queue: a hub appends messages without an answer again, every
/// few seconds, and those of a long outage would otherwise fill the memory.
package struct AppendQueue: Sendable {
    /// A message to append.
    package struct Item: Sendable {
        package let log: HubLogID
        package let id: HubMessageID
        package let bytes: [UInt8]
        /// Whether the message may be stored.
        package fileprivate(set) var isRepeated = false

        package init(log: HubLogID, id: HubMessageID, bytes: [UInt8]) {
            self.log = log
            self.id = id
            self.bytes = bytes
        }

        fileprivate var key: Key { Key(log: log, id: id) }
    }

    /// Messages that are committed together.
    package struct Batch: Sendable {
        package let shard: HubShard
        package var items: [Item]
        /// Whether one of the messages may be stored.
        package var isRepeated: Bool { items.contains { $0.isRepeated } }
    }

    /// The identity of a message in the queue.
    fileprivate struct Key: Hashable {
        let log: HubLogID
        let id: HubMessageID
    }

    private var waiting: [HubShard: [Item]] = [:]
    /// The shards with waiting messages and no batch in flight, the longest waiting one first.
    private var ready: [HubShard] = []
    private var inFlight: [Batch] = []
    /// The messages that wait or are in flight.
    private var keys: Set<Key> = []

    /// Creates an empty queue.
    package init() {}

    /// Adds a message after all others of its shard, unless it waits already or is in flight.
    package mutating func append(_ item: Item) {
        guard keys.insert(item.key).inserted else { return }
        let shard = HubShard(item.id.shard, of: item.log)
        waiting[shard, default: []].append(item)
        makeReady(shard)
    }

    /// The oldest batch in flight, whose results arrive next.
    package var oldest: Batch? { inFlight.first }

    /// Whether no batch is in flight.
    package var isIdle: Bool { inFlight.isEmpty }

    /// Takes the next batch to send; nil if there is none, or enough are in flight.
    package mutating func next() -> Batch? {
        guard inFlight.count < PostgreSQLLimits.batchesInFlight, !ready.isEmpty else {
            return nil
        }
        let shard = ready.removeFirst()
        guard var items = waiting.removeValue(forKey: shard) else { return nil }
        var length = 0
        let end = items.prefix(PostgreSQLLimits.batchMessages).firstIndex { item in
            length += item.bytes.count
            return length > PostgreSQLLimits.batchLength
        }
        let count = max(end ?? min(items.count, PostgreSQLLimits.batchMessages), 1)
        let batch = Batch(shard: shard, items: Array(items.prefix(count)))
        items.removeFirst(count)
        if !items.isEmpty { waiting[shard] = items }
        inFlight.append(batch)
        return batch
    }

    /// Removes the oldest batch in flight; `again` are its messages that must be appended again.
    package mutating func complete(again: [Item]) {
        guard !inFlight.isEmpty else { return }
        let batch = inFlight.removeFirst()
        for item in batch.items { keys.remove(item.key) }
        for item in again { keys.insert(item.key) }
        putBack(again, of: batch.shard)
    }

    /// Puts all batches in flight back, after their connection ended.
    package mutating func putBackAll() {
        let batches = inFlight
        inFlight = []
        for batch in batches { putBack(batch.items, of: batch.shard) }
    }

    private mutating func putBack(_ items: [Item], of shard: HubShard) {
        let repeated = items.map { item in
            var item = item
            item.isRepeated = true
            return item
        }
        if !repeated.isEmpty { waiting[shard] = repeated + (waiting[shard] ?? []) }
        makeReady(shard)
    }

    private mutating func makeReady(_ shard: HubShard) {
        guard waiting[shard] != nil, !ready.contains(shard),
            !inFlight.contains(where: { $0.shard == shard })
        else { return }
        ready.append(shard)
    }
}
