import Sheaf
import SheafDocument
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafTestSupport
import Testing

/// Hubs with collections that are not shared with servers, or were not.
@Suite struct HubScopeTests {
    private static let hide: DQL =
        "ALTER SYSTEM SET user_collection_sync_scopes = {'notes': 'LocalPeerOnly'}"
    private static let share: DQL = "ALTER SYSTEM SET user_collection_sync_scopes = {}"
    private static let notes: DQL = "SELECT * FROM notes"

    /// Returns two hubs with a client each, the first of which has a note that it does not share.
    private func scene(_ log: LogDouble) throws -> DocumentScene {
        let scene = try DocumentScene.hubs(log, 2)
        try scene.execute(0, Self.hide)
        try scene.execute(0, "INSERT INTO notes DOCUMENTS ({'_id': 'a'})")
        // The hub saves that it has appended all commits up to this one.
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'shared'})")
        try scene.run(seconds: 4)
        #expect(try scene.rows(1, Self.notes) == [])
        return scene
    }

    /// Opens the first hub again, as after its process was killed.
    private func restart(_ scene: DocumentScene, _ log: LogDouble) throws {
        log.disconnect(0)
        try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        log.faults.losesMessage = 0
        try scene.joinLog(0)
        try scene.run(seconds: 5)
    }

    /// Returns a collection of each shard.
    private func collections(_ map: ShardMap) throws -> [String] {
        let names = (0..<100).map { "cars\($0)" }
        return try (0..<map.shardCount).map { shard in
            let found = names.first {
                map.shard(of: DocumentAddress(collection: $0, id: [])) == shard
            }
            return try #require(found)
        }
    }

    /// Inserts a document into a collection of the first hub.
    private func insert(_ scene: DocumentScene, _ id: String, into collection: String) throws {
        try scene.execute(
            0, DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS ({'_id': '\(id)'})"))
    }

    /// Stops sharing a collection of the first hub.
    private func hide(_ collection: String, _ scene: DocumentScene) throws {
        try scene.execute(
            0,
            DQL(
                verbatim: "ALTER SYSTEM SET user_collection_sync_scopes = "
                    + "{'\(collection)': 'LocalPeerOnly'}"))
    }

    @Test func `documents that become shared while others wait are appended after a restart`()
        throws
    {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        log.faults.losesMessage = 1_000
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        try scene.run(seconds: 1)
        try scene.execute(0, Self.share)
        try scene.run(seconds: 1)
        // A hub saves its progress after an entry of another author.
        var chain = HubMessageChain(
            log: DocumentScene.logID, shard: 0,
            author: HubAuthor(site: Site(rawValue: 99), opening: 1))
        log.insert(chain.mark(.start, commit: 0).bytes, into: 0)
        try scene.run(seconds: 3)
        try restart(scene, log)
        #expect(try scene.rows(1, Self.notes) == ["{\"_id\":\"a\"}"])
        #expect(try scene.rows(1, "SELECT * FROM cars").count == 2)
    }

    @Test func `documents that have become shared are appended after a restart`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        log.faults.losesMessage = 1_000
        try scene.execute(0, Self.share)
        try scene.run(seconds: 3)
        try restart(scene, log)
        #expect(try scene.rows(1, Self.notes) == ["{\"_id\":\"a\"}"])
    }

    @Test func `scopes that are wider for other peers than servers append nothing`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        let before = log.count
        try scene.execute(
            0, "ALTER SYSTEM SET user_collection_sync_scopes = {'notes': 'SmallPeersOnly'}")
        try scene.run(seconds: 3)
        #expect(log.count == before)
    }

    @Test func `documents that wait are not appended once their collection is not shared`()
        throws
    {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        let map = try ShardMap(shardCount: 2)
        let collections = try collections(map)
        for name in collections { try insert(scene, "a", into: name) }
        var limits = HubFeedLimits()
        limits.messagesInFlight = 1
        try scene.share(log, among: [0, 1], map, limits: limits)
        // The marks of both hubs in both shards, and the group of the first shard.
        for _ in 0..<1_000 where log.count < 5 { try scene.run(steps: 1) }
        #expect(log.count == 5)
        let (shown, hidden) = (collections[0], collections[1])
        try hide(hidden, scene)
        try scene.run(seconds: 5)
        #expect(try scene.rows(1, DQL(verbatim: "SELECT * FROM \(shown)")).count == 1)
        #expect(try scene.rows(1, DQL(verbatim: "SELECT * FROM \(hidden)")) == [])
    }

    @Test func `no group is appended for a commit whose documents are not shared any more`()
        throws
    {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        let map = try ShardMap(shardCount: 2)
        let collections = try collections(map)
        var limits = HubFeedLimits()
        limits.messagesInFlight = 1
        try scene.share(log, among: [0, 1], map, limits: limits)
        try scene.run(seconds: 3)
        let before = log.count
        // The first document is in flight, so that the others become a group for each shard.
        try insert(scene, "a", into: collections[0])
        try insert(scene, "b", into: collections[0])
        try insert(scene, "c", into: collections[1])
        // The group of the second shard waits until the hub has read that of the first one.
        for _ in 0..<1_000 where log.count < before + 2 { try scene.run(steps: 1) }
        #expect(log.count == before + 2)
        try hide(collections[1], scene)
        try scene.run(seconds: 5)
        #expect(log.count == before + 2)
        #expect(try scene.rows(1, DQL(verbatim: "SELECT * FROM \(collections[0])")).count == 2)
        #expect(try scene.rows(1, DQL(verbatim: "SELECT * FROM \(collections[1])")) == [])
    }
}
