import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Tests of what a hub reports about itself and other hubs, and of its control.
@Suite struct HubStateTests {
    /// Returns hubs 0 and 1 with clients 2 and 3, which have found each other.
    private func scene(
        _ log: LogDouble, _ limits: HubFeedLimits = HubFeedLimits()
    ) throws -> DocumentScene {
        try DocumentScene.hubs(log, 2, feed: limits)
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ id: String) throws {
        try scene.execute(number, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
    }

    private func progress(_ scene: DocumentScene, _ hub: Int) throws -> HubProgress {
        try #require(scene.nodes[hub].replicator.hubProgress)
    }

    private func view(_ scene: DocumentScene, _ hub: Int) throws -> HubView {
        try #require(scene.nodes[hub].replicator.hubView)
    }

    // MARK: Reports

    @Test func `a hub counts the batches and messages that its log has not stored`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        let before = try progress(scene, 0)
        let first = before.shards[0].firstUnstored
        #expect(before.clientCount == 1 && before.unacknowledgedCount == 0)
        #expect(before.hubDurable == before.commit && before.pendingLength == 0)
        #expect(before.shards.map(\.unstoredMessages) == [0] && before.shards[0].hasCaughtUp)
        log.isStopped = true
        for (count, id) in zip(1..., ["a", "b"]) {
            try insert(scene, 2, id)
            try scene.run()
            let waiting = try progress(scene, 0)
            let shard = waiting.shards[0]
            #expect(waiting.unacknowledgedCount == count)
            #expect(shard.unstoredMessages == count && shard.firstUnstored == first)
            #expect(waiting.commit > waiting.hubDurable && waiting.hubDurable == before.commit)
            #expect(waiting.pendingLength > 0 && shard.unstoredLength > 0)
            let status = try #require(scene.nodes[0].replicator.hubStatus)
            #expect(status.shards[0].pendingCount == count && status.durable == before.commit)
        }
        log.isStopped = false
        try scene.run(seconds: 2)
        let after = try progress(scene, 0)
        #expect(after.unacknowledgedCount == 0 && after.pendingLength == 0)
        #expect(after.hubDurable == after.commit && after.commit > before.commit)
        #expect(after.shards[0].unstoredMessages == 0 && after.shards[0].unstoredLength == 0)
        #expect(after.shards[0].firstUnstored == first + 2)
        #expect(after.log == DocumentScene.logID)
    }

    @Test func `a hub sees the other one, and whether it has stored more`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        let (one, other) = (try view(scene, 0), try view(scene, 1))
        #expect(one.others.map(\.key) == [scene.nodes[1].key])
        #expect(other.others.map(\.author) == [one.author])
        #expect(one.hasCaughtUp && one.hasMostStored && other.hasMostStored)
        #expect(one.shards.map(\.isFollowed) == [true] && !one.shards[0].lacksEntries)
        log.undelivered = [1]
        try insert(scene, 2, "a")
        try scene.run(seconds: 2)
        let (more, less) = (try view(scene, 0), try view(scene, 1))
        #expect(more.hasMostStored && !less.hasMostStored)
        #expect(more.shards[0].progress.read == one.shards[0].progress.read + 1)
        let last: [UInt8]? = log.entries[0]?.last ?? nil
        let length = UInt64(try #require(last).count)
        #expect(more.shards[0].readLength == one.shards[0].readLength + length)
        #expect(less.shards[0].readLength == other.shards[0].readLength)
        #expect(less.others[0].shards[0]?.stored == more.shards[0].progress.stored)
    }

    @Test func `the hub with the least key is chosen, among those of other sites if one is given`()
        throws
    {
        let scene = try scene(LogDouble(seed: 1))
        let (one, other) = (try view(scene, 0), try view(scene, 1))
        #expect(one.isChosen && !other.isChosen)
        #expect(one.isChosen(for: 0) && !other.isChosen(for: 0))
        #expect(!one.isChosen(for: 0, without: one.author.site))
        #expect(other.isChosen(for: 0, without: one.author.site))
        #expect(one.isChosen(for: 0, without: other.author.site))
        #expect(one.followers(of: 0).map(\.author) == [other.author])
        #expect(one.followers(of: 0, without: other.author.site).isEmpty)
        #expect(one.followers(of: 1).isEmpty)
    }

    @Test func `a hub has settled ten seconds after it began to read`() throws {
        let scene = try scene(LogDouble(seed: 1))
        // Three seconds have passed.
        try scene.advance(milliseconds: 6_999)
        #expect(try !view(scene, 0).isSettled)
        try scene.advance(milliseconds: 1)
        #expect(try view(scene, 0).isSettled)
    }

    // MARK: Control

    @Test func `other hubs do not wait for one that drains, until it goes on`() throws {
        let scene = try scene(LogDouble(seed: 1))
        for isDraining in [true, false] {
            scene.nodes[1].replicator.setHubState(
                isReady: !isDraining, isDraining: isDraining, at: scene.now)
            try scene.perform(1)
            try scene.run()
            let status = try #require(scene.nodes[0].replicator.hubStatus)
            #expect(status.others.map(\.isDraining) == [isDraining])
            #expect(status.others.map(\.isLive) == [!isDraining])
            #expect(try view(scene, 0).others.isEmpty == isDraining)
        }
        scene.nodes[1].replicator.drain(true)
        try scene.run(seconds: 1)
        #expect(scene.nodes[0].replicator.hubStatus?.others.map(\.isDraining) == [true])
    }

