import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Stores rolled back to an older state, or running twice, with files that do not show it.
struct LostWriteTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    private func site(_ scene: DocumentScene, _ number: Int) -> Site {
        scene.nodes[number].store.queries.documents.site
    }

    @Test(arguments: 0..<4)
    func `a peer keeps the lost writes of a store, which receives them when it subscribes`(
        _ openings: Int
    ) throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.write(0, "a", "first")
        try scene.connectAndRun(0, 1)
        let backup = scene.nodes[0].volume.processDeath()
        try scene.write(0, "a", "lost")
        try scene.write(0, "b", "lost")
        try scene.run()
        let old = site(scene, 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        for opening in 0..<openings {
            try scene.write(0, "a", "opening\(opening)")
            try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        }
        try scene.write(0, "a", "new")
        try scene.write(0, "b", "new")
        #expect(site(scene, 0) == old)
        try scene.connectAndRun(0, 1)
        #expect(site(scene, 0) != old)
        #expect(scene.nodes[1].closeMessages.map(\.code) == [.lostWrite])
        let rows = try scene.rows(1, all)
        let fields = (0..<openings).map { #""opening\#($0)":1"# }.joined(separator: ",")
        let middle = fields.isEmpty ? "" : ",\(fields)"
        #expect(
            rows == [
                #"{"_id":"a","first":1,"lost":1,"new":1\#(middle)}"#,
                #"{"_id":"b","lost":1,"new":1}"#,
            ])
        try scene.subscribe(0, [cars])
        try scene.run()
        #expect(try scene.rows(0, all) == rows)
    }

    /// The store lacks the complete document, so that no state of its own shows the lost write.
    @Test func `a store that receives a document that it has lost draws a new site`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.write(0, "a", "first")
        try scene.connectAndRun(0, 1)
        let backup = scene.nodes[0].volume.processDeath()
        try scene.write(0, "b", "first")
        try scene.run()
        let old = site(scene, 0)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        // The clock of the site is later than the lost write.
        try scene.write(0, "c", "first")
        #expect(site(scene, 0) == old)
        try scene.subscribe(0, [cars])
        try scene.connectAndRun(0, 1)
        #expect(site(scene, 0) != old)
        let rows = ["a", "b", "c"].map { #"{"_id":"\#($0)","first":1}"# }
        for number in 0...1 { #expect(try scene.rows(number, all) == rows, "peer \(number)") }
    }

    private func count(_ scene: DocumentScene, _ number: Int, _ field: String, _ amount: Int)
        throws
    {
        try scene.advance(milliseconds: 1)
        try scene.execute(
            number,
            DQL(verbatim: "UPDATE cars APPLY \(field) INCREMENT BY \(amount) WHERE _id = 'a'"))
        try scene.advance(milliseconds: 1)
    }

    /// Returns a scene whose peer 1 has a document with two counters, and the disk of the writer.
    private func countingScene(_ count: Int = 2) throws -> (DocumentScene, SimulatedVolume) {
        let scene = try DocumentScene(count)
        for number in 1..<count { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for field in ["one", "two"] { try self.count(scene, 0, field, 5) }
        try scene.connectAndRun(0, 1)
        return (scene, scene.nodes[0].volume.processDeath())
    }

    @Test func `lost writes to a document with counters are kept`() throws {
        let (scene, backup) = try countingScene()
        try scene.write(0, "a", "lost")
        try count(scene, 0, "one", 3)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 1)
        #expect(scene.nodes[1].closeMessages.map(\.code) == [.lostWrite])
        let rows = [#"{"_id":"a","first":1,"lost":1,"new":1,"one":8,"two":5}"#]
        #expect(try scene.rows(1, all) == rows)
        try scene.subscribe(0, [cars])
        try scene.run()
        #expect(try scene.rows(0, all) == rows)
    }

    @Test func `a lost restart of a counter replaces concurrent additions`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.write(0, "a", "first")
        try scene.execute(0, "UPDATE cars APPLY one RESTART WITH 0 SET first = 2, second = 2")
        try scene.connectAndRun(0, 1)
        let backup = scene.nodes[0].volume.processDeath()
        try scene.advance(milliseconds: 1)
        try scene.execute(0, "UPDATE cars APPLY one RESTART WITH 0 SET first = 3")
        try scene.run()
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        try count(scene, 0, "one", 2)
        try scene.connectAndRun(0, 1)
        let rows = [#"{"_id":"a","first":3,"one":0,"second":2}"#]
        #expect(try scene.rows(1, all) == rows)
        try scene.subscribe(0, [cars])
        try scene.run()
        #expect(try scene.rows(0, all) == rows)
    }

    @Test(arguments: [false, true])
    func `a counter keeps the additions that follow a rollback`(_ subscribe: Bool) throws {
        let (scene, backup) = try countingScene(3)
        try scene.execute(0, "UPDATE cars SET first = 2")
        try count(scene, 0, "two", 3)
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        if subscribe { try scene.subscribe(0, [cars]) }
        try count(scene, 0, "one", 2)
        // Peer 2 receives the count under the old site, and has no lost writes.
        let early = try scene.connect(0, 2)
        try scene.run()
        try scene.disconnect(early)
        try scene.connectAndRun(0, 1)
        try count(scene, 0, "one", 1)
        try scene.connectAndRun(0, 2)
        try scene.connectAndRun(1, 2)
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        for number in (subscribe ? 0 : 1)..<3 {
            #expect(
                try scene.rows(number, all) == [#"{"_id":"a","first":2,"one":8,"two":8}"#],
                "peer \(number)")
        }
    }

    /// Returns a scene in which peers 1 and 2 have the lost writes of store 0, and no new ones.
    private func forgetfulScene(writes: Bool = true) throws -> DocumentScene {
        let scene = try DocumentScene(3)
        for number in 1...2 { try scene.subscribe(number, [cars]) }
        try scene.write(0, "a", "first")
        for number in 1...2 { try scene.connectAndRun(0, number) }
        let backup = scene.nodes[0].volume.processDeath()
        try scene.write(0, "a", "lost")
        try scene.run()
        for number in 1...2 { #expect(try scene.rows(number, all) == known) }
        try scene.putBack(0, to: backup.rolledBack(seed: 7))
        if writes { try scene.write(0, "a", "new") }
        return scene
    }

    private let known = [#"{"_id":"a","first":1,"lost":1}"#]

    /// Makes the moved writes durable, and expects all writes on both peers.
    private func settleMoved(_ scene: DocumentScene, _ wire: UInt64? = nil) throws {
        scene.nodes[0].flushesLate = false
        try scene.nodes[0].store.flush()
        try scene.published(0)
        if let wire { try scene.letGo(wire, to: 0) }
        for number in 1...2 { try scene.connectAndRun(0, number) }
        for number in 1...2 {
            let rows = try scene.rows(number, all)
            #expect(rows == [#"{"_id":"a","first":1,"lost":1,"new":1}"#], "peer \(number)")
        }
    }

    /// Connects peers, or subscribes, while the writes moved to the new site are not durable.
    @Test(arguments: [false, true])
    func `the pauses of a site apply until its writes are durably moved to another site`(
        _ isConnected: Bool
    ) throws {
        let scene = try forgetfulScene()
        let old = site(scene, 0)
        if isConnected {
            try scene.subscribe(2, [])
            try scene.connect(0, 2)
            try scene.run()
        }
        scene.nodes[0].flushesLate = true
        for _ in 0..<3 {
            try scene.connect(0, 1)
            try scene.run()
        }
        #expect(site(scene, 0) != old)
        try scene.subscribe(2, [cars])
        if !isConnected { try scene.connect(0, 2) }
        try scene.run()
        for number in 1...2 { #expect(try scene.rows(number, all) == known, "peer \(number)") }
        try settleMoved(scene)
    }

    @Test func `a new site is reported after the documents reconciled before the move`() throws {
        let scene = try forgetfulScene()
        scene.nodes[0].flushesLate = true
        try scene.connect(0, 1)
        try scene.run()
        let wire = try scene.connect(0, 2)
        let wants = scene.nodes[2].sent.count { $0 == .want }
        for _ in 0..<100 where scene.nodes[2].sent.count(where: { $0 == .want }) == wants {
            try scene.run(steps: 1)
        }
        #expect(scene.isConnected(wire) && scene.nodes[2].sent.last == .want)
        scene.hold(wire, to: 0)
        try settleMoved(scene, wire)
        #expect(scene.nodes[2].closeMessages.map(\.code) == [.lostWrite])
    }

    @Test func `a new site does not overtake the batches that wait to be written`() throws {
        let scene = try forgetfulScene(writes: false)
        // A document that enters a subscription is sent completely, and its vector covers the lost
        // write.
        try scene.subscribe(2, [cars + " WHERE new = 1"])
        let wire = try scene.connect(0, 2)
        try scene.run()
        scene.nodes[2].isBusy = true
        try scene.write(0, "b", "new")
        try scene.write(0, "a", "new")
        try scene.connectAndRun(0, 1)
        #expect(scene.isConnected(wire))
        scene.nodes[2].isBusy = false
        try scene.run()
        #expect(scene.nodes[2].closeMessages.map(\.code) == [.lostWrite])
        try scene.connectAndRun(0, 2)
        let rows = try scene.rows(2, all)
        #expect(rows == [#"{"_id":"a","first":1,"lost":1,"new":1}"#, #"{"_id":"b","new":1}"#])
    }

    @Test(arguments: [false, true])
    func `two running copies of one disk continue as two sites`(_ subscribe: Bool) throws {
        let scene = try DocumentScene(3)
        try scene.subscribe(2, [cars])
        try scene.write(0, "a", "first")
        try scene.connectAndRun(0, 2)
        let disk = scene.nodes[0].volume.processDeath()
        try scene.putBack(0, to: disk.rolledBack(seed: 8))
        try scene.putBack(1, to: disk.rolledBack(seed: 9))
        if subscribe {
            for number in 0..<2 { try scene.subscribe(number, [cars]) }
        }
        for (round, field) in ["one", "two", "three", "four"].enumerated() {
            try scene.write(round % 2, "a", field)
            try scene.write(round % 2, "only\(round)", field)
        }
        #expect(site(scene, 0) == site(scene, 1))
        try scene.connectAndRun(0, 2)
        try scene.connectAndRun(1, 2)
        #expect(site(scene, 0) != site(scene, 1))
        for (round, field) in ["five", "six"].enumerated() {
            try scene.write(round, "a", field)
        }
        // An announced document that does not arrive is requested after 300 ms.
        for _ in 0..<3 { try scene.advance(milliseconds: 500) }
        #expect(scene.nodes.allSatisfy { $0.closeMessages.isEmpty })
        let rows = try scene.rows(2, all)
        #expect(
            rows == [
                #"{"_id":"a","first":1,"five":1,"four":1,"one":1,"six":1,"three":1,"two":1}"#
            ]
                + ["one", "two", "three", "four"].enumerated().map {
                    #"{"_id":"only\#($0)","\#($1)":1}"#
                })
        for number in 0..<2 where subscribe { #expect(try scene.rows(number, all) == rows) }
    }

    @Test func `a store keeps its 16 longest pauses`() throws {
        let scene = try DocumentScene(1)
        try scene.write(0, "a", "first")
        for round in 0..<20 {
            try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
            try scene.advance(milliseconds: UInt64(10 * (1 + round * 7 % 20)))
            try scene.write(0, "a", "later")
        }
        let lengths = scene.nodes[0].store.queries.documents.pauses.map {
            $0.before.milliseconds - $0.after.milliseconds
        }
        #expect(lengths.count == 16 && lengths.allSatisfy { $0 >= 50 }, "\(lengths)")
    }

    @Test func `a store draws no new site for a write that it cannot have lost`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(0, [cars])
        for _ in 0..<3 {
            try scene.write(0, "a", "first")
            try scene.putBack(0, to: scene.nodes[0].volume.processDeath())
        }
        try scene.write(0, "a", "last")
        try scene.subscribe(0, [cars])
        let old = site(scene, 0)
        let pauses = scene.nodes[0].store.queries.documents.pauses
        #expect(pauses.count == 3)
        var times = pauses.flatMap { [$0.after, $0.before] }
        times += [.initial, HybridTime(rawValue: .max)]
        let other = Site(rawValue: old.rawValue ^ 1)
        func forgotten(_ site: Site, _ time: HybridTime?) -> Frame {
            Frame(.lostWrite, LostWrite(site: site, time: time).bytes)
        }
        try scene.receive(
            times.filter { $0 != .initial }.map { forgotten(old, $0) } + [forgotten(other, nil)],
            on: 0)
        #expect(site(scene, 0) == old)
        let middle = HybridTime(rawValue: pauses[1].after.rawValue + 1)
        try scene.receive(Array(repeating: forgotten(old, middle), count: 3), on: 0)
        let new = site(scene, 0)
        #expect(new != old)
        // All writes of a site drawn in this opening are in the store.
        #expect(scene.nodes[0].store.queries.documents.pauses.isEmpty)
        try scene.receive([forgotten(new, nil)], on: 0)
        #expect(site(scene, 0) == new)
        #expect(try scene.rows(0, all) == [#"{"_id":"a","first":1,"last":1}"#])
    }
}
