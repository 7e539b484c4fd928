package import SheafDocument
package import SheafHubLog
package import SheafStorage

/// One shard of the hub log: the messages appended to it, and the groups read from it.
package struct FedShard {
    /// A position in the log, and the local commit that has the documents up to it.
    private struct Written {
        let position: ShardPosition
        let commit: CommitID
    }

    package let number: UInt16
    package var reader: ShardReader
    package var appender: ShardAppender
    /// Complete groups of other authors that wait to be written.
    package private(set) var waiting: [WaitingGroup] = []
    /// The groups that a job writes.
    package private(set) var writing: [WaitingGroup] = []
    /// Positions whose documents are written, and not yet durable.
    private var written: [Written] = []
    /// The position up to which the documents are in the store.
    package private(set) var lastPosition: ShardPosition
    /// The position up to which they are durable.
    package private(set) var durable: ShardPosition
    /// The entry of the position that the store has under its key.
    var savedEntry: UInt64
    /// The progress that the store keeps until it has appended what a loaded snapshot lacks.
    var kept: StoredShard?
    /// Length of the entries that were delivered.
    var readLength: UInt64 = 0
    /// The time, since 1970, at which the store had all entries of the shard before this feed.
    private let initialMilliseconds: UInt64
    /// When the last own message was appended of those that were read, and whose position the
    /// store has: up to then it has all entries.
    private var currentAt: UInt64?
    /// The same for messages whose position it may not have yet.
    private var readOwnAt: UInt64?
    /// Whether the store cannot read a group, so that no later one is written.
    package var isBlocked = false
    /// When groups that could not be written are written again; nil if there are none.
    package var retryAt: UInt64?
    /// Since when each job that wrote groups has failed; nil if the last one has not.
    private var failingSince: UInt64?
    /// Number of groups to write before the store has all that was in the shard; nil before the
    /// end of the shard was read.
    private var unwrittenCount: Int?

    package init(
        _ number: UInt16, of log: HubLogID, _ author: HubAuthor, at position: ShardPosition,
        storedThrough commit: CommitID, currentAt wallMilliseconds: UInt64,
        _ limits: ShardReader.Limits
    ) {
        self.number = number
        initialMilliseconds = wallMilliseconds
        reader = ShardReader(
            log: log, shard: number, own: author, at: position, limits: limits)
        appender = ShardAppender(number, of: log, author, after: commit)
        (lastPosition, durable, savedEntry) = (position, position, position.entry)
    }

    /// Continues after a snapshot whose documents were loaded.
    init(
        _ number: UInt16, of log: HubLogID, _ author: HubAuthor, _ loaded: LoadedShard,
        _ limits: ShardReader.Limits
    ) {
        self.init(
            number, of: log, author, at: loaded.position, storedThrough: loaded.commit,
            currentAt: loaded.wallMilliseconds, limits)
        if !loaded.missing.isEmpty { kept = loaded.kept }
    }

    /// The shard for the engine of the log.
    var id: HubShard { HubShard(number, of: reader.log) }

    /// The entries that this author has read and stored.
    package var progress: ShardProgress {
        ShardProgress(
            read: reader.read, digest: reader.digest, stored: min(durable.entry, reader.read))
            ?? .start
    }

    /// Whether the shard has no incident, and nothing that this version cannot read.
    package var isSound: Bool {
        !isBlocked && reader.incidents.isEmpty && reader.newerVersion == nil
    }

    /// Whether the store has all that was in the shard when reading began.
    package var hasCaughtUp: Bool { unwrittenCount == 0 }

    /// Whether other hubs may wait until this one has stored their groups.
    ///
    /// A hub that reads the beginning of the shard, cannot read on, or cannot write, would let them
    /// wait for any time.
    package func isFollowing(at now: UInt64, _ limits: HubFeedLimits) -> Bool {
        hasCaughtUp && !isBlocked && reader.newerVersion == nil
            && failingSince.map { now < $0 + limits.liveNanoseconds } ?? true
    }

    /// Creates the mark that shows where the log ends.
    package mutating func appendMark(
        base: CommitID? = nil, at now: UInt64
    ) -> HubMessageChain.Encoded {
        let message = appender.mark(progress, base: base, at: now)
        reader.appendedMark(message.id.sequence)
        return message
    }

    /// Records that an own message was read that was appended at a time.
    package mutating func recordOwn(appendedAt time: UInt64) {
        readOwnAt = max(readOwnAt ?? 0, time)
    }

    /// Returns the time, since 1970, at which the store had all entries of the shard.
    package func currentMilliseconds(at now: UInt64, _ wallMilliseconds: UInt64) -> UInt64 {
        guard let currentAt else { return initialMilliseconds }
        let age = (now - min(now, currentAt)) / 1_000_000
        return max(1, wallMilliseconds - min(wallMilliseconds, age))
    }

    // MARK: Writing

    /// Adds a complete group.
    package mutating func add(_ group: ShardGroup) { waiting.append(WaitingGroup(group)) }

    /// Adds entries that were read again to the groups that lack them.
    package mutating func complete(with entry: HubLogEntry, at now: UInt64) {
        for index in waiting.indices where !waiting[index].isComplete {
            waiting[index].add(entry, of: reader.log, number, at: now)
        }
    }

    /// When the entries that the first group lacks were requested, or the last one of them arrived;
    /// nil if it lacks none.
    package var requestedAt: UInt64? {
        waiting.first.flatMap { $0.isComplete ? nil : $0.requestedAt }
    }

    /// Returns the entries to read again for the first group, at most once in a time in which none
    /// of them arrive.
    package mutating func missingEntries(
        at now: UInt64, every nanoseconds: UInt64
    ) -> [ClosedRange<UInt64>] {
        guard let group = waiting.first, !group.isComplete,
            group.requestedAt.map({ now >= $0 + nanoseconds }) ?? true
        else { return [] }
        waiting[0].requestedAt = now
        var ranges: [ClosedRange<UInt64>] = []
        for (part, payload) in zip(group.group.parts, group.payloads) where payload == nil {
            if let last = ranges.last, last.upperBound + 1 == part.entry {
                ranges[ranges.count - 1] = last.lowerBound...part.entry
            } else {
                ranges.append(part.entry...part.entry)
            }
        }
        return ranges
    }

    /// Records the position of all groups that were read, and the length of their entries.
    ///
    /// Returns the length of the entries that are processed.
    package mutating func recordRead(_ length: Int) -> Int {
        let position = reader.position()
        if unwrittenCount == nil, reader.hasCaughtUp {
            unwrittenCount = waiting.count + writing.count
        }
        if !waiting.isEmpty {
            waiting[waiting.count - 1].position = position
            waiting[waiting.count - 1].readOwnAt = readOwnAt
            waiting[waiting.count - 1].length += length
            return 0
        }
        if !writing.isEmpty {
            writing[writing.count - 1].position = position
            writing[writing.count - 1].readOwnAt = readOwnAt
            writing[writing.count - 1].length += length
            return 0
        }
        currentAt = readOwnAt
        if position.entry > lastPosition.entry
            || position.continuation.entry > lastPosition.continuation.entry
        {
            lastPosition = position
            // The documents before it may not be durable yet.
            written.append(Written(position: position, commit: written.last?.commit ?? 0))
        }
        return length
    }

    /// Begins to write the first groups.
    package mutating func beginWriting(_ count: Int) {
        writing = Array(waiting.prefix(count))
        waiting.removeFirst(count)
    }

    /// Records that the groups being written are in a commit.
    ///
    /// Returns the length of their entries, which are processed.
    package mutating func endWriting(in commit: CommitID) -> Int {
        defer { writing = [] }
        (failingSince, retryAt) = (nil, nil)
        if let count = unwrittenCount { unwrittenCount = max(0, count - writing.count) }
        if let position = writing.compactMap(\.position).last {
            lastPosition = position
            written.append(Written(position: position, commit: commit))
        }
        currentAt = writing.compactMap(\.readOwnAt).last ?? currentAt
        return writing.reduce(0) { $0 + $1.length }
    }

    /// Puts the groups being written back at the front of the queue, since their job failed.
    package mutating func undoWriting() {
        waiting = writing + waiting
        writing = []
    }

    /// Records that the store has failed to write the groups.
    package mutating func recordFailure(at now: UInt64) { failingSince = failingSince ?? now }

    /// Records the positions that have become durable; returns whether there are any.
    package mutating func recordDurable(through commit: CommitID) -> Bool {
        guard let last = written.last(where: { $0.commit <= commit }) else { return false }
        durable = last.position
        written.removeAll { $0.commit <= commit }
        return true
    }
}

