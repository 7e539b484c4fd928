import Sheaf
import SheafDocument
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafTestSupport
import Testing

/// Hubs whose log loses, changes or replaces what it has acknowledged.
@Suite struct HubFaultTests {
    /// Documents that clients have inserted, each under a new id.
    private struct Inserted {
        private(set) var documents: [(client: Int, hub: Int, commit: UInt64, id: String)] = []

        mutating func insert(_ scene: DocumentScene, _ client: Int, of hub: Int) throws {
            let id = "car \(documents.count)"
            try scene.execute(
                client, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
            documents.append((client, hub, scene.nodes[client].newestCommit, id))
        }

        /// Returns the ids of acknowledged documents.
        func acknowledged(_ scene: DocumentScene) -> [String] {
            documents.filter { document in
                scene.nodes[document.client].synced(with: scene.nodes[document.hub])
                    >= document.commit
            }
            .map { $0.id }
        }

        /// Returns the acknowledged documents that none of some hubs has.
        func lost(_ scene: DocumentScene, fromAll hubs: [Int]) throws -> [String] {
            try hubs.reduce(into: acknowledged(scene)) { lost, hub in
                let rows = try scene.rows(hub, "SELECT _id FROM cars")
                lost.removeAll { rows.contains("{\"_id\":\"\($0)\"}") }
            }
        }

        /// Returns the acknowledged documents that one of some hubs lacks.
        func lost(_ scene: DocumentScene, from hubs: [Int]) throws -> [String] {
            let acknowledged = acknowledged(scene)
            return try hubs.flatMap { hub in
                let rows = try scene.rows(hub, "SELECT _id FROM cars")
                return acknowledged.filter { !rows.contains("{\"_id\":\"\($0)\"}") }
                    .map { "\($0) at hub \(hub)" }
            }
        }
    }

    private func incidents(_ scene: DocumentScene, _ hub: Int) -> [ShardIncident.Kind] {
        scene.nodes[hub].replicator.hubStatus?.shards.flatMap(\.incidents).map(\.kind) ?? []
    }

