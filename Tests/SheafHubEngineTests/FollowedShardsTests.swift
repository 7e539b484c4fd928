import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import Testing

/// Tests of the queries for the entries that a hub follows in PostgreSQL, without a server.
@Suite struct FollowedShardsTests {
    private static let log = HubLogID(low: 1, high: 0xAB)
    /// The notifications of the log, up to the number of the shard.
    private static let notification = "0100000000000000ab00000000000000/"
    private let shard = HubShard(0, of: Self.log)
    private let other = HubShard(1, of: Self.log)
    private var shards = FollowedShards(unreadLength: 1_000)

    /// Returns the text of the next query; nil if there is none.
    private mutating func next() -> String? {
        guard let query = shards.nextQuery() else { return nil }
        return text(query)
    }

    private func text(_ query: FollowedShards.Query) -> String {
        let last = query.last == .max ? "" : "\(query.last)"
        let admitted = query.isAdmitted ? " or one entry" : ""
        let purpose =
            switch query.purpose {
            case .follow(let generation): "follow \(generation)"
            case .reread(let call): "reread \(call)"
            }
        return "\(query.shard.number): \(query.first)...\(last), \(query.length) bytes\(admitted), "
            + purpose
    }

    private func entries(_ numbers: ClosedRange<UInt64>, length: Int = 10) -> [HubLogEntry] {
        numbers.map { HubLogEntry($0, [UInt8](repeating: UInt8($0 % 200), count: length)) }
    }

    /// Takes the next query, and completes it; returns its text, and what follows from it.
    private mutating func read(_ entries: [HubLogEntry], isCut: Bool = false) -> String {
        guard let query = shards.nextQuery() else { return "nothing" }
        let done = shards.complete(query, entries, isCut: isCut)
        return text(query) + (done.isWanted ? ", wanted" : "")
            + (done.ended.map { ", ended \($0)" } ?? "")
    }

