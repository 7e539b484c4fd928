import Sheaf
import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafTestSupport
import Testing

/// Which hub replaces a log, and what it must have for that.
@Suite struct HubChoiceTests {
    private static let all = "SELECT * FROM cars"

    /// Returns hubs from 0 on with one client, the last node.
    private func scene(
        _ log: LogDouble, _ count: Int = 2, _ map: ShardMap = .single
    ) throws -> (DocumentScene, [SceneMaintenance]) {
        let scene = try DocumentScene(count + 1)
        for number in 0...count { try scene.subscribe(number, [Self.all]) }
        var hubs = try scene.beginHubs(log, Array(0..<count), map)
        try scene.connect(0, count)
        for id in 0..<5 { try insert(scene, count, "a\(id)") }
        try scene.run(seconds: 2, &hubs)
        return (scene, hubs)
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ id: String) throws {
        try scene.execute(number, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
    }

    private func replaces(_ events: [HubMaintenance.Event]) -> Bool {
        events.contains { if case .replaces = $0 { true } else { false } }
    }

    /// Ends a hub, and opens its store again.
    private func restart(_ scene: DocumentScene, _ number: Int) throws {
        scene.log?.disconnect(number)
        try scene.putBack(number, to: scene.nodes[number].volume.processDeath())
        try scene.subscribe(number, [Self.all])
    }

    @Test func `a hub that has not read the log replaces it only if forced`() throws {
        let log = LogDouble(seed: 1)
        let (scene, _) = try scene(log)
        try restart(scene, 1)
        log.undelivered.insert(1)
        var hub = scene.maintenance(1)
        #expect(throws: SnapshotFailure.self) { try hub.replace() }
        _ = try hub.step()
        try scene.run(seconds: 12)
        let failure = #expect(throws: SnapshotFailure.self) { try hub.replace() }
        #expect(failure.map { "\($0)" }?.contains("--force") == true)
        #expect(try scene.configuration?.replacement == nil)
        #expect(replaces(try hub.replace(isForced: true)))
        #expect(try scene.configuration?.number == 2)
    }

    @Test func `a hub whose store never followed the log does not finish its replacement`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log, 1)
        hubs[0].log.onReplacementStep = { (step) throws(SnapshotFailure) in
            if step == .stopped { throw .stopped }
        }
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        let empty = try DocumentScene.hub(beside: scene, 1)
        var others = [empty]
        try scene.run(seconds: 300, &others)
        #expect(try scene.configuration?.log == DocumentScene.logID)
        // The one that began goes on after a restart.
        try restart(scene, 0)
        hubs = [scene.maintenance(0), others[0]]
        try scene.run(seconds: 20, &hubs)
        #expect(try scene.configuration?.number == 2)
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":5}"])
    }

    @Test func `a hub that was started during a replacement takes over 60 s later`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        hubs[0].log.onReplacementStep = { (step) throws(SnapshotFailure) in
            if step == .stopped { throw .stopped }
        }
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        try restart(scene, 1)
        var others = [scene.maintenance(1)]
        #expect(!replaces(try scene.run(seconds: 100, &others)))
        #expect(replaces(try scene.run(seconds: 40, &others)))
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":5}"])
    }

    @Test func `a hub that works on many shards is not taken over`() throws {
        let log = LogDouble(seed: 1)
        let map = try ShardMap(shardCount: 8, splitCollections: ["cars"])
        var (scene, hubs) = try scene(log, 2, map)
        var second = hubs[1]
        var others: [HubMaintenance.Event] = []
        hubs[0].log.onReplacementStep = { step in
            guard step == .written else { return }
            try? scene.advance(milliseconds: 20_000)
            others += (try? second.log.step()) ?? []
        }
        let events = try hubs[0].replace()
        #expect(replaces(events))
        #expect(others.count { $0.isWaiting } == 8 && others.count == 8)
        #expect(try scene.configuration?.number == 2)
    }

    @Test func `a hub that cannot finish leaves the replacement to another one, and no log`() throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        hubs[0].log.onReplacementStep = { (step) throws(SnapshotFailure) in
            if step == .created { throw .tooLarge(parts: 1) }
        }
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        #expect(log.objects.created == [DocumentScene.logID])
        // It does not begin anew at once.
        let events = try hubs[0].step()
        #expect(events.count { $0.isWaiting } == 1 && events.count == 1)
        #expect(replaces(try hubs[1].step()))
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.configuration?.number == 2)
        #expect(try scene.checksums() == 1)
    }

    @Test func `an older configuration is not obeyed`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        let old = try #require(try log.objects.load("config"))
        _ = try hubs[0].replace()
        try scene.run(seconds: 15, &hubs)
        let new = try #require(try scene.configuration).log
        let revision = try log.objects.load("config")?.revision
        #expect(try log.objects.replace("config", with: old.bytes, at: revision) == .replaced)
        for index in hubs.indices {
            #expect(throws: SnapshotFailure.self) { try hubs[index].step() }
            #expect(scene.nodes[index].replicator.hubView?.log == new)
        }
        #expect(replaces(try hubs[1].replace(isForced: true)))
        #expect(try scene.configuration?.number == 3)
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.checksums() == 1)
    }

    @Test func `a configuration that the engine has lost is restored on request`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        log.objects.lose("config")
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        #expect(try scene.configuration == nil)
        #expect(replaces(try hubs[0].replace(isForced: true)))
        #expect(try scene.configuration?.number == 2)
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.checksums() == 1)
    }

    @Test func `the documents of the new log are acknowledged once another hub has them`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        _ = try hubs[0].replace()
        let progress = scene.nodes[0].replicator.hubProgress
        #expect(progress?.hubDurable == 0)
        try scene.run(seconds: 15, &hubs)
        let later = try #require(scene.nodes[0].replicator.hubProgress)
        #expect(later.hubDurable == later.commit)
    }
}

extension DocumentScene {
    /// Makes a node a hub of the log of a scene; returns its maintenance.
    static func hub(beside scene: DocumentScene, _ number: Int) throws -> SceneMaintenance {
        if !scene.hubs.contains(number) { scene.hubs.append(number) }
        return scene.maintenance(number)
    }
}
