import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Hubs that were away, and documents that the log has or has not deleted meanwhile.
@Suite struct HubAbsenceTests {
    private static let all = "SELECT * FROM cars"
    private static let hour: UInt64 = 3_600_000

    /// Returns two hubs, 0 and 1, a client of hub 1, and a node that may become a hub.
    private func scene(_ log: LogDouble) throws -> (DocumentScene, [SceneMaintenance]) {
        let scene = try DocumentScene(4)
        for number in 0..<4 { try scene.subscribe(number, [Self.all]) }
        let hubs = try scene.beginHubs(log, [0, 1])
        try scene.connect(1, 2)
        try scene.run()
        return (scene, hubs)
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ ids: Range<Int>) throws {
        for id in ids {
            try scene.execute(
                number, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'car \(id)'})"))
        }
    }

    private func count(_ scene: DocumentScene, _ number: Int) throws -> [String] {
        try scene.rows(number, "SELECT COUNT(*) AS n FROM cars")
    }

    /// Ends a hub, and opens its store again.
    private func restart(_ scene: DocumentScene, _ number: Int) throws {
        scene.log?.disconnect(number)
        try scene.putBack(number, to: scene.nodes[number].volume.processDeath())
        try scene.subscribe(number, [Self.all])
    }

    /// Lets hours pass, in which the hubs read what is appended.
    private func pass(hours: Int, _ scene: DocumentScene) throws {
        for _ in 0..<hours {
            try scene.advance(milliseconds: Self.hour)
            try scene.run(seconds: 2)
        }
    }

    /// Removes the tombstones of a node that are older than a week.
    private func collect(_ scene: DocumentScene, _ number: Int) throws {
        let store = scene.nodes[number].store
        let now = store.queries.options.clock.wallMilliseconds()
        _ = try store.queries.documents.collectTombstones(
            before: now - 168 * Self.hour, limit: 1_000
        ) { (batch) throws(StorageError) in try store.engine.append(batch) }
        try store.flush()
        try scene.published(number)
    }

    @Test func `documents that a hub lacks which replaces an idle log are appended by others`()
        throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, 0..<3)
        try scene.run(seconds: 3, &hubs)
        // Hub 0 does not get what hub 1 appends now.
        log.undelivered.insert(0)
        try insert(scene, 1, 3..<6)
        try pass(hours: 100, scene)
        #expect(try count(scene, 0) == ["{\"n\":3}"])
        _ = try hubs[0].replace()
        log.undelivered = []
        try scene.run(seconds: 15, &hubs)
        #expect(try count(scene, 0) == ["{\"n\":6}"])
        #expect(try scene.states(of: 1) == scene.states(of: 0))
    }

    @Test func `the time in the store shows how long a hub was away, also if nothing is written`()
        throws
    {
        let log = LogDouble(seed: 1)
        let (scene, _) = try scene(log)
        func age(_ number: Int) throws -> UInt64? {
            let queries = scene.nodes[number].store.queries
            let stored = try queries.documents.snapshot().storedShard(0)
            return stored.map { queries.options.clock.wallMilliseconds() - $0.wallMilliseconds }
        }
        try pass(hours: 10, scene)
        for number in 0..<2 { #expect(try age(number) ?? .max < 2 * Self.hour) }
        log.isolate(1)
        try insert(scene, 1, 0..<3)
        try pass(hours: 10, scene)
        #expect(try age(0) ?? .max < 2 * Self.hour)
        #expect(try age(1) ?? 0 > 9 * Self.hour)
    }

    @Test func `a client does not send back a document that its hub has evicted`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, 0..<20)
        try scene.run(seconds: 3, &hubs)
        #expect(try count(scene, 2) == ["{\"n\":20}"])
        log.isolate(1)
        for id in 3..<9 {
            try scene.execute(0, DQL(verbatim: "DELETE FROM cars WHERE _id = 'car \(id)'"))
        }
        try pass(hours: 200, scene)
        try collect(scene, 0)
        var first = [hubs[0]]
        try scene.run(seconds: 15, &first)
        try insert(scene, 0, 100..<105)
        try scene.run(seconds: 80, &first)
        hubs[0] = first[0]
        #expect(log.objects.trimmed(HubShard(0, of: DocumentScene.logID)) > 20)
        // The client has lost its connection in all these hours.
        try scene.connect(1, 2)
        try scene.run()
        log.rejoin(1)
        try insert(scene, 0, 200..<202)
        let events = try scene.run(seconds: 20, &hubs)
        #expect(events.contains { if case .shared(_, 10...) = $0 { true } else { false } })
        #expect(try count(scene, 0) == ["{\"n\":21}"])
        #expect(try count(scene, 1) == ["{\"n\":21}"])
        #expect(try scene.states(of: 1) == scene.states(of: 0))
        // The client keeps the evicted documents, and receives those that its hub has loaded.
        #expect(try count(scene, 2) == ["{\"n\":27}"])
    }

    @Test func `a store of another log appends everything to one without snapshots`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, 0..<5)
        try insert(scene, 1, 5..<10)
        try scene.run(seconds: 3, &hubs)
        // As after the removal of the configuration and the log; hub 0 does not return.
        let other = HubLogID(low: 70, high: 80)
        let old = try #require(try scene.configuration)
        let new = HubConfiguration(
            database: old.database, log: other, number: 2, map: old.map, snapshots: [.init()])
        try log.objects.create(other, shardCount: 1)
        let revision = try log.objects.load("config")?.revision
        #expect(try log.objects.replace("config", with: new.bytes, at: revision) == .replaced)
        log.isolate(0)
        try restart(scene, 1)
        hubs = [scene.maintenance(1)]
        try scene.run(seconds: 5, &hubs)
        hubs.append(try DocumentScene.hub(beside: scene, 3))
        try scene.run(seconds: 10, &hubs)
        #expect(try count(scene, 3) == ["{\"n\":10}"])
        let appended = log.count
        // Documents that were received from this log are not appended again.
        try restart(scene, 3)
        hubs[1] = scene.maintenance(3)
        try scene.run(seconds: 10, &hubs)
        #expect(log.count <= appended + 1)
    }
}
