import SheafBytes
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
}
