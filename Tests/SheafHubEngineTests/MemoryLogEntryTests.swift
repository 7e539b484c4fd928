import SheafBytes
import SheafHubEngine
import SheafHubLog
import Testing

/// Tests of the entries and objects of a log in memory, besides the rules of all engines.
@Suite struct MemoryLogEntryTests {
    private let log = HubLogID(low: 1, high: 1)
    private let shard = HubShard(0, of: HubLogID(low: 1, high: 1))

    /// Calls `body` with a log of one shard, of which ten bytes may be unread.
    private func withMember(_ body: (TestedEngine.Member) throws -> Void) throws {
        let memory = MemoryHubEngine()
        let engine = TestedEngine { MemoryHubLog(memory, unreadLength: $0) }
        let member = try engine.start(unreadLength: 10)
        defer { member.stop() }
        try member.log.create(log, shardCount: 1)
        try body(member)
    }

    /// Stores messages of five bytes.
    private func store(_ sequences: [Int], _ member: TestedEngine.Member) {
        for sequence in sequences {
            member.log.append(
                [UInt8](repeating: 1, count: 5), to: log, as: TestedEngine.id(sequence))
        }
    }

    @Test func `a message whose entry was removed is stored again, and others are found`() throws {
        try withMember { member in
            store([1, 2, 3, 4], member)
            _ = try member.log.trim(shard, before: 3)
            store([1, 3, 2, 4], member)
            _ = try member.log.trim(shard, before: 6)
            store([1, 2, 3, 4], member)
            let expected: [UInt64] = [1, 2, 3, 4, 5, 3, 6, 4, 7, 6, 8, 9]
            #expect(member.host.waits { $0.stored.count == expected.count })
            #expect(member.host.current.stored.map(\.entry) == expected)
        }
    }

    @Test func `a reread whose last entry has no room ends after it`() throws {
        try withMember { member in
            store([1, 2, 3], member)
            member.log.reread(1...3, of: shard)
            // Events keep their order.
            member.log.broadcast([1])
            #expect(member.host.waits { !$0.broadcasts.isEmpty })
            #expect(member.host.current.numbers(of: shard) == [1, 2])
            #expect(member.host.current.rereads.isEmpty)
            member.log.consumed(5, of: shard)
            #expect(member.host.waits { !$0.rereads.isEmpty })
            #expect(member.host.current.numbers(of: shard) == [1, 2, 3])
        }
    }

    @Test func `a reread of a shard that is not followed any more has no end`() throws {
        try withMember { member in
            store([1, 2, 3], member)
            member.log.reread(1...3, of: shard)
            member.log.unfollow(shard)
            member.log.consumed(10, of: shard)
            member.log.broadcast([1])
            #expect(member.host.waits { !$0.broadcasts.isEmpty })
            #expect(member.host.current.numbers(of: shard) == [1, 2])
            #expect(member.host.current.rereads.isEmpty)
        }
    }

    @Test func `more bytes than those that are unread allow no more than the limit`() throws {
        try withMember { member in
            store([1, 2, 3, 4], member)
            member.log.follow(shard, from: 1)
            member.log.consumed(1_000, of: shard)
            store([5, 6], member)
            member.log.broadcast([1])
            #expect(member.host.waits { !$0.broadcasts.isEmpty })
            #expect(member.host.current.numbers(of: shard) == [1, 2, 3, 4])
        }
    }

    @Test func `an object is read in pieces of 262,144 bytes`() throws {
        try withMember { member in
            for (length, pieces) in [
                (0, []), (262_144, [262_144]), (524_289, [262_144, 262_144, 1]),
            ] as [(Int, [Int])] {
                try member.log.put("part/\(length)", [UInt8](repeating: 1, count: length))
                var found: [Int] = []
                try member.log.get("part/\(length)") { found.append($0.count) }
                #expect(found == pieces)
            }
        }
    }

    @Test func `a log that was not started stores no message`() throws {
        let memory = MemoryHubEngine()
        let unstarted = MemoryHubLog(memory)
        try unstarted.create(log, shardCount: 1)
        unstarted.append([1], to: log, as: TestedEngine.id(1))
        #expect(try unstarted.logs() == [])
    }
}
