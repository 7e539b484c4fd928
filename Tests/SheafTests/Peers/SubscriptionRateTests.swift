import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// The rate limit for subscriptions.
struct SubscriptionRateTests {
    /// A remote peer that subscribes when a test requests it.
    private final class ScriptedPeer {
        private let replicator: Replicator
        private var session: SyncSession
        private let wire: UInt64
        private var generation: UInt64 = 0
        /// The generations of the received batches.
        private(set) var answered: [UInt64] = []
        /// The number of documents in each received batch.
        private(set) var documents: [Int] = []
        private(set) var closeMessage: CloseMessage?

        init(_ replicator: Replicator, wire: UInt64, at now: UInt64) throws {
            (self.replicator, self.wire) = (replicator, wire)
            session = .unknownPeer(77, at: now)
            replicator.connect(wire, at: now)
            exchange(at: now)
        }

        func subscribe(_ count: Int, at now: UInt64) throws {
            let arguments = try Insertion.initial(Object(), NameTable())
            for _ in 0..<count where session.isOpen {
                generation += 1
                session.subscribe(
                    Subscribe(
                        generation: generation,
                        [SubscribedQuery(text: "SELECT * FROM cars", arguments: arguments)], at: 0))
                exchange(at: now)
            }
        }

        func tick(at now: UInt64) {
            replicator.tick(at: now)
            exchange(at: now)
        }

        private func exchange(at now: UInt64) {
            replicator.exchange(
                with: &session, on: wire, at: now, list: VersionList(sorted: []),
                onStep: { step in
                    answered.append(step.generation)
                    documents.append(step.commits.reduce(0) { $0 + $1.documents.count })
                }, onClose: { closeMessage = $0 })
        }
    }

    private let second: UInt64 = 1_000_000_000
    private let most = UInt64(SyncLimits.subscriptionsAtOnce)

    private func replicator() throws -> Replicator {
        let scene = try FileScene(1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        return scene.nodes[0].replicator
    }

    @Test func `above the rate limit, only the last subscription is answered, after a delay`()
        throws
    {
        let caller = try ScriptedPeer(try replicator(), wire: 1, at: second)
        try caller.subscribe(Int(most), at: second)
        #expect(caller.answered == Array(1...most))
        try caller.subscribe(3, at: second)
        #expect(caller.answered.count == Int(most))
        // The subscription waits for the turns of all three.
        caller.tick(at: second + 3 * SyncLimits.subscriptionNanoseconds - 1)
        #expect(caller.answered.count == Int(most))
        caller.tick(at: second + 3 * SyncLimits.subscriptionNanoseconds)
        #expect(caller.answered == Array(1...most) + [most + 3])
        #expect(caller.closeMessage == nil)
    }

    /// Covers a document that the peer may have from elsewhere, and would keep.
    @Test func `a delayed subscription receives the deletions made meanwhile`() throws {
        let scene = try FileScene(1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let caller = try ScriptedPeer(scene.nodes[0].replicator, wire: 1, at: second)
        try caller.subscribe(Int(most) + 1, at: second)
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'a'")
        let before = caller.documents.count
        caller.tick(at: second + SyncLimits.subscriptionNanoseconds)
        #expect(caller.answered.last == most + 1)
        #expect(caller.documents[before...].reduce(0, +) == 2)
    }

    @Test
    func `a peer that ignores the rate limit is disconnected, and limited when it reconnects`()
        throws
    {
        let replicator = try replicator()
        let caller = try ScriptedPeer(replicator, wire: 1, at: second)
        let delayed = SyncLimits.delayedSubscriptions
        try caller.subscribe(Int(most) + delayed, at: second)
        #expect(caller.closeMessage == nil)
        try caller.subscribe(1, at: second)
        #expect(caller.closeMessage?.code == .limit)
        let again = try ScriptedPeer(replicator, wire: 2, at: second)
        try again.subscribe(1, at: second)
        #expect(again.closeMessage?.code == .limit)
        let later = second + UInt64(delayed) * SyncLimits.subscriptionNanoseconds
        let patient = try ScriptedPeer(replicator, wire: 3, at: later)
        try patient.subscribe(1, at: later)
        patient.tick(at: later + 2 * SyncLimits.subscriptionNanoseconds)
        #expect(patient.closeMessage == nil)
        #expect(patient.answered == [1])
    }

    @Test func `a peer that changes its subscriptions often delays them, and sends the last one`()
        throws
    {
        let scene = try FileScene(2)
        for number in 0..<200 {
            try scene.execute(
                0, "INSERT INTO cars DOCUMENTS (:car)",
                ["car": ["_id": .integer(Int64(number)), "n": .integer(Int64(number))] as Value])
        }
        try scene.connect(0, 1)
        try scene.run()
        for number in 0..<200 {
            try scene.subscribe(1, ["SELECT * FROM cars WHERE n = \(number)"])
            try scene.run()
        }
        #expect(scene.nodes[1].subscriptionCount == Int(most))
        let early = try scene.nodes[1].rows("SELECT n FROM cars WHERE n >= \(most)")
        #expect(early.isEmpty)
        // Writes made meanwhile are delayed, too.
        try scene.execute(0, "UPDATE cars SET note = 1 WHERE n = 199")
        try scene.run()
        try scene.advance(seconds: 1)
        let rows = try scene.nodes[1].rows("SELECT n, note FROM cars WHERE n >= \(most)")
        #expect(rows == [#"{"n":199,"note":1}"#])
        #expect(scene.nodes[1].subscriptionCount == Int(most) + 1)
        #expect(scene.isConnected)
        try scene.execute(0, "UPDATE cars SET note = 2 WHERE n = 199")
        try scene.run()
        let last = try scene.nodes[1].rows("SELECT note FROM cars WHERE n = 199")
        #expect(last == [#"{"note":2}"#])
    }
}
