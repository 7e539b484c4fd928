import Sheaf
import SheafSync
import SheafTestSupport
import Testing

/// Documents that another side has sent in an older state, when there are too many of them to be kept.
struct CorrectionTests {
    private let cars = "SELECT * FROM cars"
    private let red = "SELECT * FROM cars WHERE color = 'red'"
    private let all: Query = "SELECT * FROM cars ORDER BY _id"

    /// Peers of which the first has changed what the second one has: two cars are blue that were red.
    private func scene(_ count: Int, most: Int) throws -> DocumentScene {
        let scene = try DocumentScene(count, mostCorrections: most)
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

    /// Lets a peer get red cars from the second one, and sends them to the first one, whose answer is lost.
    private func mislead(_ number: Int, _ scene: DocumentScene) throws {
        let wire = try scene.connect(0, number)
        try scene.run()
        scene.hold(wire, to: number)
        let detour = try scene.connect(1, number)
        try scene.run()
        let older = try scene.rows(number, "SELECT color FROM cars")
        #expect(older == [#"{"color":"red"}"#, #"{"color":"red"}"#])
        try scene.disconnect(wire)
        try scene.disconnect(detour)
    }

    private let newer = [#"{"_id":"a","color":"blue"}"#, #"{"_id":"b","color":"blue"}"#]

    @Test func `corrections that were too many are found by comparing`() throws {
        let scene = try scene(3, most: 1)
        try mislead(2, scene)
        #expect(scene.nodes[0].host.correctionCount == 0)
        try scene.connect(0, 2)
        try scene.run()
        let rows = try scene.rows(2, all)
        #expect(rows == newer)
    }

    @Test func `corrections of many peers are no more than those of one may be`() throws {
        let most = 5
        let scene = try scene(9, most: most)
        var greatest = 0
        for number in 2..<9 {
            try mislead(number, scene)
            greatest = max(greatest, scene.nodes[0].host.correctionCount)
        }
        #expect((2...most).contains(greatest), "\(greatest)")
        for number in 2..<9 {
            try scene.connect(0, number)
            try scene.run()
            let rows = try scene.rows(number, all)
            #expect(rows == newer, "peer \(number)")
        }
        // What was corrected without a new commit has come when something behind it has.
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 'c'})")
        try scene.run()
        #expect(scene.nodes[0].host.correctionCount == 0)
    }

    /// Both are connected, and too much comes at once: the two compare then and there.
    @Test func `who is connected compares at once`() throws {
        let scene = try scene(3, most: 1)
        try scene.connect(0, 2)
        try scene.run()
        try scene.connect(1, 2)
        try scene.run()
        let rows = try scene.rows(2, all)
        #expect(rows == newer)
        #expect(scene.nodes[0].host.correctionCount == 0)
        #expect(scene.nodes[0].sent.contains(.restart))
    }

    /// The corrections wait for a commit to become durable, and would all be kept until then.
    @Test func `a peer with limited rights compares beyond the maximum of corrections`() throws {
        let scene = try DocumentScene(2)
        let rights = PeerRights(read: ["cars": "n >= 0"], write: ["cars": "true"])
        try scene.subscribe(0, [cars])
        try scene.subscribe(1, [red])
        let count = 4_100
        for first in stride(from: 0, to: count, by: 820) {
            let rows = (first..<first + 820).map { "({'_id': \($0), 'n': 1, 'color': 'red'})" }
            try scene.execute(
                0,
                Query(verbatim: "INSERT INTO cars DOCUMENTS \(rows.joined(separator: ", "))"))
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
        let blue: Query = "SELECT COUNT(*) AS n FROM cars WHERE color = 'blue' AND note = 1"
        for number in 0..<2 {
            #expect(try scene.rows(number, blue) == [#"{"n":4100}"#], "peer \(number)")
        }
    }

    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<8 { try scene.advance(milliseconds: 1_000) }
    }

