import SheafBytes
import SheafDocument
import SheafHubLog
import Testing

/// The times and limits of a reader, at their boundaries.
struct ShardReaderTimeTests {
    private static let log = HubLogID(low: 5, high: 6)
    private static let second: UInt64 = 1_000_000_000
    /// The time at which all messages of a test arrive.
    private static let start: UInt64 = 7
    private let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private let other = HubAuthor(site: Site(rawValue: 3), opening: 4)
    private var reader = ShardReader(log: Self.log, shard: 0)
    private var chain: HubMessageChain
    private var entry: UInt64 = 0

    init() {
        chain = HubMessageChain(log: Self.log, shard: 0, author: author)
    }

    /// Returns the messages of the next group of the author.
    private mutating func group(parts: Int = 1) -> [[UInt8]] {
        let extent = HubMessage.Extent(base: chain.sequence, commit: chain.sequence + 1)
        return chain.messages(
            of: Array(repeating: 7, count: parts), extent, .start, length: 1
        ).map(\.bytes)
    }

    private mutating func receive(_ bytes: [UInt8]) {
        entry += 1
        reader.receive(HubLogEntry(entry, bytes), at: Self.start)
    }

    /// Performs what is due some nanoseconds after the start; returns the effects.
    private mutating func effects(after passed: UInt64, isLive: Bool = false) -> [ShardEffect] {
        let now = Self.start + passed
        if isLive { reader.receiveBeat(of: author, at: now) }
        reader.tick(at: now)
        return reader.drainEffects()
    }

    private var kinds: [ShardIncident.Kind] { reader.incidents.map(\.kind) }

    @Test func `the limits of a reader are those of the specification`() {
        let limits = ShardReader.Limits()
        #expect(limits.digests == 65_536)
        #expect(limits.laterMessages == 4_096)
        #expect(limits.trackedMessages == 65_536)
        #expect(limits.stagedLength == 67_108_864)
        #expect(limits.waitingLength == 67_108_864)
        #expect(limits.needNanoseconds == 5_000_000_000)
        #expect(limits.incidentNanoseconds == 60_000_000_000)
        #expect(limits.liveNanoseconds == 10_000_000_000)
        #expect(limits.rereadNanoseconds == 1_000_000_000)
        #expect(HubLimits.groupMessages == 4_096)
        #expect(HubLimits.groupLength == 1_073_741_824)
        #expect(HubLimits.unreadLength == 67_108_864)
        #expect(HubLimits.messageLength == 1_000_000)
        #expect(HubLimits.neededRanges == 256)
        #expect(HubMessageChain.maximumUnconfirmed == 65_535)
    }

    // MARK: Missing messages

