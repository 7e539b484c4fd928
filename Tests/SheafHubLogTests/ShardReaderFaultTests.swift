import SheafBytes
import SheafDocument
import SheafHubLog
import Testing

/// Each row of `format-spec/hub.md`, table 4, message by message.
struct ShardReaderFaultTests {
    private static let log = HubLogID(low: 5, high: 6)
    private static let second: UInt64 = 1_000_000_000
    private let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private let other = HubAuthor(site: Site(rawValue: 3), opening: 4)
    private var reader = ShardReader(log: Self.log, shard: 0)
    private var chain: HubMessageChain
    private var otherChain: HubMessageChain
    private var entry: UInt64 = 0
    private var now: UInt64 = 1

    init() {
        chain = HubMessageChain(log: Self.log, shard: 0, author: author)
        otherChain = HubMessageChain(log: Self.log, shard: 0, author: other)
    }

    /// Returns the messages of the next group of the author.
    private mutating func group(
        parts: Int = 1, _ progress: ShardProgress = .start
    ) -> [[UInt8]] {
        let extent = HubMessage.Extent(base: chain.sequence, commit: chain.sequence + 1)
        return chain.messages(
            of: Array(repeating: 7, count: parts), extent, progress, length: 1
        ).map(\.bytes)
    }

    private mutating func confirmAll() {
        chain.confirm(1...chain.sequence)
    }

    private mutating func receive(_ bytes: [UInt8]) {
        entry += 1
        reader.receive(HubLogEntry(entry, bytes), at: now)
    }

    private mutating func receive(_ messages: [[UInt8]]) {
        for message in messages { receive(message) }
    }

    private mutating func wait(seconds: UInt64, isLive: Bool = false) {
        for _ in 0..<seconds {
            now += Self.second
            if isLive { reader.receive(.start, of: author, at: now) }
            reader.tick(at: now)
        }
    }

    private mutating func faults() -> [ShardFault] {
        reader.drainEffects().compactMap { effect in
            guard case .fault(let fault) = effect else { return nil }
            return fault
        }
    }

    private var kinds: [ShardIncident.Kind] { reader.incidents.map(\.kind) }

    // MARK: - Entries

    @Test mutating func `an entry that is delivered again is ignored`() {
        let first = group()[0]
        receive(first)
        receive(group())
        _ = reader.drainEffects()
        reader.receive(HubLogEntry(1, first), at: now)
        #expect(reader.drainEffects() == [.fault(.repeatedEntry(1))])
        #expect(kinds.isEmpty)
    }

    @Test mutating func `other bytes under a known number are a truncation`() {
        receive(group())
        receive(group())
        _ = reader.drainEffects()
        let digest = reader.digest
        reader.receive(HubLogEntry(2, group()[0]), at: now)
        #expect(faults() == [.truncation(entry: 2)])
        #expect(kinds == [.truncation])
        #expect(reader.digest == digest && reader.read == 2)
    }

    @Test mutating func `an entry before the digests kept is a truncation`() {
        var limits = ShardReader.Limits()
        limits.digests = 3
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        let messages = (0..<6).flatMap { _ in group() }
        receive(messages)
        _ = reader.drainEffects()
        reader.receive(HubLogEntry(5, messages[4]), at: now)
        reader.receive(HubLogEntry(4, messages[3]), at: now)
        #expect(faults() == [.repeatedEntry(5), .truncation(entry: 4)])
    }

    @Test mutating func `missing entries are read again, and count as lost after 5 seconds`() {
        let messages = (0..<4).flatMap { _ in group() }
        receive(messages[0])
        _ = reader.drainEffects()
        reader.receive(HubLogEntry(4, messages[3]), at: now)
        #expect(reader.drainEffects() == [.fault(.gap(2...3)), .reread(2...3)])
        wait(seconds: 4)
        #expect(reader.drainEffects() == Array(repeating: .reread(2...3), count: 4))
        #expect(reader.read == 1)
        wait(seconds: 1)
        #expect(faults().first == .lostEntries(2...3))
        #expect(reader.read == 4)
        let digest = reader.digest
        reader.receive(HubLogEntry(3, messages[2]), at: now)
        #expect(reader.drainEffects() == [.fault(.lateEntry(3))])
        #expect(reader.digest == digest && kinds.isEmpty)
    }

    @Test mutating func `each gap is read again at once, and none is lost before 5 seconds`() {
        let messages = (0..<6).flatMap { _ in group() }
        receive(messages[0])
        _ = reader.drainEffects()
        reader.receive(HubLogEntry(3, messages[2]), at: now)
        wait(seconds: 1)
        _ = reader.drainEffects()
        reader.receive(HubLogEntry(5, messages[4]), at: now)
        #expect(reader.drainEffects() == [.reread(4...4)])
        wait(seconds: 4)
        // The first gap is lost, and the second one a second later.
        #expect(reader.read == 3)
        wait(seconds: 1)
        #expect(reader.read == 5)
    }

