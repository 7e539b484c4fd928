import Sheaf
import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafSystem
import SheafTestSupport
import Testing

/// The times after which a hub trims or replaces a log, or removes a file, to the millisecond.
@Suite struct HubMaintenanceTimeTests {
    /// Returns hubs without clients, which have read the log to its end.
    private func scene(
        _ log: LogDouble, _ count: Int = 1, _ settings: HubSettings = DocumentScene.quickSettings
    ) throws -> (DocumentScene, [SceneMaintenance]) {
        let scene = try DocumentScene(count)
        for number in 0..<count { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        var hubs = try scene.beginHubs(log, Array(0..<count), .single, settings)
        try insert(scene, 0, ["a", "b", "c"])
        try scene.run(seconds: 3, &hubs)
        return (scene, hubs)
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ ids: [String]) throws {
        for id in ids {
            try scene.execute(
                number, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
        }
        try scene.run()
    }

    /// Drops the last entries of the log, and appends another entry.
    private func truncate(_ scene: DocumentScene, _ log: LogDouble, by count: Int = 2) throws {
        log.truncate(0, by: count)
        try insert(scene, 0, ["late"])
        let incidents = scene.nodes[0].replicator.hubView?.shards.first?.incidents
        #expect(incidents?.isEmpty == false)
    }

    private func time(_ scene: DocumentScene) -> UInt64 {
        scene.nodes[0].clock.clock.wallMilliseconds()
    }

    /// Performs a step of a hub, and expects that it replaces the log, or does not.
    private func expect(
        _ replaces: Bool, by hub: inout SceneMaintenance,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let events = try hub.log.step()
        let found = events.contains { if case .replaces = $0 { true } else { false } }
        #expect(found == replaces, sourceLocation: location)
    }

    @Test func `entries are removed one hour after the earlier snapshot`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        settings.trimMilliseconds = HubSettings().trimMilliseconds
        var (scene, hubs) = try scene(log, 1, settings)
        try insert(scene, 0, ["d"])
        try scene.run(seconds: 5, &hubs)
        let snapshots = try #require(try scene.configuration?.snapshots.first)
        let earlier = try SnapshotManifest.load(
            try #require(snapshots.earlier), from: log.objects)
        let shard = HubShard(0, of: DocumentScene.logID)
        let age = time(scene) - earlier.wallMilliseconds
        try scene.advance(milliseconds: 3_599_999 - age)
        _ = try hubs[0].snapshots.step()
        #expect(log.objects.trimmed(shard) == 1)
        try scene.advance(milliseconds: 1)
        _ = try hubs[0].snapshots.step()
        #expect(log.objects.trimmed(shard) == earlier.position.entry + 1)
    }

    @Test func `entries that could not be removed are removed a minute later`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, ["d"])
        try scene.run(seconds: 5, &hubs)
        let snapshots = try #require(try scene.configuration?.snapshots.first)
        let earlier = try SnapshotManifest.load(
            try #require(snapshots.earlier), from: log.objects)
        let shard = HubShard(0, of: DocumentScene.logID)
        log.objects.failTrims(true)
        let age = time(scene) - earlier.wallMilliseconds
        try scene.advance(milliseconds: DocumentScene.quickSettings.trimMilliseconds - age)
        let hasFailed = try hubs[0].snapshots.step().contains { event in
            if case .untrimmed = event { true } else { false }
        }
        #expect(hasFailed)
        log.objects.failTrims(false)
        try scene.advance(milliseconds: 59_999)
        _ = try hubs[0].snapshots.step()
        #expect(log.objects.trimmed(shard) == 1)
        try scene.advance(milliseconds: 1)
        _ = try hubs[0].snapshots.step()
        #expect(log.objects.trimmed(shard) == earlier.position.entry + 1)
    }

    // MARK: Replacing

    @Test func `a log with an incident is replaced five seconds after a hub has found it`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try truncate(scene, log)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 4_999)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 1)
        try expect(true, by: &hubs[0])
    }

    @Test func `a hub waits twice as long while another one has stored more`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        settings.incidentMilliseconds = 2_000
        var (scene, hubs) = try scene(log, 2, settings)
        log.undelivered = [0]
        try insert(scene, 1, ["d", "e"])
        try scene.run(seconds: 2)
        // The other hub counts as live for longer than this one waits.
        log.isolate(1)
        try truncate(scene, log, by: 4)
        #expect(scene.nodes[0].replicator.hubView?.hasMostStored == false)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 3_999)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[0].replicator.hubView?.hasMostStored == false)
        try expect(true, by: &hubs[0])
    }

    /// Its own mark has the number of an entry that it has read, and is not delivered.
    @Test(arguments: [1, 2])
    func `a hub opened on a shortened log replaces it after a minute, unless another one reads it`(
        _ count: Int
    ) throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        settings.snapshotLength = .max
        var (scene, hubs) = try scene(log, count, settings)
        for number in 0..<10 { try insert(scene, 0, ["d\(number)"]) }
        try scene.run(seconds: 3, &hubs)
        log.disconnect(0)
        try #require(log.count >= 10)
        log.truncate(0, by: log.count - 2)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        try scene.subscribe(0, ["SELECT * FROM cars"])
        hubs[0] = scene.maintenance(0, settings)
        try expect(false, by: &hubs[0])
        try scene.run()
        let incidents = scene.nodes[0].replicator.hubView?.shards.first?.incidents
        #expect(incidents?.first?.kind == .truncation)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 59_999)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[0].replicator.hubView?.others.count == count - 1)
        #expect(scene.nodes[0].replicator.hubView?.hasCaughtUp == false)
        try expect(count == 1, by: &hubs[0])
    }

    @Test func `a hub begins two replacements at least a minute apart`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        let start = time(scene)
        _ = try hubs[0].replace()
        try scene.run(seconds: 15, &hubs)
        try insert(scene, 0, ["d", "e", "f"])
        try truncate(scene, log)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: start + 59_999 - time(scene))
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 1)
        try expect(true, by: &hubs[0])
    }

    @Test func `a hub that could not finish a replacement begins anew after a minute`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        hubs[0].log.onReplacementStep = { (step) throws(SnapshotFailure) in
            if step == .created { throw .tooLarge(parts: 1) }
        }
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        hubs[0].log.onReplacementStep = { _ in }
        try scene.advance(milliseconds: 59_999)
        try expect(false, by: &hubs[0])
        try scene.advance(milliseconds: 1)
        try expect(true, by: &hubs[0])
    }

    @Test(arguments: [false, true])
    func `a hub takes over after a minute, and one that was started since after another one`(
        _ isStarted: Bool
    ) throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log, 2)
        hubs[0].log.onReplacementStep = { (step) throws(SnapshotFailure) in
            if step == .announced { throw .stopped }
        }
        #expect(throws: SnapshotFailure.self) { try hubs[0].replace() }
        if isStarted {
            log.disconnect(1)
            try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
            try scene.subscribe(1, ["SELECT * FROM cars"])
            hubs[1] = scene.maintenance(1)
        }
        try expect(false, by: &hubs[1])
        try scene.advance(milliseconds: isStarted ? 119_999 : 59_999)
        try expect(false, by: &hubs[1])
        try scene.advance(milliseconds: 1)
        try expect(true, by: &hubs[1])
    }

    // MARK: Files

    @Test func `a file that no document references is removed after seven days`() throws {
        let log = LogDouble(seed: 1)
        let (scene, _) = try scene(log)
        let file = SampleFile(seed: 1, length: 100)
        try log.objects.put(HubObjectName.file(file.id), [1])
        var settings = DocumentScene.quickSettings
        settings.removalMilliseconds = HubSettings().removalMilliseconds
        var files = HubFiles(SceneHub(scene, 0), log.objects, settings)
        #expect(try files.step() == [])
        let end = time(scene) + 7 * 24 * 3_600_000
        try scene.advance(milliseconds: end - time(scene) - 2_001)
        // The store has what was appended meanwhile.
        try scene.run(seconds: 2)
        #expect(time(scene) == end - 1)
        #expect(try files.step() == [])
        try scene.advance(milliseconds: 1)
        #expect(try files.step() == [.removed(file.id)])
        #expect(!log.objects.names.contains(HubObjectName.file(file.id)))
    }

    @Test func `a comparison of files and documents that failed is repeated after a minute`()
        throws
    {
        let log = LogDouble(seed: 1)
        let (scene, _) = try scene(log)
        let file = SampleFile(seed: 1, length: 100)
        try log.objects.put(HubObjectName.file(file.id), [1])
        var settings = DocumentScene.quickSettings
        settings.removalMilliseconds = 0
        var files = HubFiles(SceneHub(scene, 0), log.objects, settings)
        log.objects.failWrites(after: 0)
        #expect(throws: SnapshotFailure.self) { try files.step() }
        log.objects.failWrites(after: nil)
        try scene.advance(milliseconds: 59_999)
        #expect(try files.step() == [])
        try scene.advance(milliseconds: 1)
        #expect(try files.step() == [.removed(file.id)])
    }
}
