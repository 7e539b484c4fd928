import SheafHubLog

/// The messages that wait to be appended, and those that the server has not committed.
///
/// A batch has messages of one shard, in their order, and is one transaction: so it locks the
/// counter of one shard, and hubs never wait for each other in a circle. At most one batch of a
/// shard is in flight, so a batch that fails is repeated before later messages.
struct AppendQueue: Sendable {
    /// A message to append.
    struct Item: Sendable {
        let log: HubLogID
        let id: HubMessageID
        let bytes: [UInt8]
        /// Whether the message may be stored.
        var isRepeated = false
    }

    /// Messages that are committed together.
    struct Batch: Sendable {
        let shard: HubShard
        var items: [Item]
        /// Whether one of the messages may be stored.
        var isRepeated: Bool { items.contains { $0.isRepeated } }
    }

    private var waiting: [HubShard: [Item]] = [:]
    /// The shards with waiting messages and no batch in flight, the longest waiting one first.
    private var ready: [HubShard] = []
    private var inFlight: [Batch] = []

    /// Adds a message after all others of its shard.
    mutating func append(_ item: Item) {
        let shard = HubShard(item.id.shard, of: item.log)
        waiting[shard, default: []].append(item)
        makeReady(shard)
    }

    /// The oldest batch in flight, whose results arrive next.
    var oldest: Batch? { inFlight.first }

    /// Whether no batch is in flight.
    var isIdle: Bool { inFlight.isEmpty }

    /// Takes the next batch to send; nil if there is none, or enough are in flight.
    mutating func next() -> Batch? {
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
    mutating func complete(again: [Item]) {
        guard !inFlight.isEmpty else { return }
        let batch = inFlight.removeFirst()
        putBack(again, of: batch.shard)
    }

    /// Puts all batches in flight back, after their connection ended.
    mutating func putBackAll() {
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