    @Test mutating func `entries that arrive in time are read in their order`() {
        let messages = (0..<4).flatMap { _ in group() }
        for number in [4, 3, 1, 2] as [UInt64] {
            reader.receive(HubLogEntry(number, messages[Int(number - 1)]), at: now)
        }
        let applied = reader.drainEffects().compactMap { effect -> UInt64? in
            guard case .apply(let group) = effect else { return nil }
            return group.parts.first?.entry
        }
        #expect(applied == [1, 2, 3, 4])
        #expect(kinds.isEmpty && reader.read == 4)
    }

    @Test mutating func `an entry number far ahead takes neither time nor memory`() {
        receive(group())
        reader.receive(HubLogEntry(.max, group()[0]), at: now)
        wait(seconds: 5)
        #expect(reader.read == 1 + 65_536)
        #expect(kinds == [.loss])
        #expect(reader.violation == nil)
    }

    @Test mutating func `a damaged entry counts in the digest, and its message as lost`() {
        var damaged = group()[0]
        damaged[70] ^= 1
        receive(damaged)
        receive(group())
        let found = faults()
        guard case .damage(1, .checksum)? = found.first else {
            Issue.record("\(found)")
            return
        }
        #expect(found.dropFirst() == [.early(author, sequence: 2, entry: 2)])
        #expect(reader.read == 2 && kinds.isEmpty)
    }

    // MARK: - Messages

    @Test mutating func `a message that is stored twice is applied once`() {
        let message = group()[0]
        receive(message)
        receive(message)
        let effects = reader.drainEffects()
        #expect(effects.count == 2)
        #expect(effects.last == .fault(.repetition(author, sequence: 1, entry: 2)))
        #expect(kinds.isEmpty)
    }

    @Test mutating func `two messages with one sequence are a fork`() {
        var twin = chain
        receive(group())
        receive(twin.mark(.start, commit: 9).bytes)
        #expect(faults() == [.fork(author, sequence: 1, entry: 2)])
        #expect(kinds == [.fork])
    }

    @Test mutating func `a later message that names another previous one is a fork`() {
        var twin = chain
        _ = twin.mark(.start, commit: 9)
        let messages = [group()[0], twin.mark(.start, commit: 10).bytes]
        receive(messages[1])
        #expect(kinds.isEmpty)
        receive(messages[0])
        #expect(kinds == [.fork])
    }

    @Test mutating func `a missing message of a live author is requested after 5 seconds`() {
        let missing = group()[0]
        receive(group())
        wait(seconds: 4, isLive: true)
        #expect(!reader.drainEffects().contains(.need(author, [1...1])))
        wait(seconds: 2, isLive: true)
        #expect(reader.drainEffects().contains(.need(author, [1...1])))
        wait(seconds: 53, isLive: true)
        #expect(kinds.isEmpty)
        let requests = reader.drainEffects().count { $0 == .need(author, [1...1]) }
        #expect(8...12 ~= requests)
        wait(seconds: 2, isLive: true)
        #expect(kinds == [.loss])
        receive(missing)
        #expect(kinds.isEmpty)
    }

    @Test mutating func `a missing message that was stored is an incident without beats`() {
        _ = group()
        confirmAll()
        receive(group())
        wait(seconds: 4)
        #expect(kinds.isEmpty)
        wait(seconds: 2)
        #expect(kinds == [.loss])
        wait(seconds: 100)
        #expect(kinds == [.loss])
        #expect(reader.position().entry == 0)
    }

    @Test mutating func `documents in place of lost messages end an incident`() {
        let lost = group(parts: 3)
        receive(lost[0])
        receive(lost[2])
        confirmAll()
        receive(group())
        wait(seconds: 6)
        #expect(kinds == [.loss])
        _ = reader.drainEffects()
        let extent = HubMessage.Extent(base: 1, commit: 3)
        let messages = chain.messages(of: [1, 2], extent, replaces: true, .start, length: 1)
        receive(messages.map(\.bytes))
        let applied = reader.drainEffects().compactMap { effect -> ShardGroup? in
            guard case .apply(let group) = effect else { return nil }
            return group
        }
        #expect(applied.map(\.replaces) == [true])
        #expect(kinds.isEmpty)
        receive(lost[1])
        #expect(faults() == [.repetition(author, sequence: 2, entry: entry)])
        #expect(reader.position().entry == entry)
    }

    @Test mutating func `a reader continues without messages beyond its limit`() {
        var limits = ShardReader.Limits()
        limits.laterMessages = 3
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        _ = group()
        for _ in 0..<3 { receive(group()) }
        #expect(kinds.isEmpty)
        receive(group())
        #expect(faults().contains(.lostMessages(author, 1...1)))
        #expect(kinds == [.loss])
        receive(group())
        #expect(faults().isEmpty)
        #expect(reader.position().authors.map(\.sequence) == [6])
    }