    @Test mutating func `entries are read from a number on, and again after a notification`() {
        #expect(next() == nil)
        shards.follow(shard, from: 7)
        #expect(
            read(entries(7...8)) == "0: 7..., 1000 bytes or one entry, follow 1, wanted")
        #expect(next() == nil)
        shards.notice(Self.notification + "1")
        #expect(next() == nil)
        shards.notice(Self.notification + "0")
        #expect(read([]) == "0: 9..., 980 bytes, follow 1")
        shards.noticeAll()
        #expect(read(entries(9...9)) == "0: 9..., 980 bytes, follow 1, wanted")
        let last = shards.lastEntries
        #expect(last.count == 1 && last.first?.shard == shard && last.first?.number == 9)
        let bytes = [UInt8](repeating: 9, count: 10)
        #expect(last.first?.hash == bytes.withUnsafeBytes { XXH3.hash64($0) })
        // Another call begins anew, from the first entry at the earliest.
        shards.follow(shard, from: 0)
        #expect(shards.lastEntries.isEmpty)
        #expect(next() == "0: 1..., 970 bytes, follow 2")
        #expect(next() == nil)
    }

    @Test mutating func `a query that was cut, or is full, is continued at once`() {
        shards = FollowedShards(unreadLength: 1 << 30)
        shards.follow(shard, from: 1)
        let start = "4194304 bytes"
        #expect(
            read(entries(1...3), isCut: true)
                == "0: 1..., \(start) or one entry, follow 1, wanted")
        #expect(read(entries(4...1_027)) == "0: 4..., \(start), follow 1, wanted")
        #expect(read(entries(1_028...2_050)) == "0: 1028..., \(start), follow 1, wanted")
        #expect(next() == nil)
    }

    @Test mutating func `an entry without room is read once the host has consumed enough`() {
        shards.follow(shard, from: 1)
        _ = read(entries(1...1, length: 900), isCut: true)
        #expect(read([], isCut: true) == "0: 2..., 100 bytes, follow 1")
        #expect(next() == nil)
        let hasRoom = shards.consume(1, of: shard)
        #expect(hasRoom)
        #expect(read([], isCut: true) == "0: 2..., 101 bytes, follow 1")
        #expect(next() == nil)
        // More bytes than those that are unread are consumed.
        _ = shards.consume(5_000, of: shard)
        #expect(
            read(entries(2...2, length: 950))
                == "0: 2..., 1000 bytes or one entry, follow 1, wanted")
        // A sixteenth of the length must be free.
        shards.noticeAll()
        #expect(next() == nil)
        let isEnough = [shards.consume(-5, of: shard), shards.consume(11, of: shard)]
        #expect(isEnough == [false, false])
        #expect(next() == nil)
        let isMore = shards.consume(1, of: shard)
        #expect(isMore)
        #expect(read([]) == "0: 3..., 62 bytes, follow 1")
        let isIdle = [shards.consume(1, of: shard), shards.consume(1, of: other)]
        #expect(isIdle == [false, false])
    }

    @Test mutating func `bytes that are consumed during a query allow the next one`() throws {
        shards.follow(shard, from: 1)
        _ = read(entries(1...1, length: 900), isCut: true)
        let found = shards.nextQuery()
        let query = try #require(found)
        _ = shards.consume(1, of: shard)
        let done = shards.complete(query, [], isCut: true)
        #expect(!done.isWanted && done.ended == nil)
        #expect(next() == "0: 2..., 101 bytes, follow 1")
    }

    @Test mutating func `a reread goes before new entries, and ends after its last entry`() {
        shards.follow(shard, from: 9)
        shards.reread(2...5, of: shard)
        shards.reread(7...7, of: shard)
        #expect(
            read(entries(2...3), isCut: true)
                == "0: 2...5, 1000 bytes or one entry, reread 2...5, wanted")
        #expect(
            read(entries(4...5), isCut: true)
                == "0: 4...5, 980 bytes, reread 2...5, wanted, ended 2...5")
        #expect(read([]) == "0: 7...7, 960 bytes, reread 7...7, ended 7...7")
        #expect(read(entries(9...9)) == "0: 9..., 960 bytes, follow 1, wanted")
        #expect(next() == nil)
        // Its bytes count, also if the shard is not followed.
        shards.unfollow(shard)
        shards.noticeAll()
        #expect(next() == nil)
        shards.reread(1...1, of: shard)
        #expect(
            read(entries(1...1)) == "0: 1...1, 950 bytes, reread 1...1, wanted, ended 1...1"
        )
    }

    @Test mutating func `a reread without room waits until the host has consumed something`() {
        shards.reread(1...2, of: shard)
        _ = read(entries(1...1, length: 900), isCut: true)
        #expect(read([], isCut: true) == "0: 2...2, 100 bytes, reread 1...2")
        #expect(next() == nil)
        // New entries do not wait for it.
        shards.follow(shard, from: 3)
        #expect(read([]) == "0: 3..., 100 bytes, follow 1")
        let isDue = shards.consume(100, of: shard)
        #expect(isDue)
        #expect(next() == "0: 2...2, 200 bytes, reread 1...2")
    }

    @Test mutating func `shards take turns`() {
        shards.follow(shard, from: 1)
        shards.follow(other, from: 4)
        let start = "1000 bytes or one entry, follow"
        #expect(next() == "0: 1..., \(start) 1")
        shards.notice(Self.notification + "0")
        #expect(next() == "1: 4..., \(start) 2")
        shards.notice(Self.notification + "1")
        #expect(next() == "0: 1..., \(start) 1")
        #expect(next() == "1: 4..., \(start) 2")
        #expect(next() == nil)
    }

    @Test mutating func `a failed query is repeated, and one of an earlier call has no effect`()
        throws
    {
        shards.follow(shard, from: 1)
        let first = shards.nextQuery()
        let query = try #require(first)
        shards.repeatQuery(query)
        #expect(next() == text(query))
        shards.follow(shard, from: 5)
        let late = shards.complete(query, entries(1...2), isCut: true)
        #expect(!late.isWanted && late.ended == nil)
        #expect(next() == "0: 5..., 1000 bytes or one entry, follow 2")
        shards.unfollow(shard)
        shards.reread(2...9, of: shard)
        shards.reread(1...1, of: shard)
        let second = shards.nextQuery()
        let reread = try #require(second)
        shards.repeatQuery(reread)
        #expect(next() == "0: 2...9, 1000 bytes or one entry, reread 2...9")
        // Without the shard, a query has no result.
        var others = FollowedShards(unreadLength: 1_000)
        let unknown = others.complete(query, entries(1...2), isCut: true)
        #expect(!unknown.isWanted && unknown.ended == nil)
    }

    // MARK: Ends

    @Test mutating func `a shard that is not followed has no last entry and no rereads`() throws {
        shards.follow(shard, from: 1)
        _ = read(entries(1...2))
        shards.noticeAll()
        let found = shards.nextQuery()
        let query = try #require(found)
        shards.reread(1...2, of: shard)
        shards.unfollow(shard)
        #expect(shards.lastEntries.isEmpty)
        #expect(next() == nil)
        // The entries of its query are not delivered, and their bytes are not counted.
        let late = shards.complete(query, entries(3...4), isCut: true)
        #expect(!late.isWanted && late.ended == nil)
        #expect(shards.lastEntries.isEmpty)
        shards.follow(shard, from: 3)
        #expect(next() == "0: 3..., 980 bytes, follow 2")
    }

    @Test mutating func `a shard that is followed twice takes one turn, and has one last entry`() {
        shards.follow(shard, from: 1)
        shards.follow(other, from: 1)
        shards.follow(shard, from: 5)
        #expect(
            read(entries(5...5)) == "0: 5..., 1000 bytes or one entry, follow 3, wanted")
        #expect(
            read(entries(1...3)) == "1: 1..., 1000 bytes or one entry, follow 2, wanted")
        let last = shards.lastEntries
        #expect(last.map(\.shard) == [shard, other])
        #expect(last.map(\.number) == [5, 3])
    }

    @Test mutating func `consumed bytes cause one query for an entry without room`() {
        shards.follow(shard, from: 1)
        _ = read(entries(1...1, length: 900), isCut: true)
        _ = read([], isCut: true)
        let isDue = shards.consume(1, of: shard)
        #expect(isDue)
        #expect(next() == "0: 2..., 101 bytes, follow 1")
        let isDueAgain = shards.consume(1, of: shard)
        #expect(!isDueAgain)
        #expect(next() == nil)
    }

    @Test mutating func `the rest of a reread is repeated after a failed query`() throws {
        shards.reread(2...9, of: shard)
        _ = read(entries(2...3), isCut: true)
        let found = shards.nextQuery()
        let query = try #require(found)
        shards.repeatQuery(query)
        #expect(next() == "0: 4...9, 980 bytes, reread 2...9")
    }

    @Test mutating func `an entry without room waits, also if bytes were read meanwhile`() throws {
        shards.follow(shard, from: 3)
        _ = read(entries(3...3, length: 900), isCut: true)
        let found = shards.nextQuery()
        let query = try #require(found)
        shards.reread(1...1, of: shard)
        #expect(
            read(entries(1...1)) == "0: 1...1, 100 bytes, reread 1...1, wanted, ended 1...1")
        _ = shards.complete(query, [], isCut: true)
        #expect(next() == nil)
        let isDue = shards.consume(20, of: shard)
        #expect(isDue)
        #expect(next() == "0: 4..., 110 bytes, follow 1")
    }

    @Test(arguments: [(16, true), (17, false)])
    func `a longest message must fit before the next query of a large limit`(
        _ rest: Int, _ hasRoom: Bool
    ) {
        // A sixteenth of the limit is longer than a message.
        var test = FollowedShardsTests()
        test.shards = FollowedShards(unreadLength: 16_000_016)
        test.shards.follow(shard, from: 1)
        let long = [UInt8](repeating: 1, count: 1_000_000)
        let entries = (1...15).map { HubLogEntry($0, long) }
        let last = HubLogEntry(16, [UInt8](repeating: 2, count: rest))
        _ = test.read(entries + [last])
        test.shards.noticeAll()
        let found = test.next()
        #expect(found == (hasRoom ? "0: 17..., 1000000 bytes, follow 1" : nil))
    }

    @Test(arguments: [(7, "0: 2..., 1 bytes, follow 1"), (8, nil)] as [(Int, String?)])
    func `a query of a small limit has room for a byte`(_ length: Int, _ query: String?) {
        var test = FollowedShardsTests()
        test.shards = FollowedShards(unreadLength: 8)
        test.shards.follow(shard, from: 1)
        _ = test.read(test.entries(1...1, length: length))
        test.shards.noticeAll()
        let found = test.next()
        #expect(found == query)
    }
}
