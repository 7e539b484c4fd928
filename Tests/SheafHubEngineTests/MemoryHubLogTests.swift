import SheafBytes
import SheafDocument
import SheafHubEngine
import SheafHubLog
import SheafHubNATS
import SheafTestSupport
import Testing

@Suite struct MemoryHubLogTests {
    @Test(arguments: HubLogCheck.allCases)
    func `a log in memory satisfies each rule`(_ check: HubLogCheck) throws {
        let engine = MemoryHubEngine()
        try check.run(
            TestedEngine { unreadLength in MemoryHubLog(engine, unreadLength: unreadLength) })
    }

    @Test func `a log without its library names the trait`() throws {
        #if !NATS
            let log = NATSHubLog(
                NATSConfiguration(servers: ["nats://127.0.0.1:1"], database: .init(low: 1, high: 1))
            )
            #expect(throws: HubLogError.unsupported(trait: "NATS")) {
                try log.start(RecordingHost())
            }
            #expect(HubLogError.unsupported(trait: "NATS").description.contains("trait NATS"))
        #endif
    }

    @Test func `a stopped log retains neither its host nor itself`() throws {
        let engine = MemoryHubEngine()
        weak var log: MemoryHubLog?
        weak var host: RecordingHost?
        do {
            let started = MemoryHubLog(engine)
            let recording = RecordingHost()
            (log, host) = (started, recording)
            try started.start(recording)
            started.follow(HubShard(0, of: HubLogID(low: 1, high: 1)), from: 1)
            started.stop()
        }
        #expect(log == nil)
        #expect(host == nil)
    }

    @Test func `a shard that the log does not have has no entries`() throws {
        let log = MemoryHubLog(MemoryHubEngine())
        let host = RecordingHost()
        try log.start(host)
        defer { log.stop() }
        let id = HubLogID(low: 1, high: 1)
        try log.create(id, shardCount: 2)
        let shard = HubShard(2, of: id)
        log.follow(shard, from: 1)
        log.reread(1...5, of: shard)
        let end = RecordingHost.Reread(entries: 1...5, shard: shard, error: nil, arrivedCount: 0)
        #expect(host.waits { $0.rereads == [end] })
        let isLater = log.trim(shard, before: 3)
        #expect(!isLater)
        #expect(host.current.numbers(of: shard) == [])
    }

    @Test func `an object is read up to its limit, also in several pieces`() throws {
        let log = MemoryHubLog(MemoryHubEngine())
        for length in [0, 3, 262_145] {
            let bytes = [UInt8](repeating: 7, count: length)
            try log.put("part/\(length)", bytes)
            #expect(try log.object("part/\(length)", limit: length) == bytes)
            guard length > 0 else { continue }
            let error = HubLogError.damaged(
                "part/\(length), which is longer than \(length - 1) bytes,")
            #expect(throws: error) { try log.object("part/\(length)", limit: length - 1) }
        }
        #expect(throws: HubLogError.missing("object part/1")) {
            try log.object("part/1", limit: 9)
        }
    }

    @Test func `a call that the engine refuses has its reason`() throws {
        let log = MemoryHubLog(MemoryHubEngine())
        let host = RecordingHost()
        try log.start(host)
        defer { log.stop() }
        let id = HubLogID(low: 1, high: 1)
        #expect(throws: HubLogError.refused("a log of 0 shards; it has 1 to 256")) {
            try log.create(id, shardCount: 0)
        }
        #expect(throws: HubLogError.refused("a log of 257 shards; it has 1 to 256")) {
            try log.create(id, shardCount: 257)
        }
        try log.create(id, shardCount: 2)
        let other = HubLogError.refused(
            "a new log with the id of one that has entries or other shards")
        #expect(throws: other) { try log.create(id, shardCount: 4) }
        #expect(throws: HubLogError.missing("log with 4 shards")) {
            try log.check(id, shardCount: 4)
        }
        let author = HubAuthor(site: Site(rawValue: 1), opening: 2)
        func message(_ shard: UInt16) -> HubMessageID {
            HubMessageID(author: author, shard: shard, sequence: 1, checksum: 3)
        }
        log.append([1], to: id, as: message(2))
        log.append([UInt8](repeating: 0, count: 1_000_001), to: id, as: message(1))
        log.append([1], to: id, as: message(1))
        #expect(host.waits { $0.stored.count == 1 && $0.failed.count == 2 })
        #expect(
            host.current.failed.map(\.error) == [
                .missing("shard 2"),
                .refused("a message of 1000001 bytes; it has at most 1000000"),
            ])
        // A log with an entry in any shard is not created again.
        #expect(throws: other) { try log.create(id, shardCount: 2) }
        #expect(try log.logs() == [id])
    }
}