    @Test mutating func `a group is applied only when all of its messages are there`() {
        let messages = group(parts: 4)
        for index in [2, 0, 3] { receive(messages[index]) }
        func applied(_ effects: [ShardEffect]) -> [ShardGroup] {
            effects.compactMap { effect in
                guard case .apply(let group) = effect else { return nil }
                return group
            }
        }
        #expect(applied(reader.drainEffects()).isEmpty)
        receive(messages[1])
        let groups = applied(reader.drainEffects())
        #expect(groups.count == 1)
        #expect(groups.first?.parts.map(\.sequence) == [1, 2, 3, 4])
        #expect(groups.first?.parts.map(\.entry) == [2, 4, 1, 3])
    }

    @Test mutating func `messages that form no group are discarded`() {
        // The first message of the author's group is followed by a mark.
        var twin = chain
        receive(group(parts: 2)[0])
        _ = twin.mark(.start, commit: 1)
        receive(twin.mark(.start, commit: 2).bytes)
        #expect(faults().contains(.malformedGroup(author, 1...1)))
        #expect(kinds.contains(.loss))
    }

    // MARK: - Other hubs

    @Test mutating func `a digest in a beat is compared, also when its entry is read later`() {
        receive(group())
        let right = ShardProgress(read: 1, digest: reader.digest, stored: 0)
        reader.receive(right ?? .start, of: other, at: now)
        #expect(kinds.isEmpty)
        let later = ShardProgress(read: 2, digest: 77, stored: 0)
        reader.receive(later ?? .start, of: other, at: now)
        // While entries arrive, each beat names a later one.
        let latest = ShardProgress(read: 9, digest: 7, stored: 0)
        reader.receive(latest ?? .start, of: other, at: now)
        #expect(kinds.isEmpty)
        receive(group())
        #expect(faults().contains(.otherDigest(other, entry: 2)))
        #expect(kinds == [.fork])
        #expect(reader.incidents.first?.otherDigest == 77)
    }

    @Test mutating func `a digest in a message is compared`() {
        receive(group())
        receive(group(ShardProgress(read: 1, digest: 77, stored: 0) ?? .start))
        #expect(faults() == [.otherDigest(author, entry: 1)])
        #expect(kinds == [.fork])
    }

    @Test mutating func `a message whose author had read its entry before is a truncation`() {
        receive(group(ShardProgress(read: 1, digest: 77, stored: 0) ?? .start))
        #expect(faults() == [.truncation(entry: 1)])
        #expect(kinds == [.truncation])
    }

    @Test mutating func `an engine that lacks entries of others is stale`() {
        reader = ShardReader(log: Self.log, shard: 0, own: other)
        receive(group())
        reader.receive(
            ShardProgress(read: 9, digest: 7, stored: 0) ?? .start, of: author, at: now)
        wait(seconds: 4)
        #expect(!reader.drainEffects().contains(.appendMark))
        wait(seconds: 2)
        #expect(reader.drainEffects().contains(.appendMark))
        wait(seconds: 58)
        #expect(kinds.isEmpty)
        wait(seconds: 3)
        #expect(kinds == [.staleEngine])
    }

    @Test mutating func `an own mark at an entry that others had read is a truncation`() {
        reader = ShardReader(log: Self.log, shard: 0, own: other)
        receive(group())
        reader.receive(
            ShardProgress(read: 2, digest: 7, stored: 0) ?? .start, of: author, at: now)
        wait(seconds: 6)
        let mark = otherChain.mark(.start, commit: 1)
        reader.appendedMark(mark.id.sequence)
        #expect(!reader.hasCaughtUp)
        receive(mark.bytes)
        #expect(reader.hasCaughtUp)
        #expect(kinds.contains(.truncation))
    }

    @Test mutating func `own messages are reported, and not applied`() {
        reader = ShardReader(log: Self.log, shard: 0, own: author)
        let messages = chain.messages(
            of: [1, 2], HubMessage.Extent(base: 0, commit: 1), .start, length: 1)
        receive(messages.map(\.bytes))
        #expect(
            reader.drainEffects() == [
                .own(messages[0].id, .documents, entry: 1),
                .own(messages[1].id, .documents, entry: 2),
            ])
        #expect(reader.position().entry == 2)
    }

    @Test mutating func `authors beyond the limit replace those of the oldest messages`() {
        var limits = ShardReader.Limits()
        limits.authors = 2
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        for opening in UInt64(1)...5 {
            var chain = HubMessageChain(
                log: Self.log, shard: 0,
                author: HubAuthor(site: Site(rawValue: 9), opening: opening))
            if opening == 5 { _ = chain.mark(.start, commit: 1) }
            receive(chain.mark(.start, commit: 2).bytes)
        }
        // The first message of the last author counts as read.
        #expect(reader.drainEffects().isEmpty)
        #expect(reader.position().authors.map(\.author.opening) == [4, 5])
        #expect(reader.violation == nil)
    }

    @Test mutating func `payloads beyond the limit are read again`() {
        var limits = ShardReader.Limits()
        limits.stagedLength = 2
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        receive(group(parts: 4))
        guard case .apply(let group)? = reader.drainEffects().first else {
            Issue.record("no group")
            return
        }
        #expect(group.parts.map { $0.payload?.count } == [1, 1, nil, nil])
        #expect(reader.violation == nil)
    }
}
