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

/// Snapshots of the documents of hubs: written, verified, loaded, and used to trim the log.
@Suite struct HubSnapshotTests {
    private static let all = "SELECT * FROM cars"
    private static let hour: UInt64 = 3_600_000

    /// Returns three nodes; the first two are hubs.
    private func scene(
        _ log: LogDouble, _ map: ShardMap = .single,
        _ settings: HubSettings = DocumentScene.quickSettings
    ) throws -> (DocumentScene, [SceneMaintenance]) {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, [Self.all]) }
        return (scene, try scene.beginHubs(log, [0, 1], map, settings))
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ ids: Range<Int>) throws {
        for id in ids {
            try scene.execute(
                number,
                DQL(
                    verbatim: "INSERT INTO cars DOCUMENTS "
                        + "({'_id': 'car \(id)', 'n': \(id), 'by': 'node \(number)'})"))
        }
    }

    private func delete(_ scene: DocumentScene, _ number: Int, _ ids: Range<Int>) throws {
        for id in ids {
            try scene.execute(number, DQL(verbatim: "DELETE FROM cars WHERE _id = 'car \(id)'"))
        }
    }

    /// Removes the tombstones of a node that are older than a time.
    private func collect(_ scene: DocumentScene, _ number: Int, olderThan age: UInt64) throws {
        let store = scene.nodes[number].store
        let now = store.queries.options.clock.wallMilliseconds()
        _ = try store.queries.documents.collectTombstones(before: now - age, limit: 1_000) {
            (batch) throws(StorageError) in try store.engine.append(batch)
        }
        try store.flush()
        try scene.published(number)
    }

    private func snapshotEvents(_ events: [HubMaintenance.Event]) -> [HubSnapshots.Event] {
        events.compactMap { event in
            if case .snapshot(let event) = event { return event }
            return nil
        }
    }

    private func manifest(_ scene: DocumentScene, _ hash: XXH3.Hash128?) throws -> SnapshotManifest
    {
        let objects = try #require(scene.log?.objects)
        return try SnapshotManifest.load(try #require(hash), from: objects)
    }

    /// Returns the number of documents that a node loaded when it became a hub.
    private func join(
        _ scene: DocumentScene, _ number: Int, _ hubs: inout [SceneMaintenance],
        _ settings: HubSettings = DocumentScene.quickSettings
    ) throws -> Int {
        if !scene.hubs.contains(number) { scene.hubs.append(number) }
        var maintenance = scene.maintenance(number, settings)
        let events = try maintenance.step()
        hubs.append(maintenance)
        guard case .shared(_, let count)? = events.first else { return -1 }
        return count
    }

    // MARK: Writing and loading

    @Test func `an empty hub loads a snapshot, and reads the entries after it`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, 0..<20)
        try insert(scene, 1, 20..<40)
        try scene.run(seconds: 1)
        try delete(scene, 1, 5..<8)
        let events = snapshotEvents(try scene.run(seconds: 10, &hubs))
        #expect(events.contains { if case .written = $0 { true } else { false } })
        #expect(events.contains { if case .verified = $0 { true } else { false } })
        try insert(scene, 1, 40..<45)
        try delete(scene, 0, 10..<12)
        try scene.run(seconds: 1)
        // Tombstones are documents of a snapshot.
        #expect(try join(scene, 2, &hubs) == 40)
        try scene.run(seconds: 5, &hubs)
        #expect(try scene.states(of: 2) == scene.states(of: 0))
        #expect(try scene.states(of: 1) == scene.states(of: 0))
        #expect(try scene.rows(2, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":40}"])
    }

    @Test func `a snapshot of many parts has all documents of its shard`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        (settings.partLength, settings.commitLength) = (200, 400)
        let map = try ShardMap(shardCount: 4, splitCollections: ["cars"])
        var (scene, hubs) = try scene(log, map, settings)
        try insert(scene, 0, 0..<60)
        try delete(scene, 0, 7..<17)
        try scene.run(seconds: 10, &hubs)
        let configuration = try #require(try scene.configuration)
        let manifests = try configuration.snapshots.map { try manifest(scene, $0.newest) }
        #expect(manifests.allSatisfy { $0.parts.count > 1 })
        #expect(manifests.reduce(0) { $0 + $1.documentCount } == 60)
        #expect(try join(scene, 2, &hubs, settings) == 60)
        try scene.run(seconds: 5, &hubs)
        #expect(try scene.states(of: 2) == scene.states(of: 0))
    }

    @Test func `a hub that dies while it loads begins again, and appends nothing`() throws {
        let log = LogDouble(seed: 1)
        var settings = DocumentScene.quickSettings
        (settings.partLength, settings.commitLength) = (300, 300)
        var (scene, hubs) = try scene(log, .single, settings)
        try insert(scene, 0, 0..<40)
        try scene.run(seconds: 10, &hubs)
        scene.hubs.append(2)
        for count in 0..<3 {
            let hub = SceneHub(scene, 2)
            hub.remainingWrites = count
            var maintenance = SceneMaintenance(
                hub, scene.file, key: scene.nodes[2].key, settings)
            #expect(throws: SnapshotFailure.self) { try maintenance.step() }
            try scene.putBack(2, to: scene.nodes[2].volume.processDeath())
        }
        let before = log.count
        #expect(try join(scene, 2, &hubs, settings) == 40)
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.states(of: 2) == scene.states(of: 0))
        // The mark of the opening.
        #expect(log.count == before + 1)
    }

    @Test func `documents that a snapshot lacks are appended, also after a death before that`()
        throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 2, 60..<65)
        try insert(scene, 0, 0..<20)
        try insert(scene, 2, 3..<4)
        try scene.run(seconds: 10, &hubs)
        try insert(scene, 1, 20..<25)
        try scene.run(seconds: 2)
        // The hub gets what others append, and the engine stores nothing of it.
        log.faults.losesMessage = 1_000
        #expect(try join(scene, 2, &hubs) == 20)
        try scene.run(seconds: 3)
        #expect(try scene.rows(2, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":30}"])
        hubs.removeLast()
        log.disconnect(2)
        try scene.putBack(2, to: scene.nodes[2].volume.processDeath())
        log.faults.losesMessage = 0
        #expect(try join(scene, 2, &hubs) >= 20)
        try scene.run(seconds: 15, &hubs)
        #expect(try scene.rows(0, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":30}"])
        #expect(try scene.states(of: 2) == scene.states(of: 0))
    }

    @Test func `a snapshot has all documents up to its position, however late they are written`()
        throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 1, 0..<10)
        try scene.run(seconds: 2)
        // The first hub reads the next documents, and does not write them yet.
        scene.nodes[0].isBusy = true
        try insert(scene, 1, 10..<20)
        try scene.run(seconds: 2)
        var first = HubSnapshots(SceneHub(scene, 0), scene.file, DocumentScene.quickSettings)
        let now = scene.nodes[0].store.queries.options.clock.wallMilliseconds()
        _ = try first.write(0, at: now)
        scene.nodes[0].isBusy = false
        try scene.run(seconds: 1)
        var settings = DocumentScene.quickSettings
        settings.verificationMilliseconds = 1_000 * Self.hour
        hubs = [scene.maintenance(1, settings)]
        let events = snapshotEvents(try scene.run(seconds: 1, &hubs))
        #expect(events.contains { if case .verified = $0 { true } else { false } })
        try scene.subscribe(2, [Self.all])
        _ = try join(scene, 2, &hubs)
        try scene.run(seconds: 5)
        #expect(try scene.rows(2, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":20}"])
    }

    // MARK: Damage

    @Test func `a damaged part is refused by the hub that verifies it`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, 0..<20)
        try scene.run(seconds: 2)
        var first = HubSnapshots(SceneHub(scene, 0), scene.file, DocumentScene.quickSettings)
        let now = scene.nodes[0].store.queries.options.clock.wallMilliseconds()
        _ = try first.write(0, at: now)
        for name in log.objects.names where name.hasPrefix("part/") {
            log.objects.damage(name) { $0[$0.count / 2] ^= 1 }
        }
        let events = snapshotEvents(try hubs[1].step())
        #expect(events.contains { if case .refused = $0 { true } else { false } })
        #expect(try scene.configuration?.snapshots == [.init()])
    }

    @Test func `a manifest with another checksum, or without a part, is refused`() throws {
        let log = LogDouble(seed: 1)
        let (scene, _) = try scene(log)
        try insert(scene, 0, 0..<20)
        try scene.run(seconds: 2)
        let source = try #require(scene.nodes[0].replicator.hubSource(of: 0))
        var writer = SnapshotWriter(
            source, scene.nodes[0].store.queries, to: log.objects, partLength: 300)
        let (_, intact) = try writer.write(at: 1)
        try SnapshotReader.verify(intact, .single, from: log.objects)
        #expect(intact.parts.count > 2)
        func changed(
            _ checksum: XXH3.Hash128, _ parts: [SnapshotManifest.Part]
        ) -> SnapshotManifest {
            SnapshotManifest(
                log: intact.log, shard: intact.shard, position: intact.position,
                author: intact.author, wallMilliseconds: 1, checksum: checksum,
                pauses: intact.pauses, parts: parts)
        }
        let other = XXH3.Hash128(low: intact.checksum.low ^ 1, high: intact.checksum.high)
        for manifest in [
            changed(other, intact.parts), changed(intact.checksum, Array(intact.parts.dropLast())),
            changed(intact.checksum, Array(intact.parts.reversed())),
        ] {
            #expect(throws: SnapshotFailure.self) {
                try SnapshotReader.verify(manifest, .single, from: log.objects)
            }
        }
    }

    @Test func `if the newest snapshot is damaged, the earlier one and the log have everything`()
        throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try insert(scene, 0, 0..<20)
        try scene.run(seconds: 10, &hubs)
        try insert(scene, 1, 20..<30)
        try scene.run(seconds: 10, &hubs)
        let snapshots = try #require(try scene.configuration?.snapshots.first)
        #expect(snapshots.earlier != nil)
        let part = try #require(try manifest(scene, snapshots.newest).parts.first)
        log.objects.damage(HubObjectName.part(part.hash)) { $0[$0.count / 2] ^= 1 }
        #expect(try join(scene, 2, &hubs) == 20)
        try scene.run(seconds: 5, &hubs)
        #expect(try scene.states(of: 2) == scene.states(of: 0))
    }

    // MARK: Trimming

    @Test func `entries are removed up to the earlier snapshot, and not before all hubs have them`()
        throws
    {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        let shard = HubShard(0, of: DocumentScene.logID)
        try insert(scene, 0, 0..<10)
        try scene.run(seconds: 10, &hubs)
        try insert(scene, 0, 10..<20)
        try scene.run(seconds: 10, &hubs)
        let snapshots = try #require(try scene.configuration?.snapshots.first)
        let (newest, earlier) = (
            try manifest(scene, snapshots.newest), try manifest(scene, snapshots.earlier)
        )
        #expect(earlier.position.entry < newest.position.entry)
        // It is too young.
        #expect(log.objects.trimmed(shard) == 1)
        try scene.run(seconds: 61, &hubs)
        #expect(log.objects.trimmed(shard) == earlier.position.entry + 1)
        #expect(try join(scene, 2, &hubs) == 20)
        try scene.run(seconds: 5, &hubs)
        #expect(try scene.states(of: 2) == scene.states(of: 0))
    }

    /// Writes two snapshots at hub 0 while hub 1 is away, and trims the log.
    private func leaveLog(
        _ scene: DocumentScene, _ hubs: inout [SceneMaintenance], _ away: () throws -> Void
    ) throws {
        try insert(scene, 0, 0..<20)
        try scene.run(seconds: 3)
        scene.log?.disconnect(1)
        scene.log?.isolate(1)
        try away()
        hubs = [hubs[0]]
        try scene.run(seconds: 15, &hubs)
        try insert(scene, 0, 100..<105)
        try scene.run(seconds: 10, &hubs)
        try scene.run(seconds: 70, &hubs)
        let trimmed = scene.log?.objects.trimmed(HubShard(0, of: DocumentScene.logID)) ?? 0
        #expect(trimmed > 20)
    }

    private func comeBack(_ scene: DocumentScene, _ hubs: inout [SceneMaintenance]) throws {
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.subscribe(1, [Self.all])
        scene.log?.rejoin(1)
        #expect(try join(scene, 1, &hubs) > 0)
        try scene.run(seconds: 15, &hubs)
    }

    @Test func `a hub that was away learns deletions from a snapshot`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try leaveLog(scene, &hubs) {
            try delete(scene, 0, 3..<9)
            // A write that no other hub has yet.
            try insert(scene, 1, 50..<52)
            try scene.execute(1, "UPDATE cars SET n = -1 WHERE _id = 'car 15'")
        }
        try comeBack(scene, &hubs)
        #expect(try scene.states(of: 1) == scene.states(of: 0))
        #expect(try scene.rows(0, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":21}"])
        #expect(try scene.rows(0, "SELECT n FROM cars WHERE _id = 'car 15'") == ["{\"n\":-1}"])
    }

    @Test func `documents deleted long ago do not return, but those not stored do`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try leaveLog(scene, &hubs) {
            try delete(scene, 0, 3..<9)
            try insert(scene, 1, 50..<52)
            try scene.advance(milliseconds: 200 * Self.hour)
            try collect(scene, 0, olderThan: 168 * Self.hour)
        }
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":22}"])
        try comeBack(scene, &hubs)
        #expect(try scene.rows(0, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":21}"])
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == ["{\"n\":21}"])
        #expect(try scene.states(of: 1) == scene.states(of: 0))
    }

    @Test func `a running hub from which the log was removed loads a snapshot`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        try leaveLog(scene, &hubs) { try delete(scene, 0, 3..<9) }
        // It was cut off, and not closed.
        scene.log?.rejoin(1)
        var maintenance = scene.maintenance(1)
        var events: [HubMaintenance.Event] = []
        try scene.nodes[1].replicator.share(
            HubFeedConfiguration(log: DocumentScene.logID, map: .single), at: scene.now)
        try scene.perform(1)
        try insert(scene, 0, 200..<202)
        for _ in 0..<5 {
            try scene.run(seconds: 1)
            events += try maintenance.step()
        }
        #expect(events.contains { if case .shared(_, 20...) = $0 { true } else { false } })
        #expect(try scene.states(of: 1) == scene.states(of: 0))
        #expect(try scene.configuration?.number == 1)
    }

    @Test func `objects that no snapshot needs are removed after an hour`() throws {
        let log = LogDouble(seed: 1)
        var (scene, hubs) = try scene(log)
        for round in 0..<3 {
            try insert(scene, 0, round * 5..<round * 5 + 5)
            try scene.run(seconds: 10, &hubs)
        }
        try log.objects.put("part/00000000000000000000000000000001", [1])
        #expect(log.objects.names.count { $0.hasPrefix("snapshot/") } == 3)
        var settings = DocumentScene.quickSettings
        settings.snapshotLength = 1 << 20
        hubs = [scene.maintenance(0, settings), scene.maintenance(1, settings)]
        try scene.run(seconds: 2, &hubs)
        #expect(log.objects.names.count { $0.hasPrefix("snapshot/") } == 3)
        try scene.advance(milliseconds: 2 * Self.hour)
        try scene.run(seconds: 5, &hubs)
        let used = try #require(try scene.configuration?.snapshots.first)
        let manifests = [try #require(used.newest), try #require(used.earlier)]
        let parts = try manifests.flatMap { try manifest(scene, $0).parts.map(\.hash) }
        let expected =
            manifests.map { HubObjectName.snapshot($0) } + parts.map { HubObjectName.part($0) }
        #expect(Set(log.objects.names) == Set(expected))
    }
}
