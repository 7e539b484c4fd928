import SheafBytes
import SheafDocument
import SheafHubLog
import SheafReplication
import Testing

/// Tests of the messages that a hub appends to a shard, until they are stored.
@Suite struct ShardAppenderTests {
    private static let author = HubAuthor(site: Site(rawValue: 9), opening: 3)
    private static let second: UInt64 = 1_000_000_000
    private let limits = HubFeedLimits()

    private func appender() -> ShardAppender {
        ShardAppender(2, of: HubLogID(low: 7, high: 8), Self.author, after: 0)
    }

    /// Appends groups of one message each, of the commits that follow each other.
    private func append(
        _ count: UInt64, to appender: inout ShardAppender, at now: UInt64 = 0
    ) -> [HubMessageChain.Encoded] {
        let first = appender.chain.sequence
        return (0..<count).flatMap { number in
            appender.append(
                [1, 2, 3], HubMessage.Extent(base: first + number, commit: first + number + 1),
                nil, .start, at: now)
        }
    }

    /// Makes a message stored; returns the ranges that it replaces.
    private func store(
        _ message: HubMessageChain.Encoded, as entry: UInt64, in appender: inout ShardAppender
    ) -> [ClosedRange<UInt64>] {
        appender.acknowledge(message.id) + appender.recordRead(message.id, at: entry)
    }

    @Test(arguments: [true, false])
    func `a message is stored once it is both acknowledged and read`(_ isReadFirst: Bool) {
        var appender = appender()
        let message = append(1, to: &appender, at: 5)[0]
        #expect(message.id.sequence == 1 && message.id.shard == 2)
        #expect(appender.pendingLength == message.bytes.count)
        #expect(appender.unstoredBase == 0 && appender.isUnread(message.id))
        #expect(appender.builtAt(message.id) == 5 && appender.lastBuiltAt == 5)
        if isReadFirst {
            _ = appender.recordRead(message.id, at: 4)
        } else {
            _ = appender.acknowledge(message.id)
        }
        #expect(appender.isUnread(message.id) == !isReadFirst)
        #expect(appender.pending.count == 1 && appender.entry(throughSequence: 1) == nil)
        if isReadFirst {
            _ = appender.acknowledge(message.id)
        } else {
            _ = appender.recordRead(message.id, at: 4)
        }
        #expect(appender.pending.isEmpty && appender.pendingLength == 0)
        #expect(appender.unstoredBase == nil && !appender.isUnread(message.id))
        #expect(appender.builtAt(message.id) == nil && appender.lastBuiltAt == 5)
        #expect(appender.entry(throughSequence: 1) == 4)
        #expect(appender.entry(throughSequence: 2) == nil)
    }

    @Test func `groups are stored in their order, at the highest entry so far`() {
        var appender = appender()
        let messages = append(4, to: &appender)
        let length = messages.map(\.bytes.count)
        for (index, entry) in [(1, 10), (2, 11)] as [(Int, UInt64)] {
            _ = store(messages[index], as: entry, in: &appender)
            #expect(appender.pending.count == 4 && appender.unstoredBase == 0)
            #expect(appender.entry(throughSequence: UInt64(index) + 1) == nil)
        }
        _ = store(messages[0], as: 12, in: &appender)
        #expect(appender.pending.count == 1 && appender.pendingLength == length[3])
        #expect(appender.unstoredBase == 3)
        let entries = (1...4 as ClosedRange<UInt64>).map { appender.entry(throughSequence: $0) }
        #expect(entries == [12, 12, 12, nil])
        _ = store(messages[3], as: 20, in: &appender)
        #expect(appender.entry(throughSequence: 4) == 20)
        appender.forgetEnds(through: 2)
        let later = (1...4 as ClosedRange<UInt64>).map { appender.entry(throughSequence: $0) }
        // The end of a later group stands for those that were forgotten.
        #expect(later == [12, 12, 12, 20])
        appender.forgetEnds(through: 3)
        #expect(appender.entry(throughSequence: 1) == 20)
        appender.forgetEnds(through: 4)
        #expect(appender.entry(throughSequence: 4) == nil)
    }

    @Test func `a group of several messages ends with the last one`() {
        var appender = appender()
        let payload = [UInt8](repeating: 1, count: 2 * HubLimits.messagePayloadLength + 1)
        let messages = appender.append(
            payload, HubMessage.Extent(base: 4, commit: 6), nil, .start, at: 0)
        #expect(messages.map(\.id.sequence) == [1, 2, 3])
        _ = store(messages[0], as: 8, in: &appender)
        _ = store(messages[1], as: 7, in: &appender)
        // Nothing ends before the last message.
        #expect(appender.pending.count == 1 && appender.unstoredBase == 4)
        #expect(appender.entry(throughSequence: 1) == nil)
        _ = store(messages[2], as: 6, in: &appender)
        #expect(appender.entry(throughSequence: 3) == 8 && appender.pending.isEmpty)
    }

    @Test func `a mark waits only if commits wait for it`() {
        var appender = appender()
        let mark = appender.mark(.start, at: 0)
        #expect(appender.pending.count == 1 && appender.unstoredBase == nil)
        _ = store(mark, as: 1, in: &appender)
        #expect(appender.pending.isEmpty && appender.entry(throughSequence: 1) == nil)
        let first = appender.mark(.start, base: 5, at: 3)
        #expect(appender.unstoredBase == 5 && appender.lastBuiltAt == 3)
        _ = store(first, as: 2, in: &appender)
        #expect(appender.entry(throughSequence: 1) == 2)
    }

