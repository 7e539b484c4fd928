import Sheaf
import SheafHub
import SheafHubLog
import SheafSystem
import SheafTestSupport
import Testing

/// Hubs that share documents, and what they acknowledge.
@Suite struct HubTests {
    @Test func `a document of a client of one hub reaches the clients of all hubs`() async throws {
        let scene = HubScene()
        let hubs = try await scene.hubs(2)
        let (ann, ben) = (try await scene.client(of: hubs[0]), try await scene.client(of: hubs[1]))
        try await ann.insert("a", acknowledgedBy: hubs[0])
        try await ben.insert("b", acknowledgedBy: hubs[1])
        for peer in [ann, ben, hubs[0].peer, hubs[1].peer] {
            try await peer.waitForCars(["a", "b"])
        }
        try await ann.store.execute("DELETE FROM cars WHERE _id = 'b'")
        try await ben.waitForCars(["a"])
        for peer in [ann, ben] { try await peer.close() }
        for hub in hubs { try await hub.close() }
    }

    @Test func `a batch is acknowledged once a second hub has its documents`() async throws {
        let scene = HubScene()
        let gate = LogGate()
        let ready = try await scene.hub()
        let slow = try await scene.hub(through: gate)
        try await slow.waitUntilReady()
        try await until("the hub knows the second one") {
            ready.status.hubs.contains(where: \.isLive)
        }
        let client = try await scene.client(of: ready)
        try await client.insert("a", acknowledgedBy: ready)
        gate.set { $0.holdsEntries = true }
        let commit = try await client.insert("b")
        try await until("the engine has the document of an unacknowledged batch") {
            let status = ready.status
            return status.commit > status.hubDurableCommit && status.unacknowledgedCount == 1
                && status.shards.allSatisfy { $0.unstoredMessages == 0 }
        }
        let survey = try #require(try client.sync.surveys().first { $0.key == ready.peer.key })
        #expect(survey.syncedUpTo ?? 0 < UInt64(commit))
        gate.open()
        try await client.sync.wait(for: commit, on: ready.peer.key)
        #expect(ready.status.isReady)
        try await client.close()
        try await ready.close()
        try await slow.close()
    }

    @Test func `presence shows a client the other hub and its clients`() async throws {
        let scene = HubScene()
        let hubs = try await scene.hubs(2)
        let (ann, ben) = (try await scene.client(of: hubs[0]), try await scene.client(of: hubs[1]))
        let (first, second) = (hubs[0].peer.key, hubs[1].peer.key)
        try await until("a client sees all peers") {
            let graph = ann.presence.graph
            return graph[first]?.distance == 1 && graph[second]?.distance == 2
                && graph[ben.key]?.distance == 3
        }
        try await ben.close()
        try await until("the other client is gone") { ann.presence.graph[ben.key] == nil }
        #expect(hubs[0].status.counts["fault_malformed_broadcast"] == nil)
        #expect(hubs[0].status.heldMilliseconds == nil && hubs[0].status.pendingBytes == 0)
        #expect(hubs[0].status.data["heldMilliseconds"] == .null)
        try await ann.close()
        for hub in hubs { try await hub.close() }
    }

    @Test func `a peer that has not responded at the deadline is not waited for`() async throws {
        let scene = HubScene()
        let peer = try await Peer.inMemory(configuration: scene.configuration(.random()))
        let isBusy = Monitor(true)
        peer.request { _ in isBusy.wait(while: { $0 }) }
        let now = Clock.system.monotonicNanoseconds()
        let late = try await Thread.run(name: "sheaf-test") { peer.answer(until: now) { _ in 7 } }
        #expect(late == nil)
        isBusy.withLock { $0 = false }
        isBusy.broadcast()
        let end = Clock.testDeadline()
        let answer = try await Thread.run(name: "sheaf-test") { peer.answer(until: end) { _ in 7 } }
        #expect(answer == 7)
        try await peer.close()
    }

    @Test func `a hub that is opened again has the documents that others wrote`() async throws {
        let scene = HubScene()
        let (key, path) = (PeerKey.random(), scene.path("hub"))
        let first = try await scene.hub(key, at: path)
        try await first.waitUntilReady()
        let other = try await scene.hub()
        try await other.waitUntilReady()
        let client = try await scene.client(of: other)
        try await client.insert("a", acknowledgedBy: other)
        await first.drain()
        try await first.close()
        try await client.insert("b", acknowledgedBy: other)
        let again = try await scene.hub(key, at: path)
        try await again.waitUntilReady()
        #expect(try await again.peer.cars() == ["a", "b"])
        let status = again.status
        #expect(status.hubs.count == 1 && status.hubs.first?.key == other.peer.key)
        try await client.close()
        try await again.close()
        try await other.close()
    }

    @Test func `hubs that are opened at once share one log`() async throws {
        let scene = HubScene()
        let hubs = try await withThrowingTaskGroup(of: Hub.self) { group in
            for _ in 0..<4 { group.addTask { try await scene.hub() } }
            return try await group.reduce(into: [Hub]()) { $0.append($1) }
        }
        for hub in hubs { try await hub.waitUntilReady() }
        #expect(Set(hubs.map(\.status.log)).count == 1)
        try await until("each hub knows the others") {
            hubs.allSatisfy { $0.status.hubs.count(where: \.isLive) == 3 }
        }
        for hub in hubs { try await hub.close() }
    }

    @Test func `a draining hub acknowledges, ends its connections, and holds up no other hub`()
        async throws
    {
        let scene = HubScene()
        let hubs = try await scene.hubs(2)
        let clients = [try await scene.client(of: hubs[0]), try await scene.client(of: hubs[1])]
        let commit = try await clients[0].insert("a")
        try await clients[0].sync.wait(for: commit, on: hubs[0].peer.key)
        await hubs[0].drain()
        // A thread samples the status.
        try await until("nothing is unacknowledged") { hubs[0].status.unacknowledgedCount == 0 }
        let status = hubs[0].status
        #expect(!status.isReady && status.isDraining)
        #expect(status.reasons.first == "the hub is draining: it stops")
        try await until("its client is disconnected") {
            try clients[0].sync.surveys().allSatisfy { !$0.isConnected }
        }
        try await until("the other hub knows it") {
            hubs[1].status.hubs.contains(where: \.isDraining)
        }
        // The hub is not closed, and reads nothing any more: the other one does not wait for it.
        try await hubs[0].close()
        try await clients[1].insert("b", acknowledgedBy: hubs[1])
        // The client connects to the other hub, as one with several addresses does.
        scene.network.connect(clients[0].key, hubs[1].peer.key)
        try await clients[0].waitForCars(["a", "b"])
        for client in clients { try await client.close() }
        try await hubs[1].close()
    }
}