    @Test func `a hub alone acknowledges only messages that it has read`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 1)
        var inserted = Inserted()
        log.undelivered = [0]
        try inserted.insert(scene, 1, of: 0)
        try scene.run(seconds: 15)
        #expect(inserted.acknowledged(scene) == [])
        log.undelivered = []
        try scene.run(seconds: 2)
        #expect(inserted.acknowledged(scene) == ["car 0"])
    }

    @Test func `a message that the engine has acknowledged and lost is not acknowledged`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        var inserted = Inserted()
        log.faults.losesEntry = 1_000
        try inserted.insert(scene, 2, of: 0)
        try scene.run(seconds: 5)
        log.faults.losesEntry = 0
        try scene.run(seconds: 15)
        #expect(inserted.acknowledged(scene) == [])
        // The engine stores the same message again once it has forgotten its id.
        log.forgetIDs()
        try scene.run(seconds: 15)
        #expect(inserted.acknowledged(scene) == ["car 0"])
        #expect(try inserted.lost(scene, from: [0, 1]) == [])
    }

    @Test func `a lost message is replaced when later ones arrive`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        var inserted = Inserted()
        log.faults.losesEntry = 1_000
        try inserted.insert(scene, 2, of: 0)
        try scene.run()
        log.faults.losesEntry = 0
        try inserted.insert(scene, 2, of: 0)
        try scene.run(seconds: 20)
        #expect(inserted.acknowledged(scene) == ["car 0", "car 1"])
        #expect(try inserted.lost(scene, from: [0, 1]) == [])
        #expect(incidents(scene, 0) == [] && incidents(scene, 1) == [])
    }

    @Test func `a hub that has read other entries confirms nothing`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        var inserted = Inserted()
        log.fork(for: [1])
        for _ in 0..<5 {
            try inserted.insert(scene, 3, of: 1)
            try scene.run(seconds: 1)
        }
        try inserted.insert(scene, 2, of: 0)
        try scene.run(seconds: 5)
        #expect(inserted.acknowledged(scene) == [])
        // With as many entries, their digests are compared.
        for _ in 0..<5 {
            try inserted.insert(scene, 2, of: 0)
            try scene.run(seconds: 1)
        }
        try scene.run(seconds: 60)
        #expect(inserted.acknowledged(scene) == [])
        #expect(incidents(scene, 0).contains(.fork) || incidents(scene, 0).contains(.truncation))
        #expect(!incidents(scene, 1).isEmpty)
    }

    @Test func `a hub confirms nothing if its digest is older than those kept`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.reader.digests = 2
        let scene = try DocumentScene.hubs(log, 2, feed: limits)
        var inserted = Inserted()
        log.fork(for: [1])
        // The first hub learns how far the other one has read once it has read more entries.
        log.faults.losesBroadcast = 1_000
        for _ in 0..<3 {
            try inserted.insert(scene, 3, of: 1)
            try scene.run(seconds: 1)
        }
        let before = try #require(scene.nodes[1].replicator.hubStatus).shards[0].progress.read
        for _ in 0..<8 {
            try inserted.insert(scene, 2, of: 0)
            try scene.run(steps: 40)
        }
        let after = try #require(scene.nodes[0].replicator.hubStatus).shards[0].progress.read
        #expect(after > before + 2)
        log.faults.losesBroadcast = 0
        try scene.run(seconds: 2)
        #expect(inserted.acknowledged(scene) == [])
    }

    @Test func `entries under the numbers of lost ones are an incident`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        var inserted = Inserted()
        for _ in 0..<5 {
            try inserted.insert(scene, 2, of: 0)
            try scene.run(seconds: 1)
        }
        #expect(inserted.acknowledged(scene).count == 5)
        log.truncate(0, by: 3)
        try inserted.insert(scene, 2, of: 0)
        try scene.run(seconds: 5)
        #expect(incidents(scene, 0) == [.truncation])
        // Entries above the former end are the same for both hubs.
        for _ in 0..<5 {
            try inserted.insert(scene, 2, of: 0)
            try scene.run(seconds: 5)
        }
        #expect(inserted.acknowledged(scene).count == 5)
        #expect(try inserted.lost(scene, from: [0, 1]) == [])
    }

    @Test func `a hub that was opened two seconds ago or less waits for the others`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        var inserted = Inserted()
        log.disconnect(0)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        try scene.subscribe(0, ["SELECT * FROM cars"])
        log.undelivered = [1]
        try scene.joinLog(0)
        try scene.run()
        try scene.connect(0, 2)
        try inserted.insert(scene, 2, of: 0)
        try scene.run()
        #expect(inserted.acknowledged(scene) == [])
        try scene.run(seconds: 5)
        #expect(inserted.acknowledged(scene) == [])
        log.undelivered = []
        try scene.run(seconds: 2)
        #expect(inserted.acknowledged(scene) == ["car 0"])
        #expect(try inserted.lost(scene, from: [0, 1]) == [])
    }

    @Test func `a group whose payloads had no room is read again, and applied whole`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        var limits = HubFeedLimits()
        limits.reader.stagedLength = 70_000
        try scene.share(log, among: [0, 1], limits: limits)
        try scene.run()
        // Random texts are not compressed.
        var random = SeededRandom(seed: 1, "texts")
        let documents = (0..<40).map { number in
            let text = random.bytes(3_000).map { String($0, radix: 16) }.joined()
            return "({'_id': 'car \(number)', 'text': '\(text)'})"
        }
        let list = documents.joined(separator: ", ")
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(list)"))
        for _ in 0..<300 {
            try scene.run(steps: 1)
            let count = try scene.rows(1, "SELECT _id FROM cars").count
            #expect(count == 0 || count == 40)
        }
        try scene.run(seconds: 10)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 40)
        #expect(try scene.content(of: 1) == scene.content(of: 0))
    }

    @Test func `documents of a hub whose clock is ahead wait, and are not lost`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(3)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.subscribe(2, ["SELECT * FROM cars"])
        for node in [0, 2] { scene.nodes[node].clock.advance(milliseconds: 480_000) }
        try scene.share(log, among: [0, 1])
        try scene.connect(0, 2)
        try scene.run(seconds: 3)
        var inserted = Inserted()
        try inserted.insert(scene, 2, of: 0)
        try scene.run(seconds: 60)
        #expect(try scene.rows(1, "SELECT _id FROM cars") == [])
        #expect(inserted.acknowledged(scene) == [])
        try scene.run(seconds: 90)
        #expect(inserted.acknowledged(scene) == ["car 0"])
        #expect(try inserted.lost(scene, from: [0, 1]) == [])
    }

    @Test func `a group that no hub can read is not passed over`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene.hubs(log, 2)
        let author = HubAuthor(site: Site(rawValue: 99), opening: 1)
        var chain = HubMessageChain(log: DocumentScene.logID, shard: 0, author: author)
        let messages = chain.messages(of: [1, 9], HubMessage.Extent(base: 0, commit: 1), .start)
        for message in messages { log.insert(message.bytes, into: 0) }
        var inserted = Inserted()
        try inserted.insert(scene, 2, of: 0)
        try scene.run(seconds: 20)
        for hub in 0..<2 {
            let status = try #require(scene.nodes[hub].replicator.hubStatus)
            #expect(!status.isReady && status.shards[0].isBlocked)
        }
        #expect(inserted.acknowledged(scene) == [])
    }

    @Test(arguments: 1...20)
    func `hubs whose log loses the beginning lose no acknowledged document`(_ seed: UInt64) throws {
        let log = LogDouble(seed: seed, .lasting)
        let scene = try DocumentScene.hubs(log, 2)
        var random = SeededRandom(seed: seed, "lasting faults")
        var inserted = Inserted()
        for _ in 0..<30 {
            let hub = random.below(2)
            try inserted.insert(scene, 2 + hub, of: hub)
            try scene.run(steps: random.below(30))
            #expect(try inserted.lost(scene, fromAll: [0, 1]) == [], "seed \(seed)")
        }
        log.faults = .transient
        try scene.run(seconds: 30)
        #expect(try inserted.lost(scene, from: [0, 1]) == [], "seed \(seed)")
    }

    @Test(arguments: 1...20)
    func `no acknowledged document is lost, whatever the log loses`(_ seed: UInt64) throws {
        let log = LogDouble(seed: seed)
        let scene = try DocumentScene.hubs(log, 2)
        log.faults = .lasting
        var random = SeededRandom(seed: seed, "lasting faults")
        var inserted = Inserted()
        for _ in 0..<30 {
            let hub = random.below(2)
            try inserted.insert(scene, 2 + hub, of: hub)
            try scene.run(steps: random.below(30))
            if random.chance(1, in: 6) { try scene.run(seconds: 1) }
            #expect(try inserted.lost(scene, from: [0, 1]) == [], "seed \(seed)")
        }
        log.faults = .transient
        try scene.run(seconds: 30)
        #expect(try inserted.lost(scene, from: [0, 1]) == [], "seed \(seed)")
        log.faults = LogDouble.Faults()
        log.forgetIDs()
        try scene.run(seconds: 100)
        #expect(try inserted.lost(scene, from: [0, 1]) == [], "seed \(seed)")
        let incidents = incidents(scene, 0) + incidents(scene, 1)
        if incidents.isEmpty {
            #expect(inserted.acknowledged(scene).count == 30, "seed \(seed)")
            #expect(try scene.checksums() == 1, "seed \(seed)")
        }
    }
}