    @Test func `the number and the length of messages in flight are limited`() {
        var limits = limits
        var appender = appender()
        let messages = append(2, to: &appender)
        let length = messages[0].bytes.count + messages[1].bytes.count
        for (count, bytes, hasRoom) in [
            (3, length + 1, true), (2, length + 1, false), (3, length, false),
        ] {
            (limits.messagesInFlight, limits.bytesInFlight) = (count, bytes)
            #expect(appender.hasRoom(limits) == hasRoom, "\(count), \(bytes)")
        }
        _ = store(messages[0], as: 1, in: &appender)
        #expect(appender.hasRoom(limits))
    }

    @Test func `the answer to another message with the same sequence is ignored`() {
        var appender = appender()
        let message = append(1, to: &appender)[0]
        let other = HubMessageID(
            author: message.id.author, shard: message.id.shard, sequence: 1,
            checksum: message.id.checksum &+ 1)
        for id in [other, HubMessageID(author: Self.author, shard: 2, sequence: 2, checksum: 0)] {
            #expect(appender.builtAt(id) == nil && !appender.isUnread(id))
            _ = appender.acknowledge(id)
            _ = appender.recordRead(id, at: 3)
        }
        #expect(appender.pending.count == 1 && appender.isUnread(message.id))
        _ = store(message, as: 4, in: &appender)
        // Later answers change nothing.
        _ = store(message, as: 9, in: &appender)
        #expect(appender.entry(throughSequence: 1) == 4)
    }

    @Test func `messages are appended again every three seconds until they are stored`() {
        var appender = appender()
        let messages = append(2, to: &appender, at: Self.second)
        let early = appender.overdue(at: 4 * Self.second - 1, limits)
        #expect(early.isEmpty)
        _ = store(messages[1], as: 2, in: &appender)
        _ = appender.acknowledge(messages[0].id)
        let due = appender.overdue(at: 4 * Self.second, limits)
        #expect(due == [messages[0]])
        let again = appender.overdue(at: 7 * Self.second - 1, limits)
        #expect(again.isEmpty)
        let later = appender.overdue(at: 7 * Self.second, limits)
        #expect(later == [messages[0]])
        #expect(appender.builtAt(messages[0].id) == Self.second)
    }

    // MARK: Lost messages

    @Test func `a message is lost if the engine has acknowledged it and delivered a later one`() {
        var appender = appender()
        let messages = append(3, to: &appender, at: 0)
        let due = 5 * Self.second
        _ = appender.acknowledge(messages[0].id)
        #expect(appender.lost(at: due, limits).isEmpty)
        #expect(appender.nextLoss(after: 0, limits) == nil)
        _ = appender.recordRead(messages[2].id, at: 4)
        #expect(appender.lost(at: due - 1, limits).isEmpty)
        #expect(appender.nextLoss(after: 0, limits) == due)
        #expect(appender.nextLoss(after: due, limits) == nil)
        // The second message is not known to the engine, which will store it.
        #expect(appender.lost(at: due, limits) == [1...1])
        _ = appender.acknowledge(messages[1].id)
        #expect(appender.lost(at: due, limits) == [1...1, 2...2])
        _ = appender.recordRead(messages[0].id, at: 5)
        #expect(appender.lost(at: due, limits) == [2...2])
    }

    @Test func `messages that are replaced count as stored once their replacement is`() {
        var appender = appender()
        let messages = append(2, to: &appender)
        _ = store(messages[1], as: 3, in: &appender)
        let replacement = appender.replace(1...1, by: [9], [], .start, at: 8)
        #expect(replacement.map(\.id.sequence) == [3] && appender.lastBuiltAt == 8)
        #expect(appender.unstoredBase == 0)
        let unread = appender.acknowledge(replacement[0].id)
        #expect(unread.isEmpty && appender.pending.count == 3)
        let replaced = appender.recordRead(replacement[0].id, at: 6)
        #expect(replaced == [1...1])
        #expect(appender.pending.isEmpty && appender.chain.confirmed == 3)
        #expect(appender.entry(throughSequence: 1) == 6)
        #expect(appender.entry(throughSequence: 2) == 6)
    }

    @Test func `a replacement that is lost may be replaced, too`() {
        var appender = appender()
        let messages = append(3, to: &appender)
        _ = store(messages[2], as: 3, in: &appender)
        _ = appender.replace(1...2, by: [9], [], .start, at: 0)
        let second = appender.replace(4...4, by: [9], [], .start, at: 0)
        let replaced = store(second[0], as: 7, in: &appender)
        #expect(replaced == [4...4, 1...2])
        #expect(appender.pending.isEmpty && appender.chain.confirmed == 5)
        #expect(appender.entry(throughSequence: 2) == 7)
    }

    @Test func `a replacement of several messages must be stored completely`() {
        var appender = appender()
        _ = append(1, to: &appender)
        let payload = [UInt8](repeating: 1, count: HubLimits.messagePayloadLength + 1)
        let replacement = appender.replace(1...1, by: payload, [], .start, at: 0)
        #expect(replacement.count == 2)
        let first = store(replacement[1], as: 5, in: &appender)
        #expect(first.isEmpty && appender.pending.count == 3)
        let all = store(replacement[0], as: 9, in: &appender)
        #expect(all == [1...1] && appender.pending.isEmpty)
        #expect(appender.entry(throughSequence: 1) == 9)
    }
}
