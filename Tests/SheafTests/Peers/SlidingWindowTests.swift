import Sheaf
import SheafDocument
import SheafQuery
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Subscriptions that read `clock()`, whose time the subscriber renews.
struct SlidingWindowTests {
    private static let lastDay = "SELECT * FROM cars WHERE at > date_sub(clock(), 'hour', 24)"
    private static let published = "SELECT * FROM cars WHERE at <= clock()"

    /// Lets time pass in steps that are shorter than the idle timeout of connections.
    private func pass(_ scene: DocumentScene, milliseconds: UInt64) throws {
        for _ in 0..<milliseconds / 5_000 { try scene.advance(milliseconds: 5_000) }
        if milliseconds % 5_000 > 0 { try scene.advance(milliseconds: milliseconds % 5_000) }
    }

    /// Inserts a document whose time lies `seconds` after the clock of a peer.
    private func insert(_ scene: DocumentScene, _ id: String, seconds: Int, at number: Int = 0)
        throws
    {
        try scene.execute(
            number,
            """
            INSERT INTO cars DOCUMENTS
                ({'_id': :id, 'at': date_add(clock(), 'second', :seconds), 'n': 1})
            """, ["id": id, "seconds": seconds])
    }

    private func ids(_ scene: DocumentScene, _ number: Int) throws -> [String] {
        try scene.rows(number, "SELECT _id FROM cars ORDER BY _id")
    }

    private func subscribeCount(_ scene: DocumentScene, _ number: Int) -> Int {
        scene.nodes[number].sent.count { $0 == .subscribe }
    }

    private func set(_ scene: DocumentScene, _ number: Int, interval: Int) throws {
        _ = try scene.nodes[number].store.queries.execute(
            try Parser.parse("ALTER SYSTEM SET subscription_clock_interval_ms = \(interval)"))
    }

    // MARK: Entering and leaving