    /// Peer 0 has a blue car, and peer 2 a red one of old, which peer 0 does not know.
    private func misled(_ wishes: [String]) throws -> DocumentScene {
        let scene = try DocumentScene(3)
        try scene.subscribe(1, [cars])
        try scene.subscribe(2, wishes)
        let early = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 'red'})")
        try scene.run()
        try scene.disconnect(early)
        try scene.execute(0, "UPDATE cars SET color = 'blue'")
        let wire = try scene.connect(0, 2)
        try scene.run()
        try scene.disconnect(wire)
        let detour = try scene.connect(1, 2)
        try scene.run()
        try scene.disconnect(detour)
        #expect(try scene.rows(2, "SELECT color FROM cars") == [#"{"color":"red"}"#])
        return scene
    }

    /// The step before it has the same number, and its acknowledgement comes when the correction is lost; or
    /// that was asked for with an older subscription.
    @Test(arguments: [false, true])
    func `a correction counts when it has come`(_ narrows: Bool) throws {
        let scene = try misled([red, "SELECT * FROM boats"])
        let wire = try scene.connect(0, 2)
        try scene.run()
        if narrows { scene.nodes[2].flushesLate = true } else { scene.nodes[2].isBusy = true }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'color': 'red'})")
        try scene.run()
        let told = scene.nodes[2].sent.count { $0 == .segment }
        try scene.subscribe(0, [cars])
        for _ in 0..<100 where scene.nodes[2].sent.count(where: { $0 == .segment }) == told {
            try scene.run(steps: 1)
        }
        scene.hold(wire, to: 2)
        try scene.run()
        #expect(scene.nodes[0].host.correctionCount == 1)
        if narrows {
            try scene.subscribe(2, [red])
            try scene.run()
            scene.nodes[2].flushesLate = false
            try scene.nodes[2].store.flush()
            scene.nodes[2].host.notePublished()
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
        #expect(scene.nodes[0].host.correctionCount == 0)
    }

    /// Neither has anything to tell of it then: not the one who told, and not what came from somebody else.
    @Test func `what is announced is known better before it comes`() throws {
        let scene = try DocumentScene(4)
        let (knower, teller, between, newer) = (0, 1, 2, 3)
        try scene.subscribe(knower, [cars])
        try scene.subscribe(teller, [red])
        try scene.subscribe(between, [red])
        let direct = try scene.connect(knower, teller)
        let side = try scene.connect(knower, between)
        let far = try scene.connect(teller, between)
        try scene.run()
        scene.hold(direct, to: knower)
        try scene.execute(teller, "INSERT INTO cars DOCUMENTS ({'_id': 'w', 'color': 'red'})")
        try scene.run()
        try scene.letGo(direct, to: knower)
        #expect(scene.nodes[knower].sent.contains(.announceOnly))
        scene.hold(side, to: knower)
        try scene.execute(teller, "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'color': 'red'})")
        try scene.run()
        #expect(scene.nodes[teller].sent.contains(.announce))
        try scene.disconnect(far)
        for _ in 0..<3 {
            try scene.execute(
                newer,
                "INSERT INTO cars DOCUMENTS ({'_id': 'x', 'color': 'blue'}) ON ID CONFLICT DO UPDATE"
            )
        }
        try scene.connect(knower, newer)
        try scene.run()
        #expect(
            try scene.rows(knower, "SELECT color FROM cars WHERE _id = 'x'") == [
                #"{"color":"blue"}"#
            ])
        try scene.letGo(side, to: knower)
        try settle(scene)
        #expect(
            try scene.rows(knower, "SELECT color FROM cars WHERE _id = 'x'") == [
                #"{"color":"blue"}"#
            ])
        #expect(
            try scene.rows(teller, "SELECT color FROM cars WHERE _id = 'x'") == [
                #"{"color":"blue"}"#
            ])
    }

    @Test func `who has to wait for its turn is corrected`() throws {
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
        let detour = try scene.connect(1, 2)
        try scene.run()
        try scene.disconnect(detour)
        #expect(try scene.rows(2, "SELECT color FROM cars") == [#"{"color":"red"}"#])
        try scene.connect(0, 2)
        try scene.run()
        for _ in 0..<5 { try settle(scene) }
        #expect(try scene.rows(2, "SELECT color FROM cars") == [#"{"color":"blue"}"#])
    }

    /// One of the two has got what the other one lacks, and it is not durable: until then there is only what is
    /// older, and to that the other one would say how it is, for ever.
    @Test func `a correction waits until it is durable`() throws {
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
        scene.nodes[1].host.notePublished()
        try settle(scene)
        for number in 0...2 {
            let rows = try scene.rows(number, "SELECT left, right FROM cars")
            #expect(rows == [#"{"left":1,"right":1}"#], "peer \(number)")
        }
    }
}