    @Test func `a hub appends a mark to each shard on request`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(1)
        try scene.share(log, among: [0], try ShardMap(shardCount: 4))
        try scene.run(seconds: 3)
        let before = log.entries.mapValues(\.count)
        scene.nodes[0].replicator.appendHubMarks(at: scene.now)
        try scene.perform(0)
        try scene.run()
        #expect(log.entries.mapValues(\.count) == before.mapValues { $0 + 1 })
        #expect(before.count == 4)
    }

    @Test func `a hub that stops sharing acknowledges no later commit`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        let replicator = scene.nodes[0].replicator
        try insert(scene, 2, "a")
        try scene.run(seconds: 2)
        let durable = replicator.hubDurable
        #expect(durable == scene.nodes[0].newestCommit && replicator.hasCaughtUpWithHubs)
        replicator.stopSharing()
        try scene.perform(0)
        #expect(replicator.hubProgress == nil && replicator.hubView == nil)
        #expect(replicator.hubDurable == durable && !replicator.hasCaughtUpWithHubs)
        #expect(!replicator.isWritingFromLog)
        let count = log.count
        try insert(scene, 2, "b")
        try scene.run(seconds: 3)
        #expect(log.count == count)
        #expect(try scene.rows(0, "SELECT * FROM cars").count == 2)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) < scene.nodes[2].newestCommit)
        try scene.joinLog(0)
        try scene.run(seconds: 5)
        #expect(scene.nodes[2].synced(with: scene.nodes[0]) == scene.nodes[2].newestCommit)
        #expect(try scene.checksums() == 1)
    }

    @Test func `a hub ends one of its connections with a reason`() throws {
        let scene = try scene(LogDouble(seed: 1))
        let replicator = scene.nodes[0].replicator
        let numbers = replicator.connectionNumbers
        #expect(numbers == scene.connections(of: 0) && numbers.count == 1)
        replicator.end(connection: 99, because: "unknown")
        replicator.end(connection: numbers[0], because: "the hub drains")
        try scene.perform(0)
        #expect(scene.nodes[0].closeMessages == [CloseMessage(.done, "the hub drains")])
        #expect(replicator.connectionNumbers.isEmpty)
        #expect(try progress(scene, 0).clientCount == 0)
    }

    // MARK: Log messages

    @Test func `clients that are held, and that continue, are logged`() throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.pendingBytes = 1
        let scene = try scene(log, limits)
        log.isStopped = true
        try insert(scene, 2, "a")
        try scene.run(seconds: 1)
        let held = try progress(scene, 0)
        let nanoseconds = try #require(held.heldNanoseconds)
        #expect((500_000_000...1_000_000_000).contains(nanoseconds))
        let text = "clients are held: too many of their documents are not hub-durable"
        let warnings = scene.nodes[0].store.messages(.warning).filter { $0.contains("held") }
        #expect(warnings == ["\(text) bytes=\(held.pendingLength)"])
        log.isStopped = false
        try scene.run(seconds: 2)
        #expect(try progress(scene, 0).heldNanoseconds == nil)
        let infos = scene.nodes[0].store.messages(.info).filter { $0.contains("held") }
        #expect(infos == ["clients are not held any more bytes=0"])
    }

    @Test func `an incident is logged by the hub that has found it, and by the others`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        for number in 0..<5 {
            try insert(scene, 2, "car \(number)")
            try scene.run(seconds: 1)
        }
        #expect(scene.nodes[0].store.errors == [] && scene.nodes[1].store.errors == [])
        log.truncate(0, by: 3)
        try insert(scene, 2, "later")
        try scene.run(seconds: 5)
        for (hub, reader) in [(0, "this"), (1, "another")] {
            let errors = scene.nodes[hub].store.errors.filter { $0.hasSuffix(" shard=0") }
            let text = "the hub log contradicts what \(reader) hub has read: "
            #expect(errors.contains { $0.hasPrefix(text) }, "\(reader), \(errors)")
        }
    }

    @Test func `documents that a hub cannot read, or not write yet, are logged`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        scene.nodes[0].clock.advance(milliseconds: 480_000)
        try scene.share(log, among: [0, 1])
        try scene.run(seconds: 3)
        try insert(scene, 0, "late")
        try scene.run()
        let text = "documents of the hub log wait: their times are too far ahead of this clock"
        #expect(scene.nodes[1].store.errors.contains { $0.hasPrefix(text) })
        #expect(try progress(scene, 1).shards[0].unwrittenGroups == 1)
        let author = HubAuthor(site: Site(rawValue: 99), opening: 1)
        var chain = HubMessageChain(log: DocumentScene.logID, shard: 0, author: author)
        let messages = chain.messages(of: [1, 9], HubMessage.Extent(base: 0, commit: 1), .start)
        for message in messages { log.insert(message.bytes, into: 0) }
        try scene.run()
        let unreadable = scene.nodes[0].store.errors.filter {
            $0.hasPrefix("this version cannot read documents in the hub log")
        }
        #expect(unreadable.count == 1)
        let fields = " author=\(author.site.text) entry=\(log.count) shard=0"
        #expect(unreadable.allSatisfy { $0.hasSuffix(fields) }, "\(unreadable)")
    }
}
