import Sheaf
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Read repairs, up to their maximum number and beyond.
struct ReadRepairTests {
    private let cars = "SELECT * FROM cars"
    private let red = "SELECT * FROM cars WHERE color = 'red'"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    /// Returns peers: peer 0 has two blue cars, and peer 1 their older red states.
    private func scene(_ count: Int, most: Int) throws -> DocumentScene {
        let scene = try DocumentScene(count, maximumRepairs: most)
        for number in 0..<2 { try scene.subscribe(number, [cars]) }
        for number in 2..<count { try scene.subscribe(number, [red]) }
        let early = try scene.connect(0, 1)
        try scene.execute(
            0,
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'}), ({'_id': 'b', 'color': 'red'})"
        )
        try scene.run()
        try scene.disconnect(early)
        try scene.execute(0, "UPDATE cars SET color = 'blue'")
        return scene
    }

    /// Makes a peer get red cars from peer 1 and send them to peer 0, whose repair is lost.
    private func mislead(_ number: Int, _ scene: DocumentScene) throws {
        let wire = try scene.connect(0, number)
        try scene.run()
        scene.hold(wire, to: number)
        let relayConnection = try scene.connect(1, number)
        try scene.run()
        let older = try scene.rows(number, "SELECT color FROM cars")
        #expect(older == [#"{"color":"red"}"#, #"{"color":"red"}"#])
        try scene.disconnect(wire)
        try scene.disconnect(relayConnection)
    }

