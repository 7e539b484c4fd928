import Sheaf
import SheafHub
import SheafHubLog
import SheafSystem
import SheafTestSupport
import Testing

/// When clients should use a hub.
@Suite struct HubReadinessTests {
    @Test func `a hub accepts connections once it has read the log`() async throws {
        let scene = HubScene()
        let gate = LogGate()
        gate.set { $0.holdsEntries = true }
        let hub = try await scene.hub(through: gate)
        let client = try await scene.client(of: hub)
        try await until("the hub has begun") { !hub.status.shards.isEmpty }
        #expect(!hub.peer.sync.isActive)
        #expect(
            hub.status.reasons == ["shard 0 is read up to entry 0, and not to its end"])
        gate.open()
        try await hub.waitUntilReady()
        try await client.insert("a", acknowledgedBy: hub)
        try await client.close()
        try await hub.close()
    }

    @Test func `a hub is not ready while the engine stores nothing or returns no beat`()
        async throws
    {
        let (gate, clock) = (LogGate(), FakeClock())
        let scene = HubScene(clock: clock.clock)
        var options = HubOptions()
        options.clock = clock.clock
        let hub = try await scene.hub(options: options, through: gate)
        try await hub.waitUntilReady()
        let client = try await scene.client(of: hub)
        try await client.insert("a", acknowledgedBy: hub)

        gate.set { $0.losesAppends = true }
        let commit = try await client.insert("b")
        try await until("a message is appended") {
            hub.status.shards.contains { $0.unstoredMessages > 0 }
        }
        #expect(hub.status.isReady)
        clock.advance(milliseconds: 11_000)
        try await until("the hub is not ready") {
            hub.status.reasons.contains {
                $0.hasPrefix("the engine has not stored a message for 11 s")
            }
        }
        gate.open()
        try await client.sync.wait(for: commit, on: hub.peer.key)
        try await hub.waitUntilReady()

        gate.set { $0.losesBroadcasts = true }
        clock.advance(milliseconds: 11_000)
        try await until("the hub is not ready") {
            hub.status.reasons == ["the engine has not returned the beats of this hub for 11 s"]
        }
        gate.open()
        try await hub.waitUntilReady()
        try await client.close()
        try await hub.close()
    }

    @Test func `a hub does not wait for a message whose documents were stored in another one`()
        async throws
    {
        let (gate, clock) = (LogGate(), FakeClock())
        let scene = HubScene(clock: clock.clock)
        var options = HubOptions()
        options.clock = clock.clock
        let other = try await scene.hub(options: options)
        let hub = try await scene.hub(options: options, through: gate)
        for hub in [hub, other] { try await hub.waitUntilReady() }
        let client = try await scene.client(of: hub)
        try await client.insert("a", acknowledgedBy: hub)
        gate.set { $0.losesNext = true }
        _ = try await client.insert("b")
        try await until("the message is appended") { gate.hasLost }
        // The other hub requests the documents of the message before this one.
        try await client.insert("c", acknowledgedBy: hub)
        try await other.peer.waitForCars(["a", "b", "c"])
        clock.advance(milliseconds: 11_000)
        try await until("the hub is ready") { hub.status.isReady }
        try await client.close()
        for hub in [hub, other] { try await hub.close() }
    }

    @Test func `a hub whose clock differs from that of the engine and of others is not ready`()
        async throws
    {
        let scene = HubScene()
        let hubs = try await scene.hubs(2)
        let clock = FakeClock()
        clock.setWall(milliseconds: 1_000_000_000_000)
        var options = HubOptions()
        options.clock = clock.clock
        let wrong = try await scene.hub(options: options)
        try await until("the clock is compared") {
            let reasons = wrong.status.reasons
            return ["that of the engine", "those of the other hubs"].allSatisfy { others in
                reasons.contains { $0.hasSuffix("s slow, compared with \(others); synchronize it") }
            }
        }
        #expect(hubs.allSatisfy { $0.status.isReady })
        try await wrong.close()
        for hub in hubs { try await hub.close() }
    }

    @Test func `a hub of another database, or of an older release, reports why it cannot start`()
        async throws
    {
        let scene = HubScene()
        let hub = try await scene.hub()
        try await hub.waitUntilReady()
        var other = scene.configuration(.random())
        other.databaseID = "another one"
        let engine = scene.memory
        let foreign = await #expect(throws: HubError.self) {
            try await Hub.inMemory(configuration: other, engine: engine)
        }
        #expect(foreign?.message.contains("is that of the database \(scene.database)") == true)
        #expect(foreign?.message.contains("this hub is one of \(other.databaseID)") == true)

        let shards = await #expect(throws: HubError.self) {
            try await scene.hub(options: HubOptions(shardCount: 4))
        }
        #expect(shards?.message.contains("the log has 1 shards, not 4") == true)
        try await hub.close()
    }

    @Test func `hubs with the same key are not ready`() async throws {
        let scene = HubScene()
        let key = PeerKey.random()
        let hubs = [try await scene.hub(key), try await scene.hub(key)]
        for hub in hubs {
            try await until("the reason is shown") {
                hub.status.reasons.contains {
                    $0.hasPrefix("another hub has the key of this one")
                }
            }
        }
        for hub in hubs { try await hub.close() }
    }

    @Test func `a hub that waits for its engine can be stopped`() async throws {
        let scene = HubScene()
        let gate = LogGate()
        gate.set { $0.isUnreachable = true }
        let options = HubOptions(startSeconds: HubScene.longSeconds)
        let opening = Task { try await scene.hub(options: options, through: gate) }
        // The task begins once it has a thread, which other tests may have for minutes.
        let end = Clock.testDeadline()
        while gate.refusedStarts == 0, Clock.system.monotonicNanoseconds() < end {
            await Task.yield()
        }
        #expect(gate.refusedStarts > 0)
        opening.cancel()
        let error = await #expect(throws: HubError.self) { try await opening.value }
        #expect(
            error?.message
                == "the hub was stopped before the engine responded (the hub log did not respond "
                + "to: a connection)")
    }

    @Test(arguments: [(999, 2), (1_000, 1), (1_001, 1)] as [(UInt64, Int)])
    func `a hub waits for its engine until the end of its time`(
        _ milliseconds: UInt64, _ attempts: Int
    ) async throws {
        let (gate, clock) = (LogGate(), FakeClock())
        gate.set { state in
            state.isUnreachable = true
            state.onRefusedStart = { clock.advance(milliseconds: milliseconds) }
        }
        var options = HubOptions(startSeconds: 1)
        options.clock = clock.clock
        let scene = HubScene()
        var message = ""
        do {
            _ = try await scene.hub(options: options, through: gate)
        } catch let error as HubError {
            message = error.message
        }
        #expect(message.hasSuffix("the engine has not responded for 1 s"))
        #expect(gate.refusedStarts == attempts)
    }

    @Test func `the format is raised when all live hubs read the new one`() async throws {
        let scene = HubScene()
        var new = HubOptions()
        new.formats = 1...2
        new.configurationMilliseconds = 20
        var old = new
        old.formats = 1...1
        let hubs = [try await scene.hub(options: new), try await scene.hub(options: old)]
        for hub in hubs { try await hub.waitUntilReady() }
        try await until("the hub knows the other one") {
            hubs[0].status.hubs.contains(where: \.isLive)
        }
        let refusal = await #expect(throws: HubError.self) { try await hubs[0].upgrade() }
        #expect(
            refusal?.message.contains(
                "not all hubs read version 2: \(hubs[1].peer.key) reads 1 to 1")
                == true)
        #expect(try await hubs[1].upgrade() == 1)
        await hubs[1].drain()
        try await hubs[1].close()

        let third = try await scene.hub(options: new)
        try await third.waitUntilReady()
        try await until("the hub knows that one is new and the other one leaves") {
            let others = hubs[0].status.hubs
            return others.count == 2 && others.allSatisfy { $0.isDraining || $0.formats == 1...2 }
        }
        #expect(try await hubs[0].upgrade() == 2)
        try await until("the other hub knows it") { third.status.format == 2 }
        let late = await #expect(throws: HubError.self) { try await scene.hub(options: old) }
        #expect(
            late?.message
                == "the hubs write messages of version 2, and this program those up to 1; "
                + "install a newer one")
        try await hubs[0].close()
        try await third.close()
    }
}
