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

/// Objects of hub logs that are damaged, lost or no longer needed.
@Suite struct HubObjectTests {
    private static let all = "SELECT * FROM cars"
    private static let day: UInt64 = 24 * 3_600_000

    /// Returns two hubs with two snapshots.
    private func scene(
        _ log: LogDouble, _ settings: HubSettings = DocumentScene.quickSettings
    ) throws -> (DocumentScene, [SceneMaintenance]) {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [Self.all]) }
        var hubs = try scene.beginHubs(log, [0, 1], .single, settings)
        for round in 0..<2 {
            try insert(scene, round * 5..<round * 5 + 5)
            try scene.run(seconds: 10, &hubs)
        }
        return (scene, hubs)
    }

    private func insert(_ scene: DocumentScene, _ ids: Range<Int>) throws {
        for id in ids {
            try scene.execute(
                0, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'car \(id)'})"))
        }
    }

    private func snapshots(_ scene: DocumentScene) throws -> (newest: String, earlier: String) {
        let snapshots = try #require(try scene.configuration?.snapshots.first)
        let (newest, earlier) = (try #require(snapshots.newest), try #require(snapshots.earlier))
        return (HubObjectName.snapshot(newest), HubObjectName.snapshot(earlier))
    }

    private func verifies(_ events: [HubMaintenance.Event]) -> Bool {
        events.contains { if case .snapshot(.verified) = $0 { true } else { false } }
    }

    // MARK: Damage

    @Test(arguments: [true, false])
    func `a snapshot that is lost or damaged is replaced by another one`(_ isLost: Bool) throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        let names = try snapshots(scene)
        for name in [names.newest, names.earlier] {
            if isLost { log.objects.lose(name) } else { log.objects.damage(name) { $0[9] ^= 1 } }
        }
        // A hub that has a manifest in memory does not read it again.
        hubs = [scene.maintenance(0), scene.maintenance(1)]
        try insert(scene, 20..<25)
        #expect(verifies(try scene.run(seconds: 10, &hubs)))
        let third = try DocumentScene.hub(beside: scene, 2)
        hubs.append(third)
        try scene.run(seconds: 10, &hubs)
        #expect(try scene.states(of: 2) == scene.states(of: 0))
    }

    @Test func `a hub whose log contradicts itself replaces it without the earlier snapshot`()
        throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        log.objects.lose(try snapshots(scene).earlier)
        log.truncate(0, by: 3)
        try insert(scene, 20..<25)
        try scene.run(seconds: 25, &hubs)
        #expect(try scene.configuration?.number == 2)
        try insert(scene, 30..<31)
        try scene.run(seconds: 5, &hubs)
        #expect(try scene.states(of: 1) == scene.states(of: 0))
    }

    @Test func `a hub starts with the newest snapshot if the earlier one is lost`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        log.objects.lose(try snapshots(scene).earlier)
        log.disconnect(1)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.subscribe(1, [Self.all])
        hubs[1] = scene.maintenance(1)
        try scene.run(seconds: 10, &hubs)
        #expect(scene.nodes[1].replicator.hasCaughtUpWithHubs)
        #expect(try scene.states(of: 1) == scene.states(of: 0))
    }

    @Test func `a damaged part is stored anew by the next snapshot`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, [Self.all]) }
        var hubs = try scene.beginHubs(log, [0, 1])
        try insert(scene, 0..<5)
        try scene.run(seconds: 2)
        var first = HubSnapshots(SceneHub(scene, 0), scene.file, DocumentScene.quickSettings)
        let now = scene.nodes[0].store.queries.options.clock.wallMilliseconds()
        _ = try first.write(0, at: now)
        for name in log.objects.names where name.hasPrefix(HubObjectName.parts) {
            log.objects.damage(name) { $0[$0.count / 2] ^= 1 }
        }
        // The documents are the same, and so is the name of the part.
        let events = try scene.run(seconds: 5, &hubs)
        #expect(events.contains { if case .snapshot(.refused) = $0 { true } else { false } })
        #expect(verifies(events))
    }

    // MARK: Removing

    /// If the newest one alone cannot be read, the earlier one takes its place.
    @Test(arguments: [[true, true], [false, true]])
    func `nothing is removed while a snapshot that is used cannot be read`(
        _ areHidden: [Bool]
    ) throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        settings.supersededMilliseconds = 0
        var (scene, hubs) = try scene(log, settings)
        let names = log.objects.names
        let used = try snapshots(scene)
        let hidden = zip([used.newest, used.earlier], areHidden).filter(\.1).map(\.0)
        log.objects.hide(Set(hidden))
        // No other snapshot replaces them.
        settings.snapshotLength = .max
        hubs = [scene.maintenance(0, settings), scene.maintenance(1, settings)]
        try scene.run(seconds: 5, &hubs)
        #expect(log.objects.names == names)
    }

    @Test func `a superseded snapshot is removed after an hour, and its parts later`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        settings.supersededMilliseconds = 30_000
        var (scene, hubs) = try scene(log, settings)
        let first = try snapshots(scene).earlier
        let object = try log.objects.object(first, limit: 1 << 20)
        let manifest = try object.span.withUnsafeBytes { try SnapshotManifest(decoding: $0) }
        try insert(scene, 20..<25)
        try scene.run(seconds: 10, &hubs)
        #expect(log.objects.names.contains(first))
        let part = HubObjectName.part(try #require(manifest.parts.first).hash)
        var order: [String] = []
        for event in try scene.run(seconds: 40, &hubs) {
            if case .snapshot(.removed(let name)) = event { order.append(name) }
        }
        #expect(order.firstIndex(of: first) ?? .max < order.firstIndex(of: part) ?? -1)
        #expect(!log.objects.names.contains(part))
    }

    @Test func `a part that a new snapshot shares with an old one remains`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        (settings.supersededMilliseconds, settings.partLength) = (0, 100)
        var (scene, hubs) = try scene(log, settings)
        for round in 2..<8 {
            try insert(scene, round * 5..<round * 5 + 5)
            try scene.run(seconds: 10, &hubs)
            for name in [try snapshots(scene).newest, try snapshots(scene).earlier] {
                let object = try log.objects.object(name, limit: 1 << 20)
                let manifest = try object.span.withUnsafeBytes {
                    try SnapshotManifest(decoding: $0)
                }
                try SnapshotReader.verify(manifest, .single, from: log.objects)
            }
        }
    }

    @Test func `a replaced log is kept for a week from its replacement`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try scene.advance(milliseconds: 10 * Self.day)
        try scene.run(seconds: 3, &hubs)
        _ = try hubs[0].replace()
        try scene.run(seconds: 15, &hubs)
        for days in 1...6 {
            try scene.advance(milliseconds: Self.day)
            try scene.run(seconds: 3, &hubs)
            #expect(log.objects.created.contains(DocumentScene.logID), "after \(days) days")
        }
        // Another hub knows the time from the objects.
        hubs = [scene.maintenance(0), scene.maintenance(1)]
        try scene.advance(milliseconds: 2 * Self.day)
        try scene.run(seconds: 3, &hubs)
        let new = try #require(try scene.configuration).log
        #expect(log.objects.created == [new])
        try scene.advance(milliseconds: Self.day)
        try scene.run(seconds: 3, &hubs)
        #expect(log.objects.names.allSatisfy { !$0.hasPrefix(HubObjectName.ends) })
    }

    // MARK: Writing

    @Test func `snapshots have a least interval`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        settings.leastMilliseconds = 600_000
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, [Self.all]) }
        var hubs = try scene.beginHubs(log, [0, 1], .single, settings)
        var written = 0
        for round in 0..<6 {
            try insert(scene, round * 5..<round * 5 + 5)
            let events = try scene.run(seconds: 10, &hubs)
            written += events.count { if case .snapshot(.written) = $0 { true } else { false } }
        }
        #expect(written == 1)
    }

    @Test func `a hub that does not follow does not keep others from writing snapshots`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [Self.all]) }
        let keys = (0..<3).sorted {
            scene.nodes[$0].key.lexicographicallyPrecedes(scene.nodes[$1].key)
        }
        // Its mark does not arrive, so it has not caught up.
        log.undelivered = [keys[0]]
        var hubs = try scene.beginHubs(log, [0, 1, 2])
        try scene.execute(
            keys[1], DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'a'})"))
        #expect(verifies(try scene.run(seconds: 20, &hubs)))
    }
}
