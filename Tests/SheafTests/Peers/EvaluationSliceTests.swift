import Sheaf
import SheafDocument
import SheafQuery
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Evaluation for one peer in slices, with other peers served in between.
struct EvaluationSliceTests {
    /// Maximum number of units of one turn.
    ///
    /// A slice, one evaluation that cannot be interrupted, and the value that exceeds the budget.
    static let longestTurn =
        SyncLimits.evaluationUnitsPerTurn + SyncLimits.evaluationUnitsOnDocument
        + QueryLimits.maximumTextLength

    private func fill(_ scene: ReplicatorScene, _ count: Int) throws {
        let documents = (0..<count).map { number in
            let big = String(repeating: "xy", count: 500)
            return "({'_id': \(number), 'n': \(number), 'big': '\(big)'})"
        }
        try scene.execute(
            DQL(verbatim: "INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", ")),
            at: 1)
    }

    /// Queries that match nothing, each of which costs up to two slices per document.
    private static let attack: [String] = (0..<256).map { query in
        let terms = (0..<100).map { "char_length(repeat(big, 8)) = -\(query * 100 + $0)" }
        return "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")
    }

    @Test
    func `a subscription is evaluated in turns of bounded length until its budget is used up`()
        throws
    {
        let scene = try ReplicatorScene()
        try fill(scene, 40)
        let hostile = scene.connect(1, at: 1)
        try scene.subscribe(hostile, Self.attack, at: 1)
        let turns = scene.settle(at: 1)
        #expect(hostile.closeMessage?.code == .limit)
        // The budget is 1,600,000,000 units, and an evaluation takes up to 1,700,000.
        #expect(turns > 500)
        // The longest turn has the parsing and one evaluation.
        #expect(scene.replicator.slice.longestTurn < 4 * SyncLimits.evaluationUnitsPerTurn)
    }

    @Test
    func `a write reaches another peer in a few turns while an expensive subscription is listed`()
        throws
    {
        let scene = try ReplicatorScene()
        try fill(scene, 40)
        let hostile = (0..<4).map { scene.connect(UInt16(10 + $0), at: 1) }
        let honest = scene.connect(2, at: 1)
        try scene.subscribe(honest, ["SELECT * FROM cars WHERE n >= 1000"], at: 1)
        scene.settle(at: 1)
        for caller in hostile { try scene.subscribe(caller, Self.attack, at: 1) }
        for number in 0..<20 {
            try scene.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': :id, 'n': :id})",
                ["id": Value.integer(Int64(1_000 + number))], at: 1)
            var turns = 0
            while honest.documents <= number, turns < 20 {
                scene.turn(at: 1)
                turns += 1
            }
            #expect(honest.documents == number + 1)
            #expect(turns <= hostile.count + 1)
        }
        #expect(hostile.allSatisfy { $0.closeMessage == nil })
    }

    @Test func `the queries of a disconnected peer are not evaluated`() throws {
        let scene = try ReplicatorScene()
        try fill(scene, 40)
        let hostile = scene.connect(1, at: 1)
        try scene.subscribe(hostile, Self.attack, at: 1)
        scene.turn(at: 1)
        #expect(scene.replicator.deadline == 1)
        scene.disconnect(hostile)
        #expect(scene.replicator.deadline.map { $0 > 1 } ?? true)
    }

    @Test func `evaluation on a document spans several turns, and does not start over`() throws {
        var limits = ReplicatorLimits()
        limits.evaluated = 1_000
        let scene = try ReplicatorScene(limits)
        try fill(scene, 5)
        let peer = scene.connect(2, at: 1)
        // Each query takes a turn.
        let queries = (0..<8).map {
            "SELECT * FROM cars WHERE char_length(repeat(big, 20)) = -\($0)"
        }
        try scene.subscribe(peer, queries + ["SELECT * FROM cars WHERE n >= 0"], at: 1)
        let turns = scene.settle(at: 1)
        #expect(peer.documents == 5)
        #expect(turns > 45)
        #expect(turns < 200)
    }

    /// Checks that an interrupted commit does not start over with the commits before it.
    @Test func `commits without a match take several turns, and a later match is sent`() throws {
        var limits = ReplicatorLimits()
        limits.evaluated = 1_000
        let scene = try ReplicatorScene(limits)
        let peer = scene.connect(2, at: 1)
        let queries = (0..<4).map {
            "SELECT * FROM cars WHERE char_length(repeat(big, 20)) = -\($0)"
        }
        try scene.subscribe(peer, queries + ["SELECT * FROM cars WHERE n = 1"], at: 1)
        scene.settle(at: 1)
        let big = String(repeating: "xy", count: 500)
        for (id, number) in [0, 0, 0, 1].enumerated() {
            try scene.execute(
                DQL(
                    verbatim:
                        "INSERT INTO cars DOCUMENTS ({'_id': \(id), 'n': \(number), 'big': '\(big)'})"
                ),
                at: 1)
        }
        var turns = 0
        while peer.documents == 0, turns < 200 {
            scene.turn(at: 1)
            turns += 1
        }
        #expect(peer.documents == 1)
        #expect(turns > 12)
    }

    @Test(arguments: [
        "SELECT * FROM cars WHERE char_length(repeat(big, 20)) = 20000",
        "SELECT * FROM cars WHERE char_length(repeat(big, 20)) = 20000 ORDER BY n DESC LIMIT 25",
        "SELECT * FROM cars",
    ])
    func `listing, sending and catching up in slices deliver every document once`(query: String)
        throws
    {
        var limits = ReplicatorLimits()
        limits.evaluated = 1_000
        let scene = try ReplicatorScene(limits)
        try fill(scene, 60)
        let peer = scene.connect(2, at: 1)
        try scene.subscribe(peer, [query], at: 1)
        let turns = scene.settle(at: 1)
        let first = query.contains("LIMIT") ? 25 : 60
        #expect(peer.documents == first)
        // A cheap document takes a twentieth of a slice.
        #expect(turns >= (query.contains("WHERE") ? 60 : 3))
        let big = String(repeating: "xy", count: 500)
        let documents = (60..<80).map { "({'_id': \($0), 'n': \($0), 'big': '\(big)'})" }
        try scene.execute(
            DQL(verbatim: "INSERT INTO cars DOCUMENTS " + documents.joined(separator: ", ")),
            at: 1)
        scene.settle(at: 1)
        #expect(peer.documents == first + 20)
        #expect(peer.closeMessage == nil)
    }
}