    @Test mutating func `a missing message is requested every 5 s, and an incident after 60 s`() {
        _ = group()
        receive(group()[0])
        _ = reader.drainEffects()
        for round in UInt64(1)...11 {
            #expect(effects(after: round * 5 * Self.second - 1, isLive: true) == [])
            #expect(
                effects(after: round * 5 * Self.second, isLive: true) == [.need(author, [1...1])])
        }
        #expect(effects(after: 60 * Self.second - 1, isLive: true) == [])
        #expect(kinds.isEmpty)
        _ = effects(after: 60 * Self.second, isLive: true)
        #expect(kinds == [.loss])
    }

    @Test mutating func `a message that was stored, and is missing for 5 s, is an incident`() {
        _ = group()
        chain.confirm(1...1)
        receive(group()[0])
        _ = effects(after: 5 * Self.second - 1)
        #expect(kinds.isEmpty)
        _ = effects(after: 5 * Self.second)
        #expect(kinds == [.loss])
    }

    @Test(arguments: [true, false])
    mutating func `a hub is asked for less than ten seconds after its last beat`(_ isLive: Bool) {
        _ = group()
        receive(group()[0])
        _ = reader.drainEffects()
        reader.receiveBeat(of: author, at: Self.start)
        let found = effects(after: 10 * Self.second - (isLive ? 1 : 0))
        #expect(found == (isLive ? [.need(author, [1...1])] : []))
    }

    @Test mutating func `a silent author holds a position for 10 s, and its group for 60 s`() {
        let messages = group(parts: 3)
        receive(messages[0])
        receive(messages[1])
        #expect(effects(after: 10 * Self.second - 1) == [])
        #expect(reader.position().entry == 0)
        #expect(effects(after: 10 * Self.second) == [])
        #expect(reader.position().entry == 2)
        #expect(effects(after: 60 * Self.second - 1) == [])
        #expect(
            effects(after: 60 * Self.second) == [.fault(.unfinishedGroup(author, 1...2))])
    }

    // MARK: Missing entries

    @Test mutating func `a missing entry is read again every second, and lost after 5 s`() {
        let messages = (0..<3).map { _ in group()[0] }
        receive(messages[0])
        reader.receive(HubLogEntry(3, messages[2]), at: Self.start)
        _ = reader.drainEffects()
        for second in UInt64(1)...4 {
            #expect(effects(after: second * Self.second - 1) == [])
            #expect(effects(after: second * Self.second) == [.reread(2...2)])
        }
        #expect(effects(after: 5 * Self.second - 1) == [])
        #expect(reader.read == 1)
        #expect(effects(after: 5 * Self.second).first == .fault(.lostEntries(2...2)))
        #expect(reader.read == 3)
    }

    @Test mutating func `an engine is stale 60 s after a mark that is due after 5 s`() {
        reader = ShardReader(log: Self.log, shard: 0, own: other)
        receive(group()[0])
        let progress = ShardProgress(read: 9, digest: 7, stored: 0) ?? .start
        reader.receive(progress, of: author, at: Self.start)
        #expect(!effects(after: 5 * Self.second - 1).contains(.appendMark))
        #expect(effects(after: 5 * Self.second).contains(.appendMark))
        _ = effects(after: 65 * Self.second - 1)
        #expect(kinds.isEmpty)
        _ = effects(after: 65 * Self.second)
        #expect(kinds == [.staleEngine])
    }

    // MARK: Limits

    @Test(arguments: [0, 1])
    mutating func `entries wait up to a length, and are read again beyond it`(_ missing: Int) {
        let messages = (0..<4).map { _ in group()[0] }
        var limits = ShardReader.Limits()
        // Each entry counts with 64 bytes more.
        limits.waitingLength = messages[2].count + messages[3].count + 2 * 64 - missing
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        for number in [1, 3, 4, 2] as [UInt64] {
            reader.receive(HubLogEntry(number, messages[Int(number - 1)]), at: Self.start)
        }
        #expect(reader.read == (missing == 0 ? 4 : 3))
        #expect(reader.lacksEntries == (missing == 1))
        #expect(reader.violation == nil)
    }

    @Test mutating func `messages after missing ones have one limit for all authors`() {
        var limits = ShardReader.Limits()
        limits.trackedMessages = 3
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        _ = group()
        let lost = ShardEffect.fault(.lostMessages(author, 1...1))
        for _ in 0..<3 {
            receive(group()[0])
            #expect(!reader.drainEffects().contains(lost))
        }
        receive(group()[0])
        #expect(reader.drainEffects().contains(lost))
        #expect(reader.violation == nil)
    }

    @Test mutating func `a reader keeps the digests of entries up to its limit`() {
        var limits = ShardReader.Limits()
        limits.digests = 3
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        for last in UInt64(1)...8 {
            receive(group()[0])
            for number in 0...last {
                #expect((reader.digest(at: number) != nil) == (number + 3 > last))
            }
        }
        #expect(reader.violation == nil)
    }

    @Test(arguments: [(2, false), (3, false), (4, true)] as [(UInt64, Bool)])
    mutating func `more missing entries than digests are kept are an incident`(
        _ missing: UInt64, _ isIncident: Bool
    ) {
        var limits = ShardReader.Limits()
        limits.digests = 3
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        let messages = (0..<6).map { _ in group()[0] }
        receive(messages[0])
        reader.receive(HubLogEntry(2 + missing, messages[Int(missing) + 1]), at: Self.start)
        _ = effects(after: 5 * Self.second)
        #expect(reader.read == (isIncident ? 4 : 2 + missing))
        #expect(kinds == (isIncident ? [.loss] : []))
    }

    @Test mutating func `256 ranges of replaced messages wait for a missing one`() {
        var marks: [[UInt8]] = []
        for _ in 1...514 { marks.append(chain.mark(.start, commit: 1).bytes) }
        let lost = ShardEffect.fault(.lostMessages(author, 1...1))
        for number in UInt64(1)...257 {
            // The messages between the replaced ones are missing, too.
            let extent = HubMessage.Extent(base: 2 * number, commit: 2 * number)
            receive(chain.messages(of: [7], extent, replaces: true, .start)[0].bytes)
            #expect(reader.drainEffects().contains(lost) == (number > 256))
        }
        #expect(kinds == [.loss])
        #expect(reader.violation == nil)
        // The last range has the room that was made.
        receive(marks[513])
        #expect(
            reader.drainEffects() == [.fault(.repetition(author, sequence: 514, entry: entry))])
    }

    @Test(arguments: [(65_536, false), (65_537, true)] as [(UInt64, Bool)])
    mutating func `a message shows that those before the last 65,535 were stored`(
        _ sequence: UInt64, _ isStored: Bool
    ) {
        let message = HubMessage(
            .mark, shard: 0, unconfirmed: UInt16(HubMessageChain.maximumUnconfirmed),
            log: Self.log, author: author, sequence: sequence, previous: 7, progress: .start,
            extent: HubMessage.Extent(base: 1, commit: 1))
        receive(message.bytes)
        _ = effects(after: 5 * Self.second)
        // A missing message is an incident if it was stored.
        #expect(kinds == (isStored ? [.loss] : []))
    }
}
