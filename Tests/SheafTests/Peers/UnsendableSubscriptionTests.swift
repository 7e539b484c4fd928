import Sheaf
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Subscriptions that cannot be sent after the time in them was renewed.
struct UnsendableSubscriptionTests {
    /// Milliseconds since 1970 of a time in the year 10000.
    private static let year10000: UInt64 = 253_402_300_800_000

    /// A query that is short enough only while its 200 calls of `clock()` are written as MISSING.
    private var query: String {
        let window = Array(repeating: "at > clock()", count: 200).joined(separator: " OR ")
        let start = "SELECT * FROM cars WHERE (\(window)) AND note != '"
        let rest = SyncLimits.queryLength - 1_000 - start.utf8.count
        return start + String(repeating: "x", count: rest) + "'"
    }

    @Test func `the log names the reason why a subscription cannot be sent`() async throws {
        let time = FakeClock()
        let lines = Mutex<[String]>([])
        let log = StoreLog(from: .debug) { level, message, _ in
            lines.withLock { $0.append("\(level): \(message)") }
        }
        var store = StoreOptions(log: log)
        store.storage.clock = Clock(
            wallMilliseconds: { time.clock.wallMilliseconds() },
            monotonicNanoseconds: { Clock.system.monotonicNanoseconds() })
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "subscriptions", key: PeerKey.random(), transports: [], store: store))
        time.setWall(milliseconds: Self.year10000)
        try peer.sync.registerSubscription(DQL(verbatim: query))
        // The replication thread has received the subscription when it has answered.
        _ = peer.answer { _ in true }
        let early = lines.withLock { $0.filter { $0.contains("cannot be sent") } }
        #expect(early == [])
        // A clock that was wrong is corrected; each change of the subscriptions renews them.
        time.setWall(milliseconds: 1_780_000_000_000)
        try peer.sync.registerSubscription("SELECT * FROM boats")
        _ = peer.answer { _ in true }
        let found = lines.withLock { $0.filter { $0.contains("cannot be sent") } }
        #expect(found.count == 1)
        let start = "error: a subscription cannot be sent: the query of a subscription has "
        #expect(found.first?.hasPrefix(start) == true, "\(found)")
        // It is logged once, although each change renews it again.
        try peer.sync.registerSubscription("SELECT * FROM planes")
        _ = peer.answer { _ in true }
        let later = lines.withLock { $0.filter { $0.contains("cannot be sent") } }
        #expect(later == found)
        try await peer.close()
    }

    @Test func `a subscription that cannot be sent does not affect others`() throws {
        let scene = try DocumentScene(2)
        let clock = scene.nodes[1].clock
        let wall = clock.clock.wallMilliseconds()
        clock.setWall(milliseconds: Self.year10000)
        let long = try scene.nodes[1].store.subscriptions([query])
        clock.setWall(milliseconds: wall)
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 'a'})")
        try scene.connect(0, 1)
        scene.nodes[1].replicator.subscribe(long)
        let boats = try scene.nodes[1].store.subscriptions(["SELECT * FROM boats"])
        scene.nodes[1].replicator.subscribe(long + boats)
        try scene.perform(1)
        try scene.run()
        #expect(try scene.rows(1, "SELECT _id FROM boats").count == 1)
        #expect(scene.nodes[1].store.errors.count == 1)
    }
}
