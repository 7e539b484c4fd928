import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHub
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of the configuration while a hub replaces a log, and of the conditions for it.
@Suite struct LogReplacementTests {
    private let log = LogDouble(seed: 1)
    private static let otherKey = Array(repeating: UInt8(7), count: 32)

    /// Returns a scene with one hub, and its maintenance.
    private func scene(_ map: ShardMap = .single) throws -> (DocumentScene, SceneMaintenance) {
        let scene = try DocumentScene(1)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        var settings = DocumentScene.quickSettings
        settings.versions = 1...1
        (settings.snapshotLength, settings.snapshotMilliseconds) = (.max, .max)
        let hub = try scene.beginHubs(log, [0], map, settings)[0]
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'}), ({'_id': 'b'})")
        try scene.run(seconds: 1)
        return (scene, hub)
    }

    private func replacement(_ scene: DocumentScene) -> LogReplacement {
        LogReplacement(SceneHub(scene, 0), scene.file, key: scene.nodes[0].key)
    }

    private func time(_ scene: DocumentScene) -> UInt64 {
        scene.nodes[0].clock.clock.wallMilliseconds()
    }

    /// Lets a hub replace the log, as the configuration shows it; nil if none does so.
    private func setReplacement(
        _ scene: DocumentScene, by key: [UInt8]?, until time: UInt64 = 1
    ) throws {
        _ = try scene.file.change { found in
            var changed = found
            changed.replacement = key.map {
                HubConfiguration.Replacement(hub: $0, takeoverMilliseconds: time)
            }
            return changed
        }
    }

    private func isLeft(_ outcome: LogReplacement.Outcome) -> Bool {
        if case .left = outcome { true } else { false }
    }

    @Test func `the configuration names the new log once all of its snapshots are verified`() throws
    {
        let map = try ShardMap(shardCount: 2, splitCollections: ["cars"])
        let (scene, _) = try scene(map)
        var seen: [LogReplacement.Step: HubConfiguration] = [:]
        var commit: UInt64 = 0
        let outcome = try replacement(scene).run(DocumentScene.logID, number: 7) { step in
            seen[step] = try? scene.configuration
            if step == .stopped { commit = scene.nodes[0].newestCommit }
        }
        guard case .replaced(let feed) = outcome else {
            Issue.record("the log was not replaced")
            return
        }
        let own = HubConfiguration.Replacement(
            hub: scene.nodes[0].key, takeoverMilliseconds: time(scene) + 60_000)
        for step in [.announced, .stopped, .created, .written, .verified] as [LogReplacement.Step] {
            let found = try #require(seen[step])
            #expect(found.log == DocumentScene.logID && found.number == 1, "\(step)")
            #expect(found.replacement == own, "\(step)")
        }
        let opened = try #require(seen[.opened])
        #expect(opened.log == feed.log && opened.number == 7 && opened.replacement == nil)
        #expect(opened.snapshots.allSatisfy { $0.earlier == nil })
        #expect(seen[.recorded] == opened)
        #expect(log.objects.created == [DocumentScene.logID, feed.log])
        var count: UInt64 = 0
        for (shard, snapshots) in opened.snapshots.enumerated() {
            let hash = try #require(snapshots.newest)
            let manifest = try SnapshotManifest.load(hash, from: log.objects)
            #expect(manifest.log == feed.log && Int(manifest.shard) == shard)
            #expect(manifest.position == .start && manifest.author.opening == feed.opening)
            count += manifest.documentCount
        }
        #expect(count == 2)
        try checkFeed(feed, of: scene, commit)
    }