    @Test func `a document enters a window at the next renewal, and not before`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [Self.published])
        try insert(scene, "a", seconds: 30)
        try insert(scene, "b", seconds: 90)
        try scene.connect(0, 1)
        try scene.run()
        try pass(scene, milliseconds: 59_999)
        #expect(try ids(scene, 1).isEmpty)
        #expect(subscribeCount(scene, 1) == 1)
        try pass(scene, milliseconds: 1)
        #expect(try ids(scene, 1) == [#"{"_id":"a"}"#])
        #expect(subscribeCount(scene, 1) == 2)
        try pass(scene, milliseconds: 60_001)
        #expect(try ids(scene, 1) == [#"{"_id":"a"}"#, #"{"_id":"b"}"#])
        #expect(scene.nodes[1].store.errors.isEmpty)
    }

    @Test func `a document that has left a window is not updated, and stays until it is evicted`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [Self.lastDay])
        try insert(scene, "a", seconds: 30 - 86_400)
        try insert(scene, "b", seconds: 0)
        try scene.connect(0, 1)
        try scene.run()
        #expect(try ids(scene, 1).count == 2)
        let asked = scene.nodes[1].sent.count { $0 == .ask || $0 == .want }
        try pass(scene, milliseconds: 120_000)
        #expect(subscribeCount(scene, 1) == 3)
        try scene.execute(0, "UPDATE cars SET n = 2")
        try scene.run()
        #expect(try scene.rows(1, "SELECT n FROM cars ORDER BY _id") == [#"{"n":1}"#, #"{"n":2}"#])
        // A lower bound that rises keeps the cursor: nothing is compared again.
        #expect(scene.nodes[1].sent.count { $0 == .ask || $0 == .want } == asked)
        try scene.execute(1, "EVICT FROM cars WHERE at <= date_sub(clock(), 'hour', 24)")
        try pass(scene, milliseconds: 120_000)
        #expect(try ids(scene, 1) == [#"{"_id":"b"}"#])
        try scene.execute(0, "UPDATE cars SET n = 3")
        try scene.run()
        #expect(try scene.rows(1, "SELECT n FROM cars") == [#"{"n":3}"#])
    }

    @Test func `a document evicted between two renewals because it has left does not return`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [Self.lastDay])
        try insert(scene, "a", seconds: 10 - 86_400)
        try insert(scene, "b", seconds: 0)
        try scene.connect(0, 1)
        try scene.run()
        try pass(scene, milliseconds: 20_000)
        #expect(subscribeCount(scene, 1) == 1)
        try scene.execute(1, "EVICT FROM cars WHERE at <= date_sub(clock(), 'hour', 24)")
        try scene.run()
        #expect(subscribeCount(scene, 1) == 2)
        #expect(try ids(scene, 1) == [#"{"_id":"b"}"#])
        // A document within the window is received again.
        try scene.execute(1, "EVICT FROM cars")
        try pass(scene, milliseconds: 1_000)
        #expect(try ids(scene, 1) == [#"{"_id":"b"}"#])
    }

    @Test func `evictions of hidden documents do not renew a window before it is due`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [Self.lastDay])
        try insert(scene, "hidden", seconds: 10 - 86_400, at: 1)
        let rights = PeerRights(read: ["cars": "_id = 'shown'"], write: ["cars": "true"])
        try scene.connect(0, 1, rightsOfLeft: rights)
        try scene.run()
        try pass(scene, milliseconds: 20_000)
        let count = subscribeCount(scene, 1)
        try scene.execute(1, "EVICT FROM cars WHERE at <= date_sub(clock(), 'hour', 24)")
        try pass(scene, milliseconds: 35_000)
        #expect(subscribeCount(scene, 1) == count)
        try insert(scene, "shown", seconds: 0)
        try pass(scene, milliseconds: 10_000)
        #expect(subscribeCount(scene, 1) == count + 1)
        #expect(try ids(scene, 1) == [#"{"_id":"shown"}"#])
    }

    /// Gives the last peer of a chain a clock that is 10 minutes ahead.
    @Test func `the clock of the subscriber decides, also along a chain`() throws {
        let scene = try DocumentScene(3)
        let ahead = scene.nodes[2].clock
        ahead.setWall(milliseconds: ahead.clock.wallMilliseconds() + 600_000)
        let window = Self.lastDay + " AND at <= clock()"
        for number in 1...2 { try scene.subscribe(number, [window]) }
        try insert(scene, "a", seconds: 300 - 86_400)
        try insert(scene, "b", seconds: -3_600)
        try insert(scene, "c", seconds: 300)
        try scene.connect(0, 1)
        try scene.connect(1, 2)
        try scene.run()
        #expect(try ids(scene, 1) == [#"{"_id":"a"}"#, #"{"_id":"b"}"#])
        #expect(try ids(scene, 2) == [#"{"_id":"b"}"#])
        try pass(scene, milliseconds: 360_000)
        #expect(try ids(scene, 1).count == 3)
        #expect(try ids(scene, 2) == [#"{"_id":"b"}"#, #"{"_id":"c"}"#])
    }

    // MARK: Renewals

    @Test func `the timer of a window begins at its subscription and ends with it`() throws {
        let scene = try DocumentScene(1)
        try scene.run()
        let before = scene.nodes[0].replicator.deadline
        try scene.subscribe(0, [Self.lastDay])
        try scene.run()
        #expect(scene.nodes[0].replicator.deadline == scene.now + 60_000_000_000)
        try set(scene, 0, interval: 1_500)
        #expect(scene.nodes[0].replicator.deadline == scene.now + 1_500_000_000)
        try scene.subscribe(0, [])
        #expect(scene.nodes[0].replicator.deadline == before)
    }

    @Test func `a synchronization longer than the interval is not begun again`() throws {
        let scene = try DocumentScene(2)
        try set(scene, 1, interval: 1_000)
        try scene.subscribe(1, [Self.lastDay])
        for number in 0..<20 { try insert(scene, "\(number)", seconds: 0) }
        scene.nodes[1].isBusy = true
        try scene.connect(0, 1)
        try scene.run()
        let length = scene.nodes[0].segmentLength
        #expect(length > 0)
        try pass(scene, milliseconds: 20_000)
        #expect(subscribeCount(scene, 1) == 1)
        scene.nodes[1].isBusy = false
        try scene.run()
        #expect(try ids(scene, 1).count == 20)
        // The renewal that waited follows, and receives no document again.
        #expect(subscribeCount(scene, 1) == 2)
        #expect(scene.nodes[0].segmentLength < length + 200)
        try insert(scene, "new", seconds: 0)
        for _ in 0..<3 { try pass(scene, milliseconds: 1_000) }
        #expect(try ids(scene, 1).count == 21)
        #expect(subscribeCount(scene, 1) == 5)
    }

    // MARK: Texts

    @Test(arguments: [
        ("at > clock()", "at > '2026-05-28T20:26:40+00:00'"),
        ("day = clock('%Y-%m-%d')", "day = date_format('2026-05-28T20:26:40+00:00', '%Y-%m-%d')"),
        (
            "ANY d IN days SATISFIES d = (CLOCK ('%Y', zone)) END",
            "ANY d IN days SATISFIES d = (date_format('2026-05-28T20:26:40+00:00', '%Y', zone)) END"
        ),
        (
            "at > clock( /* ( */ clock('%Y') ) OR s = 'clock()'",
            "at > date_format('2026-05-28T20:26:40+00:00',  /* ( */ "
                + "date_format('2026-05-28T20:26:40+00:00', '%Y') ) OR s = 'clock()'"
        ),
        ("at > :clock AND clock = 1", "at > :clock AND clock = 1"),
    ])
    func `the sent text has the time in place of clock()`(_ condition: String, _ sent: String)
        throws
    {
        let statement = try Parser.parse("SELECT * FROM cars WHERE \(condition)")
        let fixed = try statement.fixed(clockAt: 1_780_000_000_000)
        #expect((fixed ?? statement).text == "SELECT * FROM cars WHERE \(sent)")
    }

    @Test func `after the year 9999 a window selects what clock() as MISSING selects`() throws {
        let scene = try DocumentScene(2)
        scene.nodes[1].clock.setWall(milliseconds: 253_402_300_800_000)
        try scene.subscribe(1, [Self.lastDay, "SELECT * FROM cars WHERE clock('%Y') IS MISSING"])
        try insert(scene, "a", seconds: 0)
        try scene.connect(0, 1)
        try scene.run()
        #expect(try ids(scene, 1).count == 1)
        try scene.subscribe(1, [Self.lastDay])
        let texts = try scene.nodes[1].store.subscriptions([Self.lastDay]).map(\.wire.text)
        #expect(texts == ["SELECT * FROM cars WHERE at > date_sub(MISSING, 'hour', 24)"])
    }

    @Test(arguments: [
        ("SELECT * FROM cars ORDER BY clock() LIMIT 1", "allowed only in the WHERE"),
        (
            "SELECT * FROM cars LIMIT CASE WHEN clock() > 'a' THEN 1 ELSE 2 END",
            "allowed only in the WHERE"
        ),
        ("SELECT * FROM cars WHERE tz_offset('Europe/Berlin') = offset", "tz_offset()"),
    ])
    func `a subscription that reads the time elsewhere is refused with a reason`(
        _ query: String, _ reason: String
    ) throws {
        let scene = try DocumentScene(1)
        let error = #expect(throws: StoreError.self) { try scene.subscribe(0, [query]) }
        #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
    }
}
