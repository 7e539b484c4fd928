import Sheaf
import SheafHub
import SheafHubEngine
import SheafHubLog
import SheafTestSupport
import Testing

/// Hubs that replace their log, and hubs that load what the log no longer has.
@Suite struct HubReplacingTests {
    /// Options with which tests see soon what takes seconds otherwise.
    private var quick: HubOptions {
        var options = HubOptions()
        options.configurationMilliseconds = 20
        options.maintenance.stepMilliseconds = 20
        options.maintenance.retryMilliseconds = 20
        options.maintenance.listMilliseconds = 0
        options.maintenance.leastMilliseconds = 0
        return options
    }

    @Test func `a log that is replaced on request loses nothing, and new hubs load its snapshot`()
        async throws
    {
        let scene = HubScene()
        let hubs = [try await scene.hub(options: quick), try await scene.hub(options: quick)]
        for hub in hubs { try await hub.waitUntilReady() }
        let (ann, ben) = (try await scene.client(of: hubs[0]), try await scene.client(of: hubs[1]))
        try await ann.insert("a", acknowledgedBy: hubs[0])
        try await ben.insert("b", acknowledgedBy: hubs[1])
        let old = hubs[0].status.log
        #expect(try await hubs[0].replaceLog() == 2)
        for hub in hubs {
            try await until("the hub reads the new log") {
                hub.status.logNumber == 2 && hub.status.isReady
            }
            #expect(hub.status.log != old)
        }
        #expect(hubs[0].status.counts["replacements"] == 1)
        #expect(hubs[1].status.counts["replacements"] == 0)
        try await ann.insert("c", acknowledgedBy: hubs[0])
        try await ben.insert("d", acknowledgedBy: hubs[1])
        let third = try await scene.hub(options: quick)
        try await third.waitUntilReady()
        #expect(try await third.peer.cars() == ["a", "b", "c", "d"])
        try await until("the status counts them") {
            third.status.counts["loaded_documents"] ?? 0 >= 2
        }
        for peer in [ann, ben] { try await peer.close() }
        for hub in hubs + [third] { try await hub.close() }
    }

    @Test func `hubs write snapshots, which another one verifies, and an empty hub loads one`()
        async throws
    {
        let scene = HubScene()
        var options = quick
        // Marks of hubs do not reach this length, so that a snapshot has a document.
        options.maintenance.snapshotLength = 10_000
        let hubs = [try await scene.hub(options: options), try await scene.hub(options: options)]
        for hub in hubs { try await hub.waitUntilReady() }
        let client = try await scene.client(of: hubs[0])
        var random = SeededRandom(seed: 1)
        for id in ["a", "b"] {
            let text = (0..<5_000).map { _ in String(random.next(), radix: 36) }.joined()
            try await client.insert(id, text: text, acknowledgedBy: hubs[0])
        }
        try await until("a snapshot is verified") {
            hubs.contains { $0.status.counts["verified_snapshots"] ?? 0 > 0 }
        }
        let third = try await scene.hub(options: options)
        try await third.waitUntilReady()
        #expect(try await third.peer.cars() == ["a", "b"])
        try await until("the status counts them") {
            third.status.counts["loaded_documents"] ?? 0 > 0
        }
        try await client.close()
        for hub in hubs + [third] { try await hub.close() }
    }

    @Test func `a hub replaces the log while it writes a snapshot`() async throws {
        let scene = HubScene()
        var options = quick
        (options.maintenance.snapshotLength, options.maintenance.bytesPerSecond) = (1, 1)
        let hub = try await scene.hub(options: options)
        try await hub.waitUntilReady()
        _ = try await hub.peer.insert("a")
        let log = MemoryHubLog(scene.engine)
        try await until("a part is written") { try !log.list(HubObjectName.parts).isEmpty }
        // The rest would take minutes.
        #expect(try await hub.replaceLog() == 2)
        try await until("the hub reads the new log") { hub.status.isReady }
        try await hub.close()
    }

    /// The entries of a new log have the numbers of those of the old one.
    @Test func `a hub that replaces a log of long ago has the right clock`() async throws {
        let clock = FakeClock()
        let scene = HubScene(clock: clock.clock)
        var options = quick
        options.clock = clock.clock
        let first = try await scene.hub(options: options)
        try await first.waitUntilReady()
        for number in 0..<8 { try await insert("a \(number)", at: first) }
        try await first.close()
        clock.advance(milliseconds: 100_000)
        let second = try await scene.hub(options: options)
        try await second.waitUntilReady()
        #expect(try await second.replaceLog() == 2)
        try await until("the hub reads the new log") { second.status.logNumber == 2 }
        for number in 0..<8 {
            try await insert("b \(number)", at: second)
            #expect(second.status.reasons.allSatisfy { !$0.contains("clock") })
        }
        try await second.close()
    }

    /// Inserts a car, and waits until the log has it.
    private func insert(_ id: String, at hub: Hub) async throws {
        let commit = UInt64(try await hub.peer.insert(id))
        try await until("the log has the car") { hub.status.hubDurableCommit >= commit }
    }

    @Test func `a hub that is not started, or stops, replaces no log`() async throws {
        let scene = HubScene()
        let (configuration, engine) = (scene.configuration(.random()), scene.memory)
        let hub = try await Hub.inMemory(configuration: configuration, engine: engine)
        for _ in 0..<2 {
            let error = await #expect(throws: HubError.self) { try await hub.replaceLog() }
            #expect(error?.message == "the hub is not started, or stops")
            await hub.drain()
        }
        try await hub.close()
    }
}
