import Sheaf
import SheafBytes
import SheafDocument
import SheafHubLog
import SheafMesh
import SheafReplication
import SheafStatements
import SheafTestSupport
import Testing

/// The times after which hubs that share a log act, to the millisecond.
@Suite struct HubFeedTimeTests {
    /// Returns hubs without clients, which have found each other.
    private func scene(
        _ log: LogDouble, _ count: Int = 1, limits: HubFeedLimits = HubFeedLimits()
    ) throws -> DocumentScene {
        let scene = try DocumentScene(count)
        for number in 0..<count { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.share(log, among: Array(0..<count), limits: limits)
        try scene.run(seconds: 3)
        return scene
    }

    private func insert(_ scene: DocumentScene, _ id: String = "a") throws {
        try scene.execute(0, DQL(verbatim: "INSERT INTO cars DOCUMENTS ({'_id': '\(id)'})"))
        try scene.run()
    }

    /// Whether the first hub may acknowledge all commits that it has.
    private func isHubDurable(_ scene: DocumentScene) -> Bool {
        scene.nodes[0].replicator.hubProgress.map { $0.hubDurable >= $0.commit } ?? false
    }

    @Test func `the limits of a hub are those of the documentation`() {
        let limits = HubFeedLimits()
        #expect(limits.pendingBytes == 67_108_864)
        #expect(limits.groupLength == 268_435_456)
        #expect(limits.replacedLength == 1_006_632_960)
        #expect(limits.rounds == 4_096)
        #expect(limits.liveNanoseconds == 10_000_000_000)
        #expect(limits.listenNanoseconds == 2_000_000_000)
        #expect(limits.beatNanoseconds == 1_000_000_000)
        #expect(limits.fastBeatNanoseconds == 5_000_000)
        #expect(limits.answerNanoseconds == 3_000_000_000)
        #expect(limits.needNanoseconds == 5_000_000_000)
        #expect(limits.rereadNanoseconds == 1_000_000_000)
        #expect(limits.retryNanoseconds == 1_000_000_000)
        #expect(limits.markNanoseconds == 3_600_000_000_000)
        #expect(limits.reader.liveNanoseconds == limits.liveNanoseconds)
        #expect(limits.reader.needNanoseconds == limits.needNanoseconds)
    }

    @Test func `a hub that was opened counts as the only one after two seconds`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(1)
        try scene.share(log, among: [0])
        try scene.run()
        try insert(scene)
        try scene.advance(milliseconds: 1_999)
        #expect(!isHubDurable(scene))
        try scene.advance(milliseconds: 1)
        #expect(isHubDurable(scene))
    }