    /// Expects that the store has both shards of a new log up to a commit.
    private func checkFeed(
        _ feed: HubFeedConfiguration, of scene: DocumentScene, _ commit: UInt64
    ) throws {
        let opening = try #require(feed.opening)
        #expect(opening % 2 == 1 && feed.versions == HubFormats.supported)
        #expect(feed.loaded.keys.sorted() == [0, 1])
        let snapshot = scene.nodes[0].store.queries.documents.snapshot()
        let stored = StoredShard(
            log: feed.log, position: .start, commit: commit, wallMilliseconds: time(scene))
        for shard: UInt16 in 0...1 {
            let loaded = try #require(feed.loaded[shard])
            #expect(loaded.kept == stored && loaded.missing.isEmpty)
            #expect(try snapshot.storedShard(shard) == stored)
        }
    }

    @Test func `a new log has the next number, or a given one that is greater`() throws {
        for (least, number) in [(0, 2), (2, 2), (3, 3)] as [(UInt64, UInt64)] {
            let (scene, _) = try LogReplacementTests().scene()
            #expect(try !isLeft(replacement(scene).run(DocumentScene.logID, number: least)))
            #expect(try scene.configuration?.number == number)
        }
    }

    @Test(
        arguments: [
            (false, 999, false), (false, 1_000, true), (true, 0, true),
        ] as [(Bool, UInt64, Bool)])
    func `a hub replaces a log that another one replaces once its time has passed, or if forced`(
        _ isForced: Bool, _ passed: UInt64, _ replaces: Bool
    ) throws {
        let (scene, _) = try scene()
        try setReplacement(scene, by: Self.otherKey, until: time(scene) + 1_000)
        try scene.advance(milliseconds: passed)
        let before = try scene.configuration
        let outcome = try replacement(scene).run(DocumentScene.logID, isForced: isForced)
        #expect(isLeft(outcome) != replaces)
        #expect(try (scene.configuration == before) != replaces)
        #expect(log.objects.created.count == (replaces ? 2 : 1))
    }

    @Test func `a hub goes on with its own replacement at once, and never with an older log`()
        throws
    {
        let (scene, _) = try scene()
        try setReplacement(scene, by: scene.nodes[0].key, until: time(scene) + 1_000)
        #expect(try isLeft(replacement(scene).run(HubLogID(low: 7, high: 9))))
        #expect(log.objects.created == [DocumentScene.logID])
        #expect(try !isLeft(replacement(scene).run(DocumentScene.logID)))
    }

    @Test(arguments: [.stopped, .created, .written, .verified] as [LogReplacement.Step])
    func `a hub that was taken over leaves no log`(_ last: LogReplacement.Step) throws {
        let (scene, _) = try scene()
        let outcome = try replacement(scene).run(DocumentScene.logID) { step in
            if step == last { try? setReplacement(scene, by: Self.otherKey) }
        }
        #expect(isLeft(outcome))
        #expect(log.objects.created == [DocumentScene.logID])
        #expect(try scene.configuration?.log == DocumentScene.logID)
        #expect(try scene.configuration?.replacement?.hub == Self.otherKey)
    }

    /// The time of a takeover is postponed after a quarter of it.
    @Test(arguments: [(14_999, 60_000), (15_000, 75_000)] as [(UInt64, UInt64)])
    func `the time of a takeover is postponed every fifteen seconds`(
        _ passed: UInt64, _ takeover: UInt64
    ) throws {
        let (scene, _) = try scene()
        let start = time(scene)
        var found: UInt64?
        let outcome = try replacement(scene).run(DocumentScene.logID) { step in
            if step == .created { try? scene.advance(milliseconds: passed) }
            if step == .written {
                found = (try? scene.configuration)?.replacement?.takeoverMilliseconds
            }
        }
        #expect(!isLeft(outcome))
        #expect(found == start + takeover)
    }

