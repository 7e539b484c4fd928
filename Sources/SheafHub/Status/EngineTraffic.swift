package import SheafHubLog
package import SheafReplication

/// The messages of a hub, and the answers of the engine.
package struct EngineTraffic: Sendable {
    /// Messages, and bytes, that were appended, entries that were read, and failures.
    package private(set) var appendedCount: UInt64 = 0
    package private(set) var appendedLength: UInt64 = 0
    package private(set) var readCount: UInt64 = 0
    package private(set) var readLength: UInt64 = 0
    package private(set) var failedCount: UInt64 = 0
    package private(set) var lastFailure: HubLogError?
    /// When a beat of this hub last returned from the engine.
    package var returnedAt: UInt64?
    /// Why entries do not arrive, and since when; nil while they do.
    private(set) var disconnection: (error: HubLogError, since: UInt64)?
    /// The clock of the engine minus that of this hub, when a message was stored last; nil before.
    package private(set) var clockDifference: Int64?
    /// When messages without an answer were appended first, also by the wall clock.
    private var unanswered: [HubMessageID: Appended] = [:]
    /// The wall clock of this hub and of the engine for the entries of recent messages.
    private var appendTimes: [Entry: UInt64] = [:]
    private var entryTimes: [Entry: UInt64] = [:]

    private struct Appended {
        let at: UInt64
        let wallMilliseconds: UInt64
        let log: HubLogID
    }

    /// An entry of a shard; a log that replaces another one has the same numbers again.
    private struct Entry: Hashable {
        let shard: HubShard
        let number: UInt64
    }

    /// Maximum number of entries whose times are kept until the other time is known.
    package static let maximumTimes = 64

    package init() {}

    package mutating func appended(
        _ id: HubMessageID, _ length: Int, to log: HubLogID, at now: UInt64,
        _ wallMilliseconds: UInt64
    ) {
        // A message that is appended again has the same id.
        guard unanswered[id] == nil else { return }
        unanswered[id] = Appended(at: now, wallMilliseconds: wallMilliseconds, log: log)
        appendedCount += 1
        appendedLength += UInt64(length)
    }

    package mutating func stored(_ id: HubMessageID, as entry: UInt64) {
        if let appended = unanswered.removeValue(forKey: id) {
            if appendTimes.count >= Self.maximumTimes { appendTimes = [:] }
            let shard = HubShard(id.shard, of: appended.log)
            appendTimes[Entry(shard: shard, number: entry)] = appended.wallMilliseconds
            compareClocks()
        }
        if unanswered.isEmpty { lastFailure = nil }
    }

    /// Forgets the messages for which the hub no longer waits.
    ///
    /// The engine has not answered for a message whose documents are stored in later messages.
    package mutating func forgetReplaced(_ progress: HubProgress) {
        guard !unanswered.isEmpty else { return }
        var first: [UInt16: UInt64] = [:]
        for shard in progress.shards { first[shard.number] = shard.firstUnstored }
        unanswered = unanswered.filter { id, _ in
            id.author != progress.author || id.sequence >= first[id.shard] ?? 0
        }
        if unanswered.isEmpty { lastFailure = nil }
    }

    /// Forgets the messages of a shard that is not followed any more.
    package mutating func forget(_ shard: HubShard) {
        unanswered = unanswered.filter { $0.key.shard != shard.number }
        if unanswered.isEmpty { lastFailure = nil }
    }

    package mutating func connected() { disconnection = nil }

    package mutating func disconnected(_ error: HubLogError, at now: UInt64) {
        disconnection = (error, disconnection?.since ?? now)
    }

    /// Compares the times of messages that are stored and read.
    private mutating func compareClocks() {
        for (entry, own) in appendTimes {
            guard let time = entryTimes.removeValue(forKey: entry) else { continue }
            appendTimes[entry] = nil
            clockDifference = Int64(clamping: time) - Int64(clamping: own)
        }
    }

    package mutating func failed(_ error: HubLogError) {
        failedCount += 1
        lastFailure = error
    }

    package mutating func received(_ entries: [HubLogEntry], of shard: HubShard) {
        for entry in entries.suffix(Self.maximumTimes) {
            guard let time = entry.wallMilliseconds else { continue }
            if entryTimes.count >= Self.maximumTimes { entryTimes = [:] }
            entryTimes[Entry(shard: shard, number: entry.number)] = time
        }
        compareClocks()
        readCount += UInt64(entries.count)
        readLength += entries.reduce(0) { $0 + UInt64($1.bytes.count) }
    }

    /// When the oldest message without an answer was appended; nil if there is none.
    package var oldestUnanswered: UInt64? { unanswered.values.map { $0.at }.min() }
}
