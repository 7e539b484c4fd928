import SheafBytes
import SheafDocument
import SheafHubLog
import Testing

/// Tests of the names of objects, of messages, and of shards with and without split collections.
struct HubObjectNameTests {
    private let hash = HubLogID(low: 0x0102_0304_0506_0708, high: 0xAB)
    private let digits = "00000000000000ab0102030405060708"

    @Test func `a name contains the hash, the upper half first`() {
        #expect(HubObjectName.digits(hash) == digits)
        let ends = HubLogID(low: 0, high: .max)
        #expect(HubObjectName.digits(ends) == "ffffffffffffffff0000000000000000")
        #expect(HubObjectName.snapshot(hash) == "snapshot/\(digits)")
        #expect(HubObjectName.part(hash) == "part/\(digits)")
        #expect(HubObjectName.end(of: hash) == "end/\(digits)")
        #expect(HubObjectName.snapshot(named: "snapshot/\(digits)") == hash)
        #expect(HubObjectName.part(named: "part/\(digits)") == hash)
        #expect(HubObjectName.end(named: "end/\(digits)") == hash)
        #expect(HubObjectName.part(named: "snapshot/\(digits)") == nil)
        #expect(HubObjectName.part(named: "part/\(digits)0") == nil)
        #expect(HubObjectName.part(named: "part/\(digits.dropLast())") == nil)
        #expect(HubObjectName.part(named: "partX\(digits)") == nil)
    }

    @Test func `a hash has the digits 0 to 9 and a to f alone`() {
        for byte in UInt8(0x20)..<0x7F {
            let letter = Character(UnicodeScalar(byte))
            let isDigit = "0123456789abcdef".contains(letter)
            let first = HubObjectName.part(named: "part/\(letter)\(digits.dropFirst())")
            let last = HubObjectName.part(named: "part/\(digits.dropLast())\(letter)")
            #expect((first != nil) == isDigit, "\(letter)")
            #expect((last != nil) == isDigit, "\(letter)")
        }
    }

    @Test func `the objects of a file have its id, and their numbers`() throws {
        let id = try #require(AttachmentID(bytes: Array(UInt8(0)..<32)))
        let head = "file/000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        #expect(HubObjectName.file(id) == head)
        #expect(HubObjectName.file(id, part: 12) == "\(head)/12")
        let found = HubObjectName.file(named: head)
        #expect(found?.id == id && found?.part == nil)
        for part in [0, 1, 12] {
            let found = HubObjectName.file(named: "\(head)/\(part)")
            #expect(found?.id == id && found?.part == part)
        }
        let wrong = [
            "\(head)/", "\(head)/-1", "\(head)/01", "\(head)/+1", "\(head)/1/2", "\(head)/x",
            "\(head)0", "part/\(head.dropFirst(5))", "file/", "",
        ]
        for name in wrong { #expect(HubObjectName.file(named: name)?.id == nil, "\(name)") }
    }

    @Test func `an id of a message has its four numbers in hexadecimal digits`() {
        let id = HubMessageID(
            author: HubAuthor(site: Site(rawValue: 77), opening: 0xABC), shard: 16, sequence: 11,
            checksum: 0xFF)
        #expect(id.text == "abc-10-b-ff")
    }

    @Test(
        arguments: [(10, 4, [4, 4, 2]), (8, 4, [4, 4]), (3, 4, [3]), (1, 1, [1])]
            as [(Int, Int, [Int])])
    func `the messages of a group have a length, and the last one the rest`(
        _ count: Int, _ length: Int, _ expected: [Int]
    ) throws {
        let author = HubAuthor(site: Site(rawValue: 3), opening: 4)
        var chain = HubMessageChain(log: hash, shard: 0, author: author)
        let payload = (0..<count).map { UInt8($0) }
        let encoded = chain.messages(
            of: payload, HubMessage.Extent(base: 0, commit: 1), .start, length: length)
        let messages = try encoded.map { one in
            try one.bytes.withUnsafeBytes {
                try HubMessage(decoding: $0, log: hash, shard: 0)
            }
        }
        #expect(messages.map(\.payload.count) == expected)
        #expect(messages.flatMap(\.payload) == payload)
        #expect(messages.map { Int($0.unconfirmed) } == Array(0..<expected.count))
        for (index, message) in messages.enumerated() {
            #expect(message.flags.contains(.continues) == (index > 0))
            #expect(message.flags.contains(.isContinued) == (index < expected.count - 1))
        }
    }

    @Test func `a group of as many bytes as 4,096 messages have is not longer`() {
        let author = HubAuthor(site: Site(rawValue: 3), opening: 4)
        var chain = HubMessageChain(log: hash, shard: 0, author: author)
        let messages = chain.messages(
            of: Array(repeating: 1, count: 4_096), HubMessage.Extent(base: 0, commit: 1), .start,
            length: 1)
        #expect(messages.count == 4_096)
    }

    @Test func `a map of one shard splits no collection`() throws {
        let address = DocumentAddress(collection: "logs", id: [0x40, 1])
        let one = try ShardMap(shardCount: 1, splitCollections: ["logs"])
        #expect(!one.isSplit("logs") && one.shard(of: address) == 0)
        let two = try ShardMap(shardCount: 2, splitCollections: ["logs"])
        #expect(two.isSplit("logs") && !two.isSplit("log"))
        #expect(throws: Never.self) { try ShardMap(shardCount: 256) }
    }

    @Test func `each fault has its own name in counters`() {
        let author = HubAuthor(site: Site(rawValue: 3), opening: 4)
        let faults: [ShardFault] = [
            .repetition(author, sequence: 1, entry: 1), .repeatedEntry(1),
            .fork(author, sequence: 1, entry: 1), .otherDigest(author, entry: 1),
            .early(author, sequence: 1, entry: 1), .lostMessages(author, 1...1), .gap(1...1),
            .lostEntries(1...1), .lateEntry(1), .truncation(entry: 1),
            .damage(entry: 1, .newerVersion(1)), .newerVersion(entry: 1, 1),
            .unfinishedGroup(author, 1...1), .unstoredMessages(author, 1...1),
            .malformedGroup(author, 1...1), .staleEngine(after: 1),
        ]
        #expect(
            faults.map(\.name) == [
                "repetition", "repeated_entry", "fork", "other_digest", "early", "lost_messages",
                "gap", "lost_entries", "late_entry", "truncation", "damage", "newer_version",
                "unfinished_group", "unstored_messages", "malformed_group", "stale_engine",
            ])
    }
}
