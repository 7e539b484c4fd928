import SheafBytes
import SheafDocument
import SheafHubLog
import Testing

/// Messages that a killed author had in flight: later ones can be stored without earlier ones.
struct KilledAuthorTests {
    private static let log = HubLogID(low: 5, high: 6)
    private static let second: UInt64 = 1_000_000_000
    private let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
    private var reader = ShardReader(log: Self.log, shard: 0)
    private var chain: HubMessageChain
    private var entry: UInt64 = 0
    private var now: UInt64 = 1

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
        reader.receive(HubLogEntry(entry, bytes), at: now)
    }

    private mutating func wait(seconds: UInt64, isLive: Bool = false) {
        for _ in 0..<seconds {
            now += Self.second
            if isLive { reader.receive(.start, of: author, at: now) }
            reader.tick(at: now)
        }
    }

    private static func applied(_ effects: [ShardEffect]) -> [ClosedRange<UInt64>] {
        effects.compactMap { effect in
            guard case .apply(let group) = effect, let first = group.parts.first?.sequence else {
                return nil
            }
            return first...first + UInt64(group.parts.count - 1)
        }
    }

    @Test mutating func `messages that were never stored are no loss`() {
        let messages = (0..<4).map { _ in group()[0] }
        chain.confirm(1...1)
        let last = group()[0]
        receive(messages[0])
        receive(messages[2])
        receive(last)
        #expect(Self.applied(reader.drainEffects()) == [1...1, 3...3, 5...5])
        wait(seconds: 9)
        #expect(reader.position().entry == 1)
        wait(seconds: 2)
        #expect(reader.incidents.isEmpty)
        #expect(reader.position().entry == 3)
        #expect(reader.position().authors.map(\.sequence) == [1])
        wait(seconds: 60)
        #expect(
            reader.drainEffects() == [
                .fault(.unstoredMessages(author, 2...2)), .fault(.unstoredMessages(author, 4...4)),
            ])
        #expect(reader.incidents.isEmpty && reader.violation == nil)
        #expect(reader.position().authors.map(\.sequence) == [1])
    }

    @Test mutating func `a store continues before what a silent author did not finish`() {
        let messages = (0..<4).map { _ in group()[0] }
        for number in [0, 2, 3] { receive(messages[number]) }
        wait(seconds: 11)
        #expect(reader.position().entry == 3)
        let stored = StoredShard(
            log: Self.log, position: reader.position(), commit: 1, wallMilliseconds: 1)
        #expect(stored.position.entry == 1)
        // The author was cut off, appends the missing message, and is killed.
        chain.confirm(1...4)
        let last = group()[0]
        reader = ShardReader(log: Self.log, shard: 0, own: nil, at: stored.position)
        entry = 1
        for message in [messages[2], messages[3], messages[1], last] { receive(message) }
        wait(seconds: 70)
        #expect(reader.incidents.isEmpty)
        #expect(reader.position().entry == 5)
        #expect(reader.position().authors.map(\.sequence) == [5])
    }

    @Test(arguments: [false, true])
    mutating func `a later message shows that a missing one was stored`(isLater: Bool) {
        let messages = (0..<3).map { _ in group()[0] }
        receive(messages[0])
        receive(messages[2])
        wait(seconds: isLater ? 30 : 1)
        #expect(reader.incidents.isEmpty)
        chain.confirm(1...2)
        receive(group()[0])
        wait(seconds: 6)
        #expect(reader.incidents.map(\.kind) == [.loss])
        #expect(!reader.drainEffects().contains(.fault(.unstoredMessages(author, 2...2))))
    }

    @Test mutating func `a group with a missing message is discarded with those after it`() {
        let whole = group(parts: 2)
        let cut = group(parts: 4)
        for bytes in whole { receive(bytes) }
        for index in [0, 2, 3] { receive(cut[index]) }
        receive(group()[0])
        #expect(Self.applied(reader.drainEffects()) == [1...2, 7...7])
        wait(seconds: 61)
        #expect(
            reader.drainEffects() == [
                .fault(.unstoredMessages(author, 4...4)), .fault(.unfinishedGroup(author, 3...3)),
                .fault(.unfinishedGroup(author, 5...6)),
            ])
        #expect(reader.incidents.isEmpty)
        #expect(reader.position().entry == entry)
        #expect(reader.position().authors.map(\.sequence) == [2])
    }

    @Test mutating func `a group that its author does not finish is discarded after a minute`() {
        let messages = group(parts: 3)
        receive(messages[0])
        receive(messages[1])
        wait(seconds: 100, isLive: true)
        #expect(reader.drainEffects().isEmpty)
        #expect(reader.position().entry == 0)
        wait(seconds: 9)
        #expect(reader.position().entry == 0)
        wait(seconds: 2)
        // The store can continue after it, but the group can still be completed.
        #expect(reader.position().entry == 2)
        #expect(reader.position().authors.map(\.sequence) == [0])
        wait(seconds: 48)
        #expect(reader.drainEffects().isEmpty)
        wait(seconds: 3)
        #expect(reader.drainEffects() == [.fault(.unfinishedGroup(author, 1...2))])
        #expect(reader.incidents.isEmpty)
        // An author that continues all the same is asked for the documents.
        receive(messages[2])
        #expect(reader.drainEffects() == [.fault(.early(author, sequence: 3, entry: 3))])
        wait(seconds: 6, isLive: true)
        #expect(reader.drainEffects().contains(.need(author, [1...2])))
        #expect(reader.incidents.isEmpty)
    }

    @Test mutating func `an author that continues after a pause completes its group`() {
        let messages = group(parts: 3)
        receive(messages[0])
        receive(messages[2])
        wait(seconds: 30)
        #expect(reader.position().entry == 2)
        receive(messages[1])
        #expect(Self.applied(reader.drainEffects()) == [1...3])
        #expect(reader.position().entry == 3)
        #expect(reader.position().authors.map(\.sequence) == [3])
    }

    @Test mutating func `messages that were forgotten are applied if they are stored later`() {
        let messages = (0..<3).map { _ in group()[0] }
        receive(messages[0])
        receive(messages[2])
        wait(seconds: 61)
        _ = reader.drainEffects()
        receive(messages[1])
        #expect(Self.applied(reader.drainEffects()) == [2...2])
        chain.confirm(1...3)
        receive(group()[0])
        wait(seconds: 6, isLive: true)
        #expect(reader.drainEffects().contains(.need(author, [3...3])))
        #expect(reader.incidents.isEmpty)
    }

    @Test mutating func `a live author is asked, and a reader before the end of the log waits`() {
        let own = HubAuthor(site: Site(rawValue: 3), opening: 4)
        var ownChain = HubMessageChain(log: Self.log, shard: 0, author: own)
        reader = ShardReader(log: Self.log, shard: 0, own: own)
        let mark = ownChain.mark(.start, commit: 1)
        reader.appendedMark(mark.id.sequence)
        let messages = (0..<3).map { _ in group()[0] }
        receive(messages[0])
        receive(messages[2])
        wait(seconds: 6, isLive: true)
        #expect(reader.drainEffects().contains(.need(author, [2...2])))
        wait(seconds: 100)
        // The missing message may follow in the entries that are not read yet.
        #expect(reader.position().entry == 1)
        receive(mark.bytes)
        wait(seconds: 9)
        #expect(reader.position().entry == 1)
        wait(seconds: 1)
        #expect(reader.position().entry == 3)
        #expect(reader.incidents.isEmpty)
    }

    @Test mutating func `an incident of a live author ends when it turns out to be killed`() {
        _ = group()
        receive(group()[0])
        wait(seconds: 70, isLive: true)
        #expect(reader.incidents.map(\.kind) == [.loss])
        wait(seconds: 11)
        #expect(reader.incidents.isEmpty)
    }

    @Test mutating func `silent authors make room first`() {
        var limits = ShardReader.Limits()
        limits.trackedMessages = 4
        reader = ShardReader(log: Self.log, shard: 0, limits: limits)
        _ = group()
        for _ in 0..<4 { receive(group()[0]) }
        wait(seconds: 11)
        var other = HubMessageChain(
            log: Self.log, shard: 0, author: HubAuthor(site: Site(rawValue: 3), opening: 4))
        _ = other.mark(.start, commit: 1)
        receive(other.mark(.start, commit: 2).bytes)
        #expect(reader.drainEffects().contains(.fault(.unstoredMessages(author, 1...1))))
        #expect(reader.incidents.isEmpty && reader.violation == nil)
    }

    @Test mutating func `a chain counts the messages after the first one that is not stored`() {
        for _ in 0..<5 { _ = chain.mark(.start, commit: 1) }
        #expect(chain.unconfirmedCount == 5)
        chain.confirm(2...3)
        chain.confirm(5...5)
        #expect(chain.confirmed == 0)
        chain.confirm(1...1)
        #expect(chain.confirmed == 3)
        chain.confirm(1...4)
        #expect(chain.confirmed == 5 && chain.unconfirmedCount == 0)
    }
}