    private let newer = [#"{"_id":"a","color":"blue"}"#, #"{"_id":"b","color":"blue"}"#]

    @Test func `documents beyond the maximum of read repairs are reconciled`() throws {
        let scene = try scene(3, most: 1)
        try mislead(2, scene)
        #expect(scene.nodes[0].replicator.repairCount == 0)
        try scene.connect(0, 2)
        try scene.run()
        let rows = try scene.rows(2, all)
        #expect(rows == newer)
    }

    @Test func `all peers together have no more read repairs than the maximum`() throws {
        let most = 5
        let scene = try scene(9, most: most)
        var greatest = 0
        for number in 2..<9 {
            try mislead(number, scene)
            greatest = max(greatest, scene.nodes[0].replicator.repairCount)
        }
        #expect((2...most).contains(greatest), "\(greatest)")
        for number in 2..<9 {
            try scene.connect(0, number)
            try scene.run()
            let rows = try scene.rows(number, all)
            #expect(rows == newer, "peer \(number)")
        }
        // Repairs sent without a new commit are acknowledged with a later one.
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 'c'})")
        try scene.run()
        #expect(scene.nodes[0].replicator.repairCount == 0)
    }

    /// Exceeds the maximum while both peers are connected, so that they reconcile immediately.
    @Test func `beyond the maximum of read repairs a connected peer reconciles`() throws {
        let scene = try scene(3, most: 1)
        try scene.connect(0, 2)
        try scene.run()
        try scene.connect(1, 2)
        try scene.run()
        let rows = try scene.rows(2, all)
        #expect(rows == newer)
        #expect(scene.nodes[0].replicator.repairCount == 0)
        #expect(scene.nodes[0].sent.contains(.restart))
    }

    /// Delays the flush of a commit for which all repairs wait.
    @Test func `a peer with limited rights reconciles beyond the maximum of read repairs`() throws {
        let scene = try DocumentScene(2)
        let rights = PeerRights(read: ["cars": "n >= 0"], write: ["cars": "true"])
        try scene.subscribe(0, [cars])
        try scene.subscribe(1, [red])
        let count = 4_100
        for first in stride(from: 0, to: count, by: 820) {
            let rows = (first..<first + 820).map { "({'_id': \($0), 'n': 1, 'color': 'red'})" }
            try scene.execute(
                0,
                DQL(verbatim: "INSERT INTO cars DOCUMENTS \(rows.joined(separator: ", "))"))
        }
        let early = try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        try scene.disconnect(early)
        try scene.execute(0, "UPDATE cars SET color = 'blue'")
        try scene.execute(1, "UPDATE cars SET note = 1")
        scene.nodes[0].isBusy = true
        try scene.connect(0, 1, rightsOfRight: rights)
        try scene.run()
        let before = scene.nodes[0].sent.count { $0 == .restart }
        (scene.nodes[0].isBusy, scene.nodes[0].flushesLate) = (false, true)
        try scene.run()
        #expect(scene.nodes[0].sent.count { $0 == .restart } == before + 1)
        scene.nodes[0].flushesLate = false
        try scene.nodes[0].store.flush()
        try scene.published(0)
        try settle(scene)
        let blue: DQL = "SELECT COUNT(*) AS n FROM cars WHERE color = 'blue' AND note = 1"
        for number in 0..<2 {
            #expect(try scene.rows(number, blue) == [#"{"n":4100}"#], "peer \(number)")
        }
    }

    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<8 { try scene.advance(milliseconds: 1_000) }
    }

    /// Returns peers: peer 0 has a blue car, and peer 2 its older red state, unknown to peer 0.
    private func misled(_ queries: [String]) throws -> DocumentScene {
        let scene = try DocumentScene(3)
        try scene.subscribe(1, [cars])
        try scene.subscribe(2, queries)
        let early = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        try scene.run()
        try scene.disconnect(early)
        try scene.execute(0, "UPDATE cars SET color = 'blue'")
        let wire = try scene.connect(0, 2)
        try scene.run()
        try scene.disconnect(wire)
        let relayConnection = try scene.connect(1, 2)
        try scene.run()
        try scene.disconnect(relayConnection)
        #expect(try scene.rows(2, "SELECT color FROM cars") == [#"{"color":"red"}"#])
        return scene
    }

    /// Covers acknowledgments of earlier batches with the same number, and of older subscriptions.
    @Test(arguments: [false, true])
    func `a read repair is not completed by other acknowledgments`(_ narrows: Bool) throws {
        let scene = try misled([red, "SELECT * FROM boats"])
        let wire = try scene.connect(0, 2)
        try scene.run()
        if narrows { scene.nodes[2].flushesLate = true } else { scene.nodes[2].isBusy = true }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'color': 'red'})")
        try scene.run()
        let sent = scene.nodes[2].sent.count { $0 == .segment }
        try scene.subscribe(0, [cars])
        for _ in 0..<100 where scene.nodes[2].sent.count(where: { $0 == .segment }) == sent {
            try scene.run(steps: 1)
        }
        scene.hold(wire, to: 2)
        try scene.run()
        #expect(scene.nodes[0].replicator.repairCount == 1)
        if narrows {
            try scene.subscribe(2, [red])
            try scene.run()
            scene.nodes[2].flushesLate = false
            try scene.nodes[2].store.flush()
            scene.nodes[2].replicator.processPublished()
            try scene.advance(milliseconds: 1)
        } else {
            scene.nodes[2].isBusy = false
            try scene.run()
        }
        try scene.disconnect(wire)
        try scene.connect(0, 2)
        try settle(scene)
        #expect(
            try scene.rows(2, all) == [
                #"{"_id":"a","color":"blue"}"#, #"{"_id":"b","color":"red"}"#,
            ])
        #expect(scene.nodes[0].replicator.repairCount == 0)
    }

    /// Leaves neither the announcing peer nor the relay anything to send about the document.
    @Test func `an announced document that is newer at the receiver is repaired`() throws {
        let scene = try DocumentScene(4)
        let (receiver, sender, relay, newer) = (0, 1, 2, 3)
        try scene.subscribe(receiver, [cars])
        try scene.subscribe(sender, [red])
        try scene.subscribe(relay, [red])
        let direct = try scene.connect(receiver, sender)
        let side = try scene.connect(receiver, relay)
        let far = try scene.connect(sender, relay)
        try scene.run()
        scene.hold(direct, to: receiver)
        try scene.execute(sender, "INSERT INTO cars DOCUMENTS ({'_id': 'w', 'color': 'red'})")
        try scene.run()
        try scene.letGo(direct, to: receiver)
        #expect(scene.nodes[receiver].sent.contains(.announceOnly))
        scene.hold(side, to: receiver)
        try scene.execute(sender, "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'color': 'red'})")
        try scene.run()
        #expect(scene.nodes[sender].sent.contains(.announce))
        try scene.disconnect(far)
        for _ in 0..<3 {
            try scene.execute(
                newer,
                "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'color': 'blue'}) ON ID CONFLICT DO UPDATE"
            )
        }
        try scene.connect(receiver, newer)
        try scene.run()
        #expect(
            try scene.rows(receiver, "SELECT color FROM cars WHERE _id = 'x'") == [
                #"{"color":"blue"}"#
            ])
        try scene.letGo(side, to: receiver)
        try settle(scene)
        #expect(
            try scene.rows(receiver, "SELECT color FROM cars WHERE _id = 'x'") == [
                #"{"color":"blue"}"#
            ])
        #expect(
            try scene.rows(sender, "SELECT color FROM cars WHERE _id = 'x'") == [
                #"{"color":"blue"}"#
            ])
    }

    @Test func `a peer that is rate limited gets its read repair`() throws {
        let boats = (0..<60).map { "SELECT * FROM boats WHERE n = \($0)" }
        let scene = try DocumentScene(3)
        try scene.subscribe(0, [cars])
        try scene.subscribe(1, [cars])
        try scene.subscribe(2, [red] + boats)
        let early = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        try scene.run()
        try scene.disconnect(early)
        try scene.execute(0, "UPDATE cars SET color = 'blue'")
        let wire = try scene.connect(0, 2)
        try scene.run()
        for number in 0..<40 {
            try scene.subscribe(2, [red] + boats[number...])
            try scene.run()
        }
        try scene.disconnect(wire)
        let relayConnection = try scene.connect(1, 2)
        try scene.run()
        try scene.disconnect(relayConnection)
        #expect(try scene.rows(2, "SELECT color FROM cars") == [#"{"color":"red"}"#])
        try scene.connect(0, 2)
        try scene.run()
        for _ in 0..<5 { try settle(scene) }
        #expect(try scene.rows(2, "SELECT color FROM cars") == [#"{"color":"blue"}"#])
    }

    /// Delays the flush of the newer state on peer 1.
    ///
    /// Until the flush, each repair by peer 1 would be an older state, which peer 0 would repair
    /// again, forever.
    @Test func `a read repair waits until its document is durable`() throws {
        let low = "SELECT * FROM cars WHERE level < 5"
        let scene = try DocumentScene(3)
        for number in 0...1 { try scene.subscribe(number, [low]) }
        try scene.subscribe(2, [cars])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'level': 1})")
        let left = try scene.connect(0, 1)
        let right = try scene.connect(1, 2)
        try scene.run()
        for wire in [left, right] { try scene.disconnect(wire) }
        try scene.execute(0, "UPDATE cars SET level = 9, left = 1")
        try scene.execute(2, "UPDATE cars SET level = 8, right = 1")
        scene.nodes[1].flushesLate = true
        try scene.connect(1, 2)
        try scene.run()
        try scene.connect(0, 1)
        try scene.run()
        scene.nodes[1].flushesLate = false
        try scene.nodes[1].store.flush()
        scene.nodes[1].replicator.processPublished()
        try settle(scene)
        for number in 0...2 {
            let rows = try scene.rows(number, "SELECT left, right FROM cars")
            #expect(rows == [#"{"left":1,"right":1}"#], "peer \(number)")
        }
    }
}
