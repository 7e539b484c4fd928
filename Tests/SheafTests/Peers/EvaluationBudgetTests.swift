import Sheaf
import SheafDocument
import SheafQuery
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// The maximum evaluation cost that one peer can cause.
struct EvaluationBudgetTests {
    private let second: UInt64 = 1_000_000_000
    private let everything = PeerRights(read: ["cars": "true"], write: [:])

    private func scene() throws -> ReplicatorScene {
        let scene = try ReplicatorScene()
        for number in 0..<40 {
            let car: Object = [
                "_id": .integer(Int64(number)), "n": .integer(Int64(number)),
                "big": .string(String(repeating: "xy", count: 500)),
            ]
            try scene.execute(
                "INSERT INTO cars DOCUMENTS (:car)", ["car": Value.object(car)], at: 1)
        }
        return scene
    }

    /// Returns 256 queries of 100 terms.
    ///
    /// Evaluated without a budget, they block all other connections for 77 s.
    private func attack(factor: Int) -> [String] {
        (0..<256).map { query in
            let terms = (0..<100).map {
                "char_length(repeat(big, \(factor))) = -\(query * 100 + $0)"
            }
            return "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")
        }
    }

    @Test func `a peer whose queries cost too much is disconnected, and another is served`() throws
    {
        let scene = try scene()
        let honest = scene.connect(2, rights: everything, at: 1)
        let hostile = scene.connect(1, rights: everything, at: 1)
        try scene.subscribe(hostile, attack(factor: 8), at: 1)
        scene.settle(at: 1)
        #expect(hostile.closeMessage?.code == .limit)
        #expect(hostile.closeMessage?.text.contains("evaluation budget") == true)
        #expect(hostile.documents == 0)
        try scene.subscribe(honest, ["SELECT * FROM cars WHERE n < 10"], at: 2)
        scene.settle(at: 2)
        #expect(honest.documents == 10)
        #expect(honest.closeMessage == nil)
        // A reconnect does not refill the budget; time does.
        let again = scene.connect(1, rights: everything, at: 2)
        try scene.subscribe(again, ["SELECT * FROM cars WHERE n < 10"], at: 2)
        scene.settle(at: 2)
        #expect(again.closeMessage?.code == .limit)
        let later = scene.connect(1, rights: everything, at: 20 * second)
        try scene.subscribe(later, ["SELECT * FROM cars WHERE n < 10"], at: 20 * second)
        scene.settle(at: 20 * second)
        #expect(later.closeMessage == nil)
        #expect(later.documents == 10)
    }

    @Test func `a query that costs too much on one document ends the connection with that reason`()
        throws
    {
        let scene = try scene()
        let hostile = scene.connect(1, at: 1)
        try scene.subscribe(hostile, attack(factor: 800), at: 1)
        scene.settle(at: 1)
        #expect(hostile.closeMessage?.code == .limit)
        let text = hostile.closeMessage?.text ?? ""
        #expect(text.contains("budget for one document"), "\(text)")
        #expect(scene.replicator.slice.longestTurn <= EvaluationSliceTests.longestTurn)
        // Local statements have no such limit.
        let query = "SELECT * FROM cars WHERE char_length(repeat(big, 800)) = 800000"
        #expect(try scene.scene.nodes[0].rows(DQL(verbatim: query)).count == 40)
    }

    @Test func `an error in a query of a subscription is the close reason`() throws {
        let scene = try scene()
        let peer = scene.connect(1, at: 1)
        let query = "SELECT * FROM cars WHERE char_length(repeat(big, 20000)) = 1"
        try scene.subscribe(peer, [query], at: 1)
        scene.settle(at: 1)
        let text = peer.closeMessage?.text ?? ""
        #expect(text.contains("cannot be evaluated: a text has more than"), "\(text)")
        #expect(!text.contains("cannot be read"), "\(text)")
    }

    @Test func `documents that a peer may not read cost it no budget`() throws {
        let scene = try scene()
        let rights = PeerRights(read: ["cars": "n = 3"], write: [:])
        let peer = scene.connect(1, rights: rights, at: 1)
        // Evaluating all 40 documents exceeds the budget; evaluating one does not.
        let terms = (0..<10).map { "char_length(repeat(big, 800)) = \($0)" } + ["n >= 0"]
        let query = "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")
        try scene.subscribe(peer, [query], at: 1)
        scene.settle(at: 1)
        #expect(peer.closeMessage == nil)
        #expect(peer.documents == 1)
    }

    @Test func `a peer is served within a few turns whatever another one subscribes to`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("hostile subscriptions, seed \(seed)")
        var random = SeededRandom(seed: seed)
        let scene = try scene()
        let terms = [
            "char_length(repeat(big, 900))", "char_length(replace(big, 'a', big))",
            "char_length(lpad(big, 1000000, 'x'))", "char_length(big || big || big)",
            "array_length(split(repeat(big, 500), 'a'))", "n", "char_length(upper(big))",
        ]
        for round in 0..<12 {
            let now = UInt64(round + 2) * second
            let hostile = scene.connect(1, rights: everything, at: now)
            let queries = (0..<(1 + random.below(60))).map { number in
                let condition = (0..<(1 + random.below(40))).map { _ in
                    "\(terms[random.below(terms.count)]) = -\(1 + number)"
                }
                let order = random.chance(1, in: 4) ? " ORDER BY n LIMIT 5" : ""
                return "SELECT * FROM cars WHERE " + condition.joined(separator: " OR ") + order
            }
            try scene.subscribe(hostile, queries, at: now)
            let honest = scene.connect(UInt16(round + 2), rights: everything, at: now)
            try scene.subscribe(honest, ["SELECT * FROM cars WHERE n < 10"], at: now)
            var turns = 0
            while honest.documents < 10, turns < 10 {
                scene.turn(at: now)
                turns += 1
            }
            #expect(honest.documents == 10, "seed \(seed)")
            #expect(turns <= 4, "seed \(seed)")
            scene.settle(at: now)
            if let closeMessage = hostile.closeMessage {
                #expect(closeMessage.code == .limit, "\(seed)")
            }
            #expect(scene.replicator.slice.longestTurn <= EvaluationSliceTests.longestTurn)
            scene.disconnect(hostile)
            scene.disconnect(honest)
        }
    }
}
