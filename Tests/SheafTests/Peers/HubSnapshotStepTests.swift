import Sheaf
import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of each step of the snapshots of a log: what it does, and what it leaves.
@Suite struct HubSnapshotStepTests {
    /// Returns hubs with five documents, which have read the log and have no snapshot.
    private func scene(_ log: LogDouble, _ count: Int = 1) throws -> DocumentScene {
        let scene = try DocumentScene(count)
        for number in 0..<count { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        var settings = DocumentScene.quickSettings
        (settings.snapshotLength, settings.snapshotMilliseconds) = (.max, .max)
        _ = try scene.beginHubs(log, Array(0..<count), .single, settings)
        try insert(scene, 0..<5)
        return scene
    }

    private func insert(_ scene: DocumentScene, _ ids: Range<Int>) throws {
        for id in ids {
            try scene.execute(
                0, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': 'car \(id)'})"))
        }
        try scene.run(seconds: 1)
    }

    private func machine(
        _ scene: DocumentScene, _ number: Int = 0,
        _ settings: HubSettings = DocumentScene.quickSettings
    ) -> HubSnapshots {
        HubSnapshots(SceneHub(scene, number), scene.file, settings)
    }

    private func time(_ scene: DocumentScene) -> UInt64 {
        scene.nodes[0].clock.clock.wallMilliseconds()
    }

    /// The entry of the next snapshot.
    private func entry(_ scene: DocumentScene) throws -> UInt64 {
        try #require(scene.nodes[0].replicator.hubSource(of: 0)).position.entry
    }

    private func snapshots(_ scene: DocumentScene) throws -> HubConfiguration.Snapshots {
        try #require(try scene.configuration?.snapshots.first)
    }

    private func names(_ log: LogDouble, _ prefix: String) -> [String] {
        log.objects.names.filter { $0.hasPrefix(prefix) }
    }

    /// Returns the only manifest of a scene.
    private func onlyManifest(_ log: LogDouble) throws -> (name: String, SnapshotManifest) {
        let name = try #require(names(log, HubObjectName.snapshots).first)
        let hash = try #require(HubObjectName.snapshot(named: name))
        return (name, try SnapshotManifest.load(hash, from: log.objects))
    }

    @Test func `a hub that is alone writes, verifies, and trims up to the earlier snapshot`() throws
    {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        var hub = machine(scene)
        let first = try entry(scene)
        #expect(try hub.step() == [.written(shard: 0, entry: first)])
        #expect(try snapshots(scene) == HubConfiguration.Snapshots())
        #expect(try hub.step() == [.verified(shard: 0, entry: first)])
        #expect(try hub.step() == [])
        let (name, manifest) = try onlyManifest(log)
        let hash = try #require(HubObjectName.snapshot(named: name))
        #expect(try snapshots(scene) == HubConfiguration.Snapshots(newest: hash))
        #expect(manifest.position.entry == first && manifest.documentCount == 5)
        try insert(scene, 5..<10)
        let second = try entry(scene)
        #expect(second > first)
        #expect(try hub.step() == [.written(shard: 0, entry: second)])
        #expect(try hub.step() == [.verified(shard: 0, entry: second)])
        #expect(try snapshots(scene).earlier == hash)
        let shard = HubShard(0, of: DocumentScene.logID)
        try scene.advance(milliseconds: 59_999 - (time(scene) - manifest.wallMilliseconds))
        #expect(try hub.step() == [])
        #expect(log.objects.trimmed(shard) == 1)
        try scene.advance(milliseconds: 1)
        #expect(try hub.step() == [.trimmed(shard: 0, before: first + 1)])
        #expect(log.objects.trimmed(shard) == first + 1)
        #expect(try hub.step() == [])
    }

    @Test func `the next snapshot of a shard has to wait for ten minutes`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        var settings = DocumentScene.quickSettings
        settings.leastMilliseconds = 600_000
        var hub = machine(scene, 0, settings)
        let start = time(scene)
        #expect(try hub.step().count == 1)
        #expect(try hub.step().count == 1)
        #expect(try hub.step() == [])
        try insert(scene, 5..<10)
        try scene.advance(milliseconds: start + 599_999 - time(scene))
        #expect(try hub.step() == [])
        try scene.advance(milliseconds: 1)
        let next = try entry(scene)
        #expect(try hub.step() == [.written(shard: 0, entry: next)])
    }

    @Test func `a snapshot that no other hub verifies in time is written again`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log, 2)
        let chosen = try #require(
            (0..<2).first { scene.nodes[$0].replicator.hubView?.isChosen(for: 0) == true })
        var settings = DocumentScene.quickSettings
        settings.verificationMilliseconds = 3_000
        var (writer, verifier) = (
            machine(scene, chosen, settings), machine(scene, 1 - chosen, settings)
        )
        let (start, entry) = (time(scene), try entry(scene))
        #expect(try verifier.step() == [])
        #expect(try writer.step() == [.written(shard: 0, entry: entry)])
        try scene.advance(milliseconds: 2_999)
        #expect(try writer.step() == [])
        try scene.advance(milliseconds: 1)
        #expect(try writer.step() == [.written(shard: 0, entry: entry)])
        #expect(try verifier.step() == [.verified(shard: 0, entry: entry)])
        let newest = try #require(try snapshots(scene).newest)
        let manifest = try SnapshotManifest.load(newest, from: log.objects)
        #expect(manifest.wallMilliseconds == start + 3_000)
        #expect(try writer.step() == [])
        #expect(try verifier.step() == [])
    }

    // MARK: Refusals

    @Test(arguments: [true, false])
    func `a snapshot with a damaged or lost part is removed, and written again`(
        _ isLost: Bool
    ) throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        try insert(scene, 5..<20)
        var settings = DocumentScene.quickSettings
        settings.partLength = 60
        var hub = machine(scene, 0, settings)
        let entry = try entry(scene)
        #expect(try hub.step() == [.written(shard: 0, entry: entry)])
        let (name, manifest) = try onlyManifest(log)
        try #require(manifest.parts.count > 2)
        let parts = manifest.parts.map { HubObjectName.part($0.hash) }
        if isLost {
            log.objects.lose(parts[1])
        } else {
            log.objects.damage(parts[1]) { $0[$0.count / 2] ^= 1 }
        }
        let reason =
            isLost
            ? "the hub log has no object \(parts[1])"
            : "\(parts[1]) is damaged: its bytes do not have the hash in its name"
        #expect(try hub.step() == [.refused(shard: 0, reason: reason)])
        #expect(!log.objects.names.contains(name))
        #expect(Set(names(log, HubObjectName.parts)) == Set(parts).subtracting([parts[1]]))
        #expect(try snapshots(scene) == HubConfiguration.Snapshots())
        try scene.advance(milliseconds: 1)
        #expect(try hub.step() == [.written(shard: 0, entry: entry)])
        #expect(try hub.step() == [.verified(shard: 0, entry: entry)])
        #expect(Set(names(log, HubObjectName.parts)) == Set(parts))
    }

    /// Stores a changed manifest in place of the only one; returns its name.
    private func replaceManifest(
        _ log: LogDouble, digest: UInt64 = 0, entry: UInt64? = nil, shard: UInt16 = 0,
        of id: HubLogID = DocumentScene.logID
    ) throws -> String {
        let (name, manifest) = try onlyManifest(log)
        let position = ShardPosition(
            entry: entry ?? manifest.position.entry, digest: manifest.position.digest ^ digest,
            authors: manifest.position.authors)
        let bytes = SnapshotManifest(
            log: id, shard: shard, position: position, author: manifest.author,
            wallMilliseconds: manifest.wallMilliseconds, checksum: manifest.checksum,
            pauses: manifest.pauses, parts: manifest.parts
        ).bytes
        try log.objects.remove(name)
        let new = HubObjectName.snapshot(bytes.span.withUnsafeBytes { XXH3.hash128($0) })
        try log.objects.put(new, bytes)
        return new
    }

    @Test func `a snapshot with the digest of other entries is refused`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        var first = machine(scene)
        _ = try first.step()
        let name = try replaceManifest(log, digest: 1)
        var hub = machine(scene)
        let reason =
            "\(name) is damaged: its digest is not that of the entries that this hub has read"
        #expect(try hub.step() == [.refused(shard: 0, reason: reason)])
        #expect(names(log, HubObjectName.snapshots) == [])
        #expect(names(log, HubObjectName.parts).count == 1)
    }

    @Test func `a snapshot is verified once its entry was read, and none is written before`() throws
    {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        var first = machine(scene)
        _ = try first.step()
        let view = try #require(scene.nodes[0].replicator.hubView)
        let name = try replaceManifest(log, entry: view.shards[0].progress.read + 1)
        var hub = machine(scene)
        #expect(try hub.step() == [])
        #expect(names(log, HubObjectName.snapshots) == [name])
        try insert(scene, 5..<6)
        // The digest of that entry is another one.
        let events = try hub.step()
        #expect(events.count == 1)
        #expect(events.contains { if case .refused = $0 { true } else { false } })
    }

    @Test func `snapshots of other logs and shards, and unreadable ones, are not verified`() throws
    {
        for kind in 0..<3 {
            let log = LogDouble(seed: 1)
            let scene = try scene(log)
            var first = machine(scene)
            _ = try first.step()
            let name =
                switch kind {
                case 0: try replaceManifest(log, shard: 1)
                case 1: try replaceManifest(log, of: HubLogID(low: 7, high: 9))
                default: try onlyManifest(log).name
                }
            if kind == 2 { log.objects.damage(name) { $0[9] ^= 1 } }
            // The new manifest has another time.
            try scene.advance(milliseconds: 1)
            var hub = machine(scene)
            let entry = try entry(scene)
            #expect(try hub.step() == [.written(shard: 0, entry: entry)], "\(kind)")
            #expect(names(log, HubObjectName.snapshots).count == 2)
        }
    }

    // MARK: Conditions

    /// A state of the configuration, or of the log, in which a hub writes no snapshots.
    enum Obstacle: CaseIterable, Sendable { case format, replacement, log, incident }

    @Test(arguments: Obstacle.allCases)
    func `no snapshot is written in another log, while one is replaced, or with an incident`(
        _ obstacle: Obstacle
    ) throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        var settings = DocumentScene.quickSettings
        settings.versions = 1...1
        var hub = machine(scene, 0, settings)
        let intact = try #require(try scene.configuration)
        let changed = try scene.file.change { found in
            var changed = found
            switch obstacle {
            case .format: changed.format = 2
            case .replacement:
                changed.replacement = HubConfiguration.Replacement(
                    hub: Array(repeating: 7, count: 32), takeoverMilliseconds: 1)
            case .log: changed.log = HubLogID(low: 7, high: 9)
            case .incident: log.truncate(0, by: 2)
            }
            return changed
        }
        if obstacle == .incident { try insert(scene, 5..<6) }
        let view = try #require(scene.nodes[0].replicator.hubView)
        #expect(view.shards[0].incidents.isEmpty == (obstacle != .incident))
        #expect(try hub.step() == [])
        #expect(log.objects.names == [])
        guard obstacle != .incident else { return }
        #expect(changed != intact)
        _ = try scene.file.change { _ in intact }
        let next = try entry(scene)
        #expect(try hub.step() == [.written(shard: 0, entry: next)])
    }
}