    @Test func `a hub that finds no replacement in the configuration reports a takeover`() throws {
        let (scene, _) = try scene()
        let failure = SnapshotFailure.configuration(
            "another hub has taken over the replacement of the log")
        #expect(throws: failure) {
            try replacement(scene).run(DocumentScene.logID) { step in
                if step == .stopped { try? setReplacement(scene, by: nil) }
            }
        }
        #expect(log.objects.created == [DocumentScene.logID])
    }

    @Test func `a hub releases its own replacement alone`() throws {
        let (scene, _) = try scene()
        let end = time(scene) + 60_000
        try setReplacement(scene, by: Self.otherKey, until: end)
        try replacement(scene).release(DocumentScene.logID)
        #expect(try scene.configuration?.replacement?.takeoverMilliseconds == end)
        try setReplacement(scene, by: scene.nodes[0].key, until: end)
        try replacement(scene).release(HubLogID(low: 7, high: 9))
        #expect(try scene.configuration?.replacement?.takeoverMilliseconds == end)
        try replacement(scene).release(DocumentScene.logID)
        #expect(try scene.configuration?.replacement?.takeoverMilliseconds == time(scene))
    }

    // MARK: The maintenance

    @Test func `a hub waits while another one replaces the log, and shares nothing`() throws {
        let (scene, maintenance) = try scene()
        var hub = maintenance
        try setReplacement(scene, by: Self.otherKey, until: time(scene) + 5_000)
        #expect(try hub.log.replace(isForced: false).map(\.isWaiting) == [true])
        #expect(scene.nodes[0].replicator.hubView != nil)
        try scene.advance(milliseconds: 4_999)
        #expect(try hub.log.step().map(\.isWaiting) == [true])
        #expect(scene.nodes[0].replicator.hubView == nil)
        try setReplacement(scene, by: nil)
        let events = try hub.log.step()
        guard case .shared(let id, let count)? = events.first else {
            Issue.record("the log is not shared")
            return
        }
        #expect(id == DocumentScene.logID && count == 0 && events.count == 1)
    }

    @Test func `the log of a newer release is neither shared nor replaced`() throws {
        let (scene, maintenance) = try scene()
        var hub = maintenance
        _ = try scene.file.change { found in
            var changed = found
            changed.format = 2
            changed.log = HubLogID(low: 7, high: 9)
            return changed
        }
        #expect(try hub.log.step().isEmpty)
        #expect(scene.nodes[0].replicator.hubView?.log == DocumentScene.logID)
        let failure = SnapshotFailure.configuration(
            "the hubs write messages of a version above 1, the newest of this program; replace the "
                + "log with a newer one")
        for isForced in [false, true] {
            #expect(throws: failure) { try hub.log.replace(isForced: isForced) }
        }
    }

    @Test func `a configuration with a lower number is refused with both numbers`() throws {
        let (scene, maintenance) = try scene()
        var hub = maintenance
        for number: UInt64 in [5, 4] {
            _ = try scene.file.change { found in
                var changed = found
                changed.number = number
                return changed
            }
            if number == 5 { #expect(try hub.log.step().isEmpty) }
        }
        let failure = SnapshotFailure.configuration(
            "the configuration names log 4, and has named log 5 before: the engine has an older "
                + "one, from a backup or of a server that lags; this hub keeps its log until the "
                + "engine has the newer one, or 'sheaf hub replace --force' is run")
        #expect(throws: failure) { try hub.log.step() }
        #expect(try hub.log.replace(isForced: true).count == 2)
        #expect(try scene.configuration?.number == 6)
    }

    @Test func `an engine that does not respond to a restored configuration is reported`() throws {
        let objects = ObjectDouble()
        let file = ConfigurationFile(objects, of: .init(low: 1, high: 2))
        objects.silenceReplacements([true])
        // The next attempt finds the configuration that the engine has stored.
        let made = try file.loadOrCreate(shardCount: 1, format: 1) { 9 }
        #expect(objects.created == [made.log])
        objects.lose(HubObjectName.configuration)
        objects.silenceReplacements([false])
        let failure = SnapshotFailure.log(.timeout("the test stores nothing"))
        #expect(throws: failure) { try file.restore(made) }
        try file.restore(made)
        #expect(try file.existing() == made)
    }
}