/// A complete group that waits to be written.
package struct WaitingGroup {
    package let group: ShardGroup
    /// The payloads of its messages; nil for those that are read again.
    package private(set) var payloads: [[UInt8]?]
    /// The position that the store has once the group and those before it are written; nil if that
    /// of a later group follows.
    package var position: ShardPosition?
    /// When the last own message was appended of those that were read up to the position.
    var readOwnAt: UInt64?
    /// Length of the entries that count as processed once it is written.
    package var length = 0
    /// When its missing payloads were requested, or the last one of them arrived.
    var requestedAt: UInt64?

    init(_ group: ShardGroup) {
        self.group = group
        payloads = group.parts.map(\.payload)
    }

    package var payloadLength: Int { payloads.reduce(0) { $0 + ($1?.count ?? 0) } }
    package var isComplete: Bool { payloads.allSatisfy { $0 != nil } }

    /// Adds the payload of an entry that was read again.
    mutating func add(
        _ entry: HubLogEntry, of log: HubLogID, _ shard: UInt16, at now: UInt64
    ) {
        guard let index = group.parts.firstIndex(where: { $0.entry == entry.number }),
            payloads[index] == nil
        else { return }
        let message = entry.bytes.span.withUnsafeBytes {
            try? HubMessage(decoding: $0, log: log, shard: shard)
        }
        guard let message, message.author == group.author,
            message.encoded.checksum == group.parts[index].checksum
        else { return }
        payloads[index] = message.payload
        if requestedAt != nil { requestedAt = now }
    }
}
