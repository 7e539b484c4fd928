import Sheaf
import SheafMesh
import SheafReplication
import SheafTestSupport
import Testing

/// Clients of a hub whose engine stores nothing for a time.
@Suite struct HubBackpressureTests {
    private static let limit = 256 << 10
    /// The credit with which a client begins, and more, since documents are longer than segments.
    private static let credit = 5 << 20

    /// Returns hubs from 0 on, and one client more.
    private func scene(_ log: LogDouble, hubs: Int) throws -> DocumentScene {
        let scene = try DocumentScene(hubs + 2)
        for number in 0..<hubs + 2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        var limits = HubFeedLimits()
        limits.pendingBytes = Self.limit
        try scene.share(log, among: Array(0..<hubs), limits: limits)
        try scene.run()
        try scene.connect(0, hubs)
        try scene.run(seconds: 3)
        return scene
    }

    /// A text that hardly compresses, and longer than the distance that compression looks back.
    private static let text: String = {
        var random = SeededRandom(seed: 1, "contents")
        return (0..<8_000).map { _ in String(random.next(), radix: 36) }.joined()
    }()

    /// Inserts documents that hardly compress, each in a commit.
    private func insert(_ scene: DocumentScene, _ number: Int, _ ids: Range<Int>) throws {
        for id in ids {
            try scene.execute(
                number, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .string("car \(id)"), "text": .string(Self.text)] as Value])
            try scene.run()
        }
    }

    private func count(_ scene: DocumentScene, _ number: Int) throws -> Int {
        try scene.rows(number, "SELECT _id FROM cars").count
    }

    private func progress(_ scene: DocumentScene, _ hub: Int) throws -> HubProgress {
        try #require(scene.nodes[hub].replicator.hubProgress)
    }

    @Test func `a hub whose engine stores nothing holds its clients, and everything else goes on`()
        throws
    {
        let log = LogDouble(seed: 1)
        let scene = try scene(log, hubs: 1)
        try insert(scene, 1, 0..<1)
        #expect(try progress(scene, 0).heldNanoseconds == nil)
        log.isStopped = true
        try insert(scene, 1, 1..<80)
        let arrived = try count(scene, 0)
        #expect(arrived > 2 && arrived < 80)
        try scene.run(seconds: 20)
        #expect(try count(scene, 0) == arrived)
        let held = try progress(scene, 0)
        #expect(held.pendingLength > Self.limit && held.pendingLength < Self.limit + Self.credit)
        #expect(try #require(held.heldNanoseconds) >= 20_000_000_000)
        // The client receives documents, also of a new subscription.
        try scene.execute(0, "INSERT INTO notes DOCUMENTS ({'_id': 'a'})")
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM notes"])
        try scene.run(seconds: 1)
        #expect(try scene.rows(1, "SELECT * FROM notes").count == 1)
        // A client that connects now receives everything, and is held, too.
        try scene.connect(0, 2)
        try scene.run(seconds: 5)
        #expect(try count(scene, 2) == arrived)
        try insert(scene, 2, 100..<180)
        try scene.run(seconds: 5)
        #expect(try progress(scene, 0).pendingLength < Self.limit + 2 * Self.credit)
        #expect(try count(scene, 0) < arrived + 80)
        #expect(scene.nodes[1].synced(with: scene.nodes[0]) < scene.nodes[1].newestCommit)

        log.isStopped = false
        try scene.run(seconds: 20)
        let free = try progress(scene, 0)
        #expect(free.heldNanoseconds == nil && free.pendingLength == 0)
        #expect(try count(scene, 0) == 160)
        #expect(try scene.checksums() == 1)
        for client in [1, 2] {
            let client = scene.nodes[client]
            #expect(client.synced(with: scene.nodes[0]) == client.newestCommit)
        }
    }

    @Test func `a client that leaves a hub while it is held loses nothing`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log, hubs: 2)
        log.isolate(0)
        try insert(scene, 2, 0..<80)
        #expect(try progress(scene, 0).heldNanoseconds != nil)
        #expect(try count(scene, 0) < 80)
        try scene.disconnectAll(of: 2)
        try scene.connect(1, 2)
        try scene.run(seconds: 15)
        #expect(try count(scene, 1) == 80)
        let client = scene.nodes[2]
        #expect(client.synced(with: scene.nodes[1]) == client.newestCommit)
        log.rejoin(0)
        try scene.run(seconds: 15)
        #expect(try progress(scene, 0).heldNanoseconds == nil)
        #expect(try count(scene, 0) == 80)
    }

    @Test func `a held client continues within a commit that is longer than its credit`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log, hubs: 1)
        try insert(scene, 1, 0..<60)
        log.isStopped = true
        try insert(scene, 1, 60..<65)
        #expect(try progress(scene, 0).heldNanoseconds != nil)
        try scene.execute(1, "UPDATE cars SET copy = text")
        try scene.run(seconds: 5)
        #expect(try count(scene, 0) == 65)
        #expect(try scene.rows(0, "SELECT _id FROM cars WHERE copy = text").isEmpty)
        log.isStopped = false
        try scene.run(seconds: 10)
        #expect(try scene.rows(0, "SELECT _id FROM cars WHERE copy = text").count == 65)
        #expect(scene.nodes[1].synced(with: scene.nodes[0]) == scene.nodes[1].newestCommit)
    }
}
