import Sheaf
import SheafBytes
import SheafDocument
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafSync
import SheafTestSupport
import Testing

/// Presence of hubs that share a log, and of their clients.
@Suite struct HubPresenceTests {
    /// The peers that each node reaches, by their numbers in the scene.
    private func reached(_ scene: DocumentScene, by number: Int) -> Set<Int> {
        let keys = scene.nodes[number].replicator.reachablePeers.map(\.key)
        return Set(scene.nodes.indices.filter { keys.contains(scene.nodes[$0].key) })
    }

    /// Expects that each of some nodes reaches all of them, and has their newest records.
    private func expectAgreement(
        _ scene: DocumentScene, _ numbers: Set<Int>, _ location: SourceLocation = #_sourceLocation
    ) {
        var newest: [[UInt8]: PeerRecord] = [:]
        for number in numbers {
            newest[scene.nodes[number].key] = scene.nodes[number].replicator.reachablePeers.first
        }
        for number in numbers.sorted() {
            #expect(reached(scene, by: number) == numbers, sourceLocation: location)
            for record in scene.nodes[number].replicator.reachablePeers {
                #expect(record == newest[record.key], sourceLocation: location)
            }
        }
    }

    @Test func `clients see all hubs and their clients, and those that come and go`() throws {
        let scene = try DocumentScene.hubs(LogDouble(seed: 1), 3)
        try scene.run(seconds: 3)
        expectAgreement(scene, [0, 1, 2, 3, 4, 5])
        let wire = try #require(scene.connections(of: 5).first)
        try scene.disconnect(wire)
        try scene.run(seconds: 3)
        expectAgreement(scene, [0, 1, 2, 3, 4])
        // It uses another hub.
        try scene.connect(1, 5)
        try scene.run(seconds: 3)
        expectAgreement(scene, [0, 1, 2, 3, 4, 5])
        scene.nodes[5].replicator.present(metadata: Array("{\"a\":1}".utf8))
        try scene.perform(5)
        try scene.run(seconds: 3)
        expectAgreement(scene, [0, 1, 2, 3, 4, 5])
    }

    @Test func `a hub that is killed disappears after ten seconds, with its clients`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        try scene.run(seconds: 3)
        log.isolate(1)
        try scene.run(seconds: 8)
        #expect(reached(scene, by: 2) == [0, 1, 2, 3])
        try scene.run(seconds: 4)
        #expect(reached(scene, by: 2) == [0, 2])
        #expect(reached(scene, by: 3) == [1, 3])
        log.rejoin(1)
        try scene.run(seconds: 5)
        expectAgreement(scene, [0, 1, 2, 3])
        // One that drains disappears with its next beat.
        scene.nodes[1].replicator.drain(true)
        try scene.run(seconds: 2)
        #expect(reached(scene, by: 2) == [0, 2])
    }

    @Test(arguments: 1...10)
    func `lost broadcasts are repeated`(_ seed: UInt64) throws {
        let log = LogDouble(seed: seed)
        let scene = try DocumentScene.hubs(log, 3)
        log.faults.losesBroadcast = 250
        var random = SeededRandom(seed: seed, "clients")
        for _ in 0..<20 {
            let client = 3 + random.below(3)
            try scene.disconnectAll(of: client)
            try scene.run(seconds: UInt64(random.below(3)))
            try scene.connect(random.below(3), client)
            try scene.run(seconds: UInt64(random.below(2)))
        }
        try scene.run(seconds: 60)
        expectAgreement(scene, [0, 1, 2, 3, 4, 5])
    }

    @Test func `a hub that starts again with an earlier clock is seen with its new clients`() throws
    {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        try scene.run(seconds: 5)
        log.disconnect(1)
        let clock = scene.nodes[1].clock
        clock.setWall(milliseconds: clock.clock.wallMilliseconds() - 100_000)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.joinLog(1)
        try scene.connect(1, 3)
        try scene.run(seconds: 5)
        expectAgreement(scene, [0, 1, 2, 3])
    }

    @Test func `a hub that starts again knows the clients of others at once`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        // All records were repeated a second ago, and will be again in nine.
        try scene.run(seconds: 9)
        log.disconnect(1)
        // Its client does not return: it would send what it knows.
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.joinLog(1)
        try scene.run(seconds: 4)
        expectAgreement(scene, [0, 1, 2])
    }

    @Test func `malformed broadcasts are counted and ignored`() throws {
        let scene = try DocumentScene.hubs(LogDouble(seed: 1), 2)
        try scene.run(seconds: 3)
        let hub = scene.nodes[0].replicator
        func count() -> UInt64 { hub.hubProgress?.faults["malformed_broadcast"] ?? 0 }
        #expect(count() == 0)
        let lonely = PeerRecord(
            key: Array(repeating: 9, count: 32), version: .init(opening: 1, salt: 2, count: 3),
            PeerRecord.Description(name: "lonely"), neighbors: [])
        func bytes(_ log: HubLogID) -> [UInt8] {
            HubBroadcast(
                log: log, hub: scene.nodes[1].key,
                author: HubAuthor(site: .init(rawValue: 3), opening: 4),
                .presence(PresenceMessage([lonely]))
            ).bytes
        }
        let whole = bytes(DocumentScene.logID)
        for length in 0..<whole.count {
            hub.receive(.broadcast(Array(whole.prefix(length))), at: scene.now)
        }
        #expect(count() == UInt64(whole.count))
        var random = SeededRandom(seed: 1, "changes")
        for _ in 0..<200 {
            var changed = whole
            // The id of another log is no damage.
            changed[22 + random.below(whole.count - 22)] ^= 1 << UInt8(random.below(8))
            hub.receive(.broadcast(changed), at: scene.now)
        }
        #expect(count() == UInt64(whole.count) + 200)
        hub.receive(.broadcast(bytes(HubLogID(low: 7, high: 9))), at: scene.now)
        hub.receive(.broadcast(whole), at: scene.now)
        #expect(count() == UInt64(whole.count) + 200)
        try scene.run(seconds: 3)
        expectAgreement(scene, [0, 1, 2, 3])
    }
}