    @Test func `a hub beats every second, and others wait for it for ten seconds`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log, 2)
        // Its last beat is now, and does not arrive.
        log.isolate(1)
        try scene.advance(milliseconds: 5_000)
        log.rejoin(1)
        try scene.advance(milliseconds: 999)
        try scene.advance(milliseconds: 1)
        log.isolate(1)
        try insert(scene)
        try scene.advance(milliseconds: 9_999)
        #expect(scene.nodes[0].replicator.hubView?.others.count == 1)
        #expect(!isHubDurable(scene))
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[0].replicator.hubView?.others.count == 0)
        #expect(isHubDurable(scene))
    }

    @Test func `a message that is not stored is appended again after three seconds`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        let count = log.count
        log.faults.losesMessage = 1_000
        try insert(scene)
        log.faults.losesMessage = 0
        try scene.advance(milliseconds: 2_999)
        #expect(log.count == count)
        try scene.advance(milliseconds: 1)
        #expect(log.count == count + 1)
    }

    /// Loses a message and three replacements, each appended five seconds after the one before.
    ///
    /// The log continues to lose what is appended.
    @discardableResult
    private func loseReplacements(
        _ log: LogDouble, limits: HubFeedLimits = HubFeedLimits()
    ) throws -> DocumentScene {
        var limits = limits
        // Later messages are read soon.
        limits.reader.needNanoseconds = 1_000_000_000
        let scene = try scene(log, limits: limits)
        log.faults.losesEntry = 1_000
        try insert(scene)
        log.faults.losesEntry = 0
        try insert(scene, "b")
        let count = log.count
        log.faults.losesEntry = 1_000
        for replacements in 0..<3 {
            try scene.advance(milliseconds: 4_999)
            #expect(log.count == count + replacements)
            try scene.advance(milliseconds: 1)
            #expect(log.count == count + replacements + 1)
        }
        return scene
    }

    @Test func `a lost message is replaced every five seconds, until one of them is stored`()
        throws
    {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        // The hub is due whenever time passes.
        (limits.beatNanoseconds, limits.fastBeatNanoseconds) = (1_000_000, 1_000_000)
        let scene = try loseReplacements(log, limits: limits)
        log.faults.losesEntry = 0
        try scene.advance(milliseconds: 5_000)
        #expect(!isHubDurable(scene))
        // It is read once the lost replacements before it count as lost.
        try scene.advance(milliseconds: 1_000)
        #expect(isHubDurable(scene))
    }

    @Test func `a lost message is replaced in time, also between two beats`() throws {
        // By default, a hub sends a beat every second.
        try loseReplacements(LogDouble(seed: 1))
    }

    @Test(arguments: [2, 3, 4])
    func `more groups than the limit become hub-durable in pairs`(_ limit: Int) throws {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.rounds = limit
        let scene = try scene(log, limits: limits)
        log.isStopped = true
        try insert(scene)
        let first = scene.nodes[0].newestCommit
        log.faults.losesMessage = 1_000
        for id in ["b", "c"] { try insert(scene, id) }
        log.faults.losesMessage = 0
        log.isStopped = false
        // The engine stores the first of three groups.
        try scene.run()
        let durable = try #require(scene.nodes[0].replicator.hubProgress).hubDurable
        #expect((durable >= first) == (limit >= 3))
        try scene.advance(milliseconds: 3_000)
        #expect(isHubDurable(scene))
    }

    @Test func `groups of different shards become hub-durable once each of them is stored`()
        throws
    {
        let log = LogDouble(seed: 1)
        var limits = HubFeedLimits()
        limits.rounds = 1
        let map = try ShardMap(shardCount: 2)
        let scene = try DocumentScene(1)
        try scene.share(log, among: [0], map, limits: limits)
        try scene.run(seconds: 3)
        #expect(isHubDurable(scene))
        let count = log.count
        let names = (0..<100).map { "c\($0)" }
        for shard: UInt16 in 0..<2 {
            let found = names.first {
                map.shard(of: DocumentAddress(collection: $0, id: [])) == shard
            }
            let name = try #require(found)
            // The group of the first shard is lost.
            log.faults.losesMessage = shard == 0 ? 1_000 : 0
            try scene.execute(0, DQL(verbatim: "INSERT INTO \(name) DOCUMENTS ({'_id': 'a'})"))
        }
        try scene.run()
        #expect(log.count == count + 1)
        #expect(!isHubDurable(scene))
        try scene.advance(milliseconds: 3_000)
        #expect(isHubDurable(scene))
    }

    @Test func `a hub that appends nothing for an hour appends a mark`() throws {
        let log = LogDouble(seed: 1)
        let scene = try scene(log)
        try insert(scene)
        let count = log.count
        // The hub is due every second, with its beats.
        try scene.advance(milliseconds: 3_599_000)
        #expect(log.count == count)
        try scene.advance(milliseconds: 1_000)
        #expect(log.count == count + 1)
    }

    /// Hubs accept documents five minutes ahead, as all peers do, and those of a log one more.
    @Test(arguments: [360_000, 360_001] as [UInt64])
    func `documents six minutes ahead of the clock are written, and others a second later`(
        _ milliseconds: UInt64
    ) throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        scene.nodes[0].clock.advance(milliseconds: milliseconds)
        try scene.share(log, among: [0, 1])
        try scene.run(seconds: 3)
        try insert(scene)
        let isLate = milliseconds > 360_000
        #expect(try scene.rows(1, "SELECT _id FROM cars").isEmpty == isLate)
        try scene.advance(milliseconds: 999)
        #expect(try scene.rows(1, "SELECT _id FROM cars").isEmpty == isLate)
        try scene.advance(milliseconds: 1)
        #expect(try scene.rows(1, "SELECT _id FROM cars").count == 1)
    }

    @Test func `a hub whose first mark was lost appends another one after ten seconds`() throws {
        let log = LogDouble(seed: 1)
        let scene = try DocumentScene(1)
        log.faults.losesEntry = 1_000
        try scene.share(log, among: [0])
        try scene.run()
        log.faults.losesEntry = 0
        let count = log.count
        #expect(count == 1)
        try scene.advance(milliseconds: 9_000)
        #expect(log.count == count)
        try scene.advance(milliseconds: 1_000)
        #expect(log.count == count + 1)
    }
}
