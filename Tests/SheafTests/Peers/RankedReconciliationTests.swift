import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// Tests of the documents that a subscription with ORDER BY and LIMIT compares.
struct RankedReconciliationTests {
    /// Returns a peer with the cars "1" to "9", whose field `n` has the same number.
    private func scene(_ query: String) throws -> SubscriberScene {
        let scene = try SubscriberScene([query])
        for number: Int64 in 1...9 {
            try scene.join("\(number)", ["n": .integer(number)], at: 10)
        }
        return scene
    }

    /// Sends cars in their newest state, in which `n` is greater by 100.
    private func send(_ numbers: [Int64], in commit: UInt64, to scene: SubscriberScene) throws {
        try scene.send(commit, numbers.map { ("\($0)", ["n": .integer($0 + 100)]) })
    }

    /// The local states of all cars are outdated, and the peer sends those that were compared.
    @Test(arguments: [false, true])
    func `twice as many documents are compared each time until the first ones were compared`(
        _ isUnsendable: Bool
    ) throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        // Documents that this peer may not send are compared, too.
        try scene.connect(
            own: isUnsendable ? PeerRights(read: ["cars": "true"], write: [:]) : nil)
        #expect(scene.wanted == [["1", "2"]])
        try send([1, 2], in: 5, to: scene)
        #expect(scene.wanted.count == 2 && scene.wanted.last == ["3", "4", "5", "6"])
        try send([3, 4, 5, 6], in: 6, to: scene)
        // The order is 7, 8, 9, 1, 2, 3, 4, 5, 6.
        #expect(scene.wanted.count == 3)
        #expect(scene.wanted.last == ["1", "2", "3", "4", "5", "7", "8", "9"])
        // The first documents are then 1 and 2, which were compared.
        try send([7, 8, 9], in: 7, to: scene)
        #expect(scene.wanted.count == 3)
        #expect(scene.subscriptions.map { $0.cursor == nil } == [true, true, true])
    }

    @Test func `after enough documents were compared, the next comparison is short again`() throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        try scene.connect()
        try send([1, 2], in: 5, to: scene)
        try send([3, 4, 5, 6], in: 6, to: scene)
        try send([7, 8, 9], in: 7, to: scene)
        try scene.restart()
        #expect(scene.wanted.count == 4 && scene.wanted.last == ["1", "2"])
        try scene.send(8)
        // A document enters the result that was not compared; the peer would send a newer state.
        try scene.send(9, [("1", ["n": 900])], at: 30)
        #expect(scene.acknowledged.last == 9)
        #expect(scene.subscriptions.count == 3 && scene.wanted.count == 4)
    }

    /// Changes a document that did not match before the first batch arrives.
    @Test(arguments: [(2, 2), (3, 1)])
    func `a list of all matching documents is compared once`(
        _ limit: Int, _ comparisons: Int
    ) throws {
        let scene = try SubscriberScene([
            "SELECT * FROM cars WHERE n < 50 ORDER BY n LIMIT \(limit)"
        ])
        for (id, n) in [("1", 1), ("2", 2), ("x", 60)] as [(String, Int64)] {
            try scene.join(id, ["n": .integer(n)], at: 10)
        }
        try scene.connect()
        #expect(scene.wanted == [["1", "2"]])
        try scene.join("x", ["n": 0], at: 20)
        try scene.send(5)
        #expect(scene.subscriptions.count == comparisons)
        #expect(scene.wanted.count == comparisons)
        #expect(scene.wanted.last == (comparisons == 2 ? ["1", "2", "x"] : ["1", "2"]))
    }

    @Test func `the result is checked once the batch of the comparison is durable`() throws {
        let scene = try scene("SELECT * FROM cars ORDER BY n LIMIT 2")
        try scene.connect()
        scene.flushesLate = true
        try send([1, 2], in: 5, to: scene)
        #expect(scene.subscriptions.count == 1 && scene.acknowledged == [])
        try scene.flush()
        #expect(scene.subscriptions.count == 2 && scene.acknowledged == [5])
    }

    @Test func `a subscription without a limit compares all documents once`() throws {
        let scene = try scene("SELECT * FROM cars WHERE n < 4")
        try scene.connect()
        #expect(scene.wanted == [["1", "2", "3"]])
        try send([1, 2, 3], in: 5, to: scene)
        #expect(scene.subscriptions.count == 1 && scene.acknowledged == [5])
    }
}
