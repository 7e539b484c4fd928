import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem
import SheafTestSupport
import Testing

/// Peers with wrong clocks, temporarily or permanently.
struct WrongClockTests {
    private static let year: UInt64 = 31_557_600_000
    private static let all: DQL = "SELECT * FROM cars ORDER BY _id"

    /// Returns peers of which the first has one correctly stamped car and one stamped years ahead.
    private static func scene(_ count: Int = 2) throws -> DocumentScene {
        let scene = try DocumentScene(count)
        for number in 0..<count { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'early', 'n': 1})")
        try scene.write(0, ahead: 4 * year) {
            try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'late', 'n': 2})")
        }
        return scene
    }

    @Test func `only documents that are stamped too far ahead are quarantined`() throws {
        let scene = try Self.scene(3)
        try scene.connect(0, 1)
        try scene.connect(0, 2)
        try scene.run()
        #expect(try scene.rows(1, Self.all) == [#"{"_id":"early","n":1}"#])
        // Writes of other peers still pass through the peer with stamps far ahead.
        try scene.execute(2, "INSERT INTO cars DOCUMENTS ({'_id': 'other', 'n': 3})")
        try scene.run()
        #expect(try scene.rows(1, Self.all).count == 2)
        #expect(try scene.rows(0, Self.all).count == 3)
        #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty })
    }

    @Test func `both sides report quarantined documents, and these count as not synced`() throws {
        let scene = try Self.scene()
        try scene.connect(0, 1)
        try scene.run()
        let local = try #require(scene.nodes[1].replicator.allStatuses[scene.nodes[0].key])
        let remote = try #require(scene.nodes[0].replicator.allStatuses[scene.nodes[1].key])
        #expect(local.clock.quarantined?.count == 1)
        #expect(remote.clock.quarantinedRemotely?.count == 1)
        #expect(remote.clock.quarantinedRemotely?.aheadMilliseconds ?? 0 > 3 * Self.year)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == 0)
        #expect(scene.nodes[1].clockWarnings.contains { $0.contains("1 document") })
        #expect(scene.nodes[0].clockWarnings.contains { $0.contains("quarantined 1 document") })
        let peer = try #require(PeerKey(scene.nodes[0].key))
        let found = try #require(
            try scene.nodes[1].replicator.explanation(of: "cars", .string("late"), for: peer))
        #expect(found.quarantinedUntil != nil)
        #expect(!scene.nodes[0].replicator.surveys()[0].isSent)
        #expect(!scene.nodes[1].replicator.surveys()[0].isReceived)
    }

    @Test func `a quarantined document is applied when the clock reaches its stamp`() throws {
        let scene = try Self.scene()
        try scene.connect(0, 1)
        try scene.run()
        let count = scene.nodes[0].sent.count
        for _ in 0..<10 { try scene.advance(milliseconds: 10_000) }
        #expect(!scene.nodes[0].sent.dropFirst(count).contains(.segment), "requested too early")
        scene.nodes[1].clock.advance(milliseconds: 4 * Self.year)
        try scene.advance(milliseconds: 31_000)
        #expect(try scene.rows(1, Self.all).count == 2)
        #expect(scene.nodes[1].replicator.allStatuses[scene.nodes[0].key]?.clock.quarantined == nil)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
    }

    /// Checks that the request is not delayed until the next check of the quarantine, 30 s later.
    @Test func `quarantined documents are applied once an earlier request is answered`() throws {
        let scene = try Self.scene()
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM boats"])
        try scene.connect(0, 1)
        try scene.run()
        // A narrower subscription triggers no reconciliation.
        try scene.subscribe(1, ["SELECT * FROM cars"])
        scene.nodes[1].clock.advance(milliseconds: 4 * Self.year)
        try scene.advance(milliseconds: 31_000)
        #expect(try scene.rows(1, Self.all).count == 2)
    }

    /// Receives documents with foreign stamps, so only their commits have future timestamps.
    @Test func `a store that wrote nothing while its clock was ahead is repaired too`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try scene.connect(0, 1)
        try scene.write(1, ahead: Self.year) { try scene.run() }
        #expect(try scene.rows(1, Self.all).count == 1)
        let repair = try scene.repair(1)
        #expect(repair.clockAheadMilliseconds ?? 0 > Self.year / 2)
        #expect(repair.documentCount == 0)
        #expect(try scene.repair(1).clockAheadMilliseconds == nil)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'n': 2})")
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(0, Self.all).count == 2)
    }

    @Test func `documents beyond the quarantine's limit are received by reconciliation`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.write(0, ahead: Self.year) {
            for start in stride(from: 0, to: 4_500, by: 500) {
                let documents = (start..<start + 500).map { "({'_id': \($0)})" }
                try scene.execute(
                    0,
                    DQL(
                        verbatim: "INSERT INTO cars DOCUMENTS "
                            + documents.joined(separator: ", ")))
            }
        }
        try scene.connect(0, 1)
        try scene.run()
        #expect(
            scene.nodes[1].replicator.allStatuses[scene.nodes[0].key]?.clock.quarantined?.count
                == 4_500)
        scene.nodes[1].clock.advance(milliseconds: Self.year)
        for _ in 0..<4 { try scene.advance(milliseconds: 31_000) }
        #expect(try scene.rows(1, "SELECT COUNT(*) AS n FROM cars") == [#"{"n":4500}"#])
        #expect(scene.nodes[1].replicator.allStatuses[scene.nodes[0].key]?.clock.quarantined == nil)
    }

    @Test(arguments: [(59_999, false), (60_000, true)], [0, 1])
    func `a clock offset is warned of from one minute on, in either direction`(
        _ offset: (milliseconds: UInt64, isWarned: Bool), _ ahead: Int
    ) throws {
        let scene = try DocumentScene(2)
        scene.nodes[ahead].clock.advance(milliseconds: offset.milliseconds)
        try scene.connect(0, 1)
        try scene.run()
        let (late, early) = (scene.nodes[1 - ahead], scene.nodes[ahead])
        #expect(
            late.replicator.allStatuses[early.key]?.clock.offsetMilliseconds
                == Int64(offset.milliseconds))
        #expect(
            early.replicator.allStatuses[late.key]?.clock.offsetMilliseconds
                == -Int64(offset.milliseconds))
        let seconds = offset.milliseconds / 1_000
        let clock = "its clock is about \(seconds) seconds"
        #expect(
            late.clockWarnings == (offset.isWarned ? ["\(clock) ahead of the local clock"] : []))
        #expect(
            early.clockWarnings
                == (offset.isWarned ? ["\(clock) earlier than the local clock"] : []))
    }

    @Test func `a clock offset of a minute is warned of once, across reconnects`() throws {
        let scene = try DocumentScene(2)
        scene.nodes[1].clock.advance(milliseconds: 61_000)
        let first = try scene.connect(0, 1)
        try scene.run()
        let offset = scene.nodes[0].replicator.allStatuses[scene.nodes[1].key]?.clock
            .offsetMilliseconds
        #expect(offset == 61_000)
        #expect(
            scene.nodes[0].clockWarnings == [
                "its clock is about 61 seconds ahead of the local clock"
            ])
        #expect(
            scene.nodes[1].clockWarnings == [
                "its clock is about 61 seconds earlier than the local clock"
            ])
        try scene.disconnect(first)
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[0].clockWarnings.count == 1)
    }

    @Test func `a quarantine is warned of immediately, even after a clock warning`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        scene.nodes[0].clock.advance(milliseconds: 3_630_000)
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes.map(\.clockWarnings.count) == [1, 1])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'late'})")
        try scene.run()
        let (early, late) = (scene.nodes[0].clockWarnings, scene.nodes[1].clockWarnings)
        #expect(late.contains { $0.hasPrefix("1 document from it is quarantined") }, "\(late)")
        #expect(early.contains { $0.hasPrefix("it has quarantined 1 document") }, "\(early)")
    }

    // MARK: Repairs

    @Test func `a repaired document reaches peers that quarantined it`() throws {
        let scene = try Self.scene()
        try scene.connect(0, 1)
        try scene.run()
        let repair = try scene.repair(0)
        #expect(repair.documentCount == 1)
        #expect(repair.clockAheadMilliseconds ?? 0 > 3 * Self.year)
        try scene.run()
        #expect(try scene.rows(1, Self.all) == (try scene.rows(0, Self.all)))
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'new', 'n': 4})")
        try scene.run()
        #expect(try scene.rows(1, Self.all).count == 3)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.repair(0).commit == nil)
    }

    @Test func `a repaired clock stays repaired when the store is opened again`() throws {
        let scene = try Self.scene()
        try scene.repair(0)
        for round in 0..<3 {
            try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
            try scene.subscribe(0, ["SELECT * FROM cars"])
            try scene.execute(
                0, DQL(verbatim: "UPDATE cars SET round = \(round) WHERE _id = 'late'"))
            try scene.connect(0, 1)
            try scene.run()
            #expect(try scene.rows(1, Self.all) == (try scene.rows(0, Self.all)))
            #expect(try scene.rows(1, Self.all).count == 2)
        }
    }

    @Test func `a repaired document replaces its old state on peers that accepted it`() throws {
        let scene = try Self.scene(3)
        // The clock of peer 2 is equally wrong, so peer 2 accepts the document.
        scene.nodes[2].clock.advance(milliseconds: 4 * Self.year)
        let wire = try scene.connect(0, 2)
        try scene.run()
        try scene.disconnect(wire)
        #expect(try scene.rows(2, Self.all).count == 2)
        try scene.repair(0)
        for (left, right) in [(0, 1), (1, 2), (0, 2)] { try scene.connect(left, right) }
        try scene.run()
        try scene.execute(1, "UPDATE cars SET n = 5 WHERE _id = 'late'")
        try scene.run()
        for _ in 0..<5 { try scene.advance(milliseconds: 1_000) }
        for number in 0..<3 {
            #expect(
                try scene.rows(number, Self.all) == [
                    #"{"_id":"early","n":1}"#, #"{"_id":"late","n":5}"#,
                ])
        }
    }

    @Test func `two stores that repair the same documents do not count increments twice`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        let wire = try scene.connect(0, 1)
        scene.nodes[1].clock.advance(milliseconds: Self.year)
        try scene.write(0, ahead: Self.year) {
            try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'kind': {'x': 1}})")
            try scene.execute(0, "UPDATE cars APPLY n INCREMENT BY 5 WHERE _id = 'a'")
            try scene.execute(0, "UPDATE cars SET kind = 7 WHERE _id = 'a'")
            try scene.run()
        }
        try scene.disconnect(wire)
        let before = try scene.rows(0, Self.all)
        #expect(try scene.rows(1, Self.all) == before)
        scene.nodes[1].clock.setWall(milliseconds: scene.nodes[0].clock.clock.wallMilliseconds())
        try scene.repair(0)
        scene.nodes[1].clock.advance(milliseconds: 1_000)
        try scene.repair(1)
        for (left, right) in [(0, 2), (1, 2), (0, 1)] { try scene.connect(left, right) }
        try scene.run()
        for number in 0..<3 { #expect(try scene.rows(number, Self.all) == before) }
    }

    /// Repairs a car at the same millisecond in a store that lacks an earlier write to it.
    @Test(arguments: [0, 1, 1_000] as [UInt64])
    func `stores that repair different states of a document agree on it`(_ delay: UInt64) throws {
        let scene = try DocumentScene(3)
        for number in 1..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        scene.nodes[1].clock.advance(milliseconds: Self.year)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red', 'n': 51})")
        let wire = try scene.connect(0, 1)
        try scene.write(0, ahead: Self.year + 1_000) {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'blue', 'n': 60})")
            try scene.execute(0, "UPDATE cars SET n = 57 WHERE _id = 'a'")
            try scene.run()
        }
        try scene.disconnect(wire)
        let car = [#"{"_id":"a","color":"blue","n":57}"#]
        for number in 0..<2 { #expect(try scene.rows(number, Self.all) == car) }
        let wall = scene.nodes[0].clock.clock.wallMilliseconds()
        try scene.repair(0)
        scene.nodes[1].clock.setWall(milliseconds: wall + delay)
        try scene.repair(1)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        for (left, right) in [(0, 2), (1, 2), (0, 1)] { try scene.connect(left, right) }
        try scene.run()
        for number in 0..<3 { #expect(try scene.rows(number, Self.all) == car) }
    }

    // MARK: Any time

    @Test(
        arguments: [
            0, 1, 1_780_000_000_000, 18_446_744_073_709, 18_446_744_073_710, 253_402_300_799_999,
            281_474_976_710_655, 281_474_976_710_656, 9_214_364_837_600_034_000, UInt64(Int64.max),
            .max,
        ] as [UInt64])
    func `a peer replicates with any time on its clock`(_ wall: UInt64) throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        scene.nodes[0].clock.setWall(milliseconds: wall)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'n': 2})")
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[0].clock.setWall(milliseconds: 1_780_000_000_000)
        try scene.advance(milliseconds: 60_000)
        try scene.repair(0)
        try scene.advance(milliseconds: 60_000)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'n': 3})")
        try scene.run()
        for number in 0..<2 {
            #expect(try scene.rows(number, Self.all).count == 3, "peer \(number), clock \(wall)")
        }
    }

    @Test func `a clock that is set is noticed thirty seconds after the last check`() throws {
        let scene = try Self.scene()
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[1].clock.advance(milliseconds: 4 * Self.year)
        try scene.advance(milliseconds: 29_999)
        #expect(try scene.rows(1, Self.all).count == 1)
        try scene.advance(milliseconds: 1)
        #expect(try scene.rows(1, Self.all).count == 2)
    }
}

extension DocumentScene {
    /// Writes with a clock that is ahead, and sets the clock back.
    fileprivate func write(_ number: Int, ahead milliseconds: UInt64, _ body: () throws -> Void)
        throws
    {
        let wall = nodes[number].clock.clock.wallMilliseconds()
        nodes[number].clock.setWall(milliseconds: wall + milliseconds)
        try body()
        nodes[number].clock.setWall(milliseconds: wall)
    }

    @discardableResult
    fileprivate func repair(_ number: Int) throws -> ClockRepair {
        let engine = nodes[number].store.engine
        let repair = try nodes[number].store.queries.documents.repairClock {
            (batch) throws(StorageError) in
            try engine.append(batch)
        } flush: { () throws(StorageError) in
            while try engine.flush() {}
        }
        try published(number)
        return repair
    }
}
