import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Writes that another peer does not accept for lack of rights, as reported to their writer.
struct RefusedWriteTests {
    /// The rights of a device (1) that may write only cars of ann, on a server (0).
    private static let rights = PeerRights(
        read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    private func scene(
        isTold: Bool, _ rights: PeerRights = rights, count: Int = 2, history: UInt64 = 1_000
    ) throws -> (DocumentScene, wire: UInt64) {
        let scene = try DocumentScene(count, history: history)
        for number in 0..<count { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(
            0,
            """
            INSERT INTO cars DOCUMENTS
                ({'_id': 'a', 'owner': 'ann', 'n': 1}), ({'_id': 'b', 'owner': 'bob', 'n': 1})
            """)
        let wire = try scene.connect(0, 1, rightsOfRight: rights, sendsRights: isTold)
        // The server acknowledges the changes of the device within this time.
        try scene.advance(milliseconds: 200)
        try scene.advance(milliseconds: 200)
        return (scene, wire)
    }

    private let cars: DQL = "SELECT _id, n, owner FROM cars ORDER BY _id"

    private func ids(_ writes: [RefusedWrite]) -> [String] {
        writes.map(\.documentID.json)
    }

    private func reasons(sendsRights: Bool) -> (RefusedWrite.Reason, RefusedWrite.Reason) {
        sendsRights ? (.ownGrant, .ownGrant) : (.document, .original)
    }

    @Test(arguments: [true, false], ["insert", "update", "delete"])
    func `a writer learns of a refused write, and reverts it`(_ sendsRights: Bool, _ action: String)
        throws
    {
        let (scene, wire) = try scene(isTold: sendsRights)
        let before = try scene.rows(0, cars)
        switch action {
        case "insert":
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'bob', 'n': 2})")
        case "update": try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        default: try scene.execute(1, "DELETE FROM cars WHERE _id = 'b'")
        }
        try scene.advance(milliseconds: 1_000)
        #expect(scene.isConnected(wire))
        #expect(try scene.rows(0, cars) == before)
        let refused = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(ids(refused) == [action == "insert" ? "\"c\"" : "\"b\""])
        let (document, original) = reasons(sendsRights: sendsRights)
        #expect(refused.first?.reason == (action == "delete" ? original : document))
        #expect(refused.first?.commitIDs == [Int64(scene.nodes[1].newestCommit)])
        #expect(scene.nodes[1].newlyRefused == refused)
        #expect(scene.nodes[0].refusals.isEmpty)

        try scene.forget(1, action == "insert" ? "c" : "b")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(try scene.rows(1, cars) == before)
        #expect(try scene.checksums() == 1)
        // Later writes are sent as before.
        try scene.execute(1, "UPDATE cars SET n = 7 WHERE _id = 'a'")
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(0, "SELECT n FROM cars WHERE _id = 'a'") == [#"{"n":7}"#])
        #expect(scene.nodes[1].refusals[scene.nodes[0].key]?.isEmpty ?? true)
    }

    @Test(arguments: [true, false])
    func `a refused document does not delay other documents of its commit`(_ sendsRights: Bool)
        throws
    {
        let (scene, wire) = try scene(isTold: sendsRights)
        try scene.execute(1, "UPDATE cars SET n = 2")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.isConnected(wire))
        #expect(
            try scene.rows(0, cars) == [
                #"{"_id":"a","n":2,"owner":"ann"}"#, #"{"_id":"b","n":1,"owner":"bob"}"#,
            ])
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
        #expect(scene.nodes[1].synced(with: scene.nodes[0]) == scene.nodes[1].newestCommit)
    }

    /// Checks that no delta without its base is sent, each of which would cost a subscription.
    @Test func `edits of a refused insert are refused without being requested`() throws {
        let (scene, wire) = try scene(isTold: false)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'bob', 'n': 1})")
        try scene.run()
        let requests = scene.nodes[0].sent.count { $0 == .subscribe }
        for n in Int64(2)..<5 {
            try scene.execute(1, "UPDATE cars SET n = :n WHERE _id = 'c'", ["n": Value.integer(n)])
            try scene.run()
        }
        #expect(scene.isConnected(wire))
        #expect(scene.nodes[0].sent.count { $0 == .subscribe } == requests)
        let refused = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(refused.first?.commitIDs.count == 4)
        // A permitted edit is accepted together with the earlier edits.
        try scene.execute(1, "UPDATE cars SET owner = 'ann' WHERE _id = 'c'")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(try scene.checksums() == 1)
    }

    @Test(arguments: [true, false], ["insert", "update", "delete"])
    func `a refused write is reported again after a restart and after a reconnect`(
        _ sendsRights: Bool, _ action: String
    ) throws {
        let (scene, wire) = try scene(isTold: sendsRights)
        switch action {
        case "insert":
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': 'b2', 'owner': 'bob', 'n': 2})")
        case "update": try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        default: try scene.execute(1, "DELETE FROM cars WHERE _id = 'b'")
        }
        try scene.run()
        let known = ids(scene.nodes[1].refused(by: scene.nodes[0]))
        #expect(known.count == 1)
        try scene.disconnect(wire)
        let again = try scene.connect(0, 1, rightsOfRight: Self.rights, sendsRights: sendsRights)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == known)
        // A refusal that was known is not reported as new.
        #expect(scene.nodes[1].newlyRefused.count == 1)
        try scene.disconnect(again)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rights, sendsRights: sendsRights)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == known)
        try scene.forget(1, action == "insert" ? "b2" : "b")
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.checksums() == 1)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
    }

    /// Opens a copy of a store, which draws another site, like a repair of the clock.
    @Test(arguments: [true, false])
    func `a store that has drawn another site reports which of its writes are refused`(
        _ isCompacted: Bool
    ) throws {
        let (scene, wire) = try scene(isTold: true, history: isCompacted ? 1 : 1_000)
        try scene.disconnect(wire)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        for copy in UInt64(1)...3 {
            try scene.putBack(1, to: scene.nodes[1].volume.processDeath().copy(identity: copy))
            let site = scene.nodes[1].store.queries.documents.site
            try scene.execute(1, "UPDATE cars SET n = 3 WHERE _id = 'a'")
            // Only full segments are compacted.
            let text = Value.string(String(repeating: "x", count: 20_000))
            try scene.execute(
                1, "INSERT INTO notes DOCUMENTS ({'_id': :id, 'text': :text})",
                ["id": Value.integer(Int64(copy)), "text": text])
            if isCompacted {
                try scene.nodes[1].store.compact()
                #expect(scene.nodes[1].store.queries.documents.snapshot().log.compactedThrough > 2)
            }
            try scene.subscribe(1, ["SELECT * FROM cars"])
            let wire = try scene.connect(0, 1, rightsOfRight: Self.rights)
            try scene.advance(milliseconds: 1_000)
            #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
            #expect(scene.nodes[1].store.queries.documents.site == site)
            try scene.disconnect(wire)
        }
    }

    /// Reconciles while only the tombstone exists, which the other side does not request.
    @Test func `a refused deletion is reported once the document reaches the other side`() throws {
        let scene = try DocumentScene(3)
        for number in 0..<3 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(2, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob', 'n': 1})")
        let first = try scene.connect(2, 1)
        try scene.run()
        try scene.disconnect(first)
        try scene.execute(1, "DELETE FROM cars")
        // A deletion does not cover concurrent writes.
        try scene.execute(2, "UPDATE cars SET n = 2, owner = 'ben'")
        try scene.connect(0, 1, rightsOfRight: Self.rights)
        try scene.advance(milliseconds: 1_000)
        try scene.connect(0, 2)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(1, cars) == [#"{"_id":"b","n":2,"owner":"ben"}"#])
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
    }

    /// Reconciles documents that always differ, so no round ends without differences.
    @Test func `refusals are reported for more differing documents than fit in one round`() throws {
        var limits = ReplicatorLimits()
        limits.wanted = 3
        let scene = try DocumentScene(2, limits)
        for number in 0..<2 { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        for id in 0..<8 {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': :id, 'owner': 'bob'})",
                ["id": Value.string("b\(id)")])
        }
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "owner = 'ann'"], write: [:]))
        for _ in 0..<20 { try scene.advance(milliseconds: 1_000) }
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).count == 8)
        let requests = scene.nodes[1].sent.count { $0 == .subscribe }
        for _ in 0..<20 { try scene.advance(milliseconds: 1_000) }
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == requests)
    }

    /// Ends the reconciliation before the other side's subscription is parsed.
    @Test func `a refusal is reported when the other side resubscribes meanwhile`() throws {
        var limits = ReplicatorLimits()
        limits.evaluated = 51
        let queries =
            ["SELECT * FROM cars WHERE owner = 'bob'"]
            + (0..<8).map { "SELECT * FROM cars WHERE n = \($0)" }
        let scene = try DocumentScene(2, limits)
        try scene.subscribe(0, queries)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob'})")
        scene.nodes[1].isBusy = true
        try scene.connect(0, 1, rightsOfRight: Self.rights)
        try scene.advance(milliseconds: 1_000)
        // The reconciliation ends before the subscription is parsed.
        #expect(try scene.rows(1, cars).count == 1)
        let requests = scene.nodes[0].sent.count { $0 == .subscribe }
        try scene.subscribe(0, queries.dropLast())
        try scene.subscribe(0, queries)
        #expect(scene.nodes[0].sent.count { $0 == .subscribe } == requests + 2)
        try scene.run(steps: 2)
        scene.nodes[1].isBusy = false
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
    }

    /// Evaluates the queries of the other side on each document over several turns.
    @Test(arguments: [4, 8, 12, 16, 20, 24, 28, 32, 40, 50])
    func `a write is sent while a refused document waits for its evaluation`(steps: Int) throws {
        var limits = ReplicatorLimits()
        limits.evaluated = 1_000
        let big = String(repeating: "xy", count: 500)
        let queries = (0..<8).map {
            "SELECT * FROM cars WHERE char_length(repeat(big, 20)) = -\($0)"
        }
        let scene = try DocumentScene(2, limits)
        try scene.subscribe(0, queries + ["SELECT * FROM cars WHERE owner <> 'eve'"])
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob', 'big': :big})",
            ["big": Value.string(big)])
        try scene.connect(0, 1, rightsOfRight: Self.rights)
        try scene.run(steps: steps)
        for (id, owner) in [("c", "bob"), ("d", "ann")] {
            try scene.execute(
                1, "INSERT INTO cars DOCUMENTS ({'_id': :id, 'owner': :owner, 'big': :big})",
                [
                    "id": Value.string(id), "owner": Value.string(owner),
                    "big": Value.string(big),
                ])
        }
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])).sorted() == ["\"b\"", "\"c\""])
        #expect(try scene.rows(0, cars).count == 1)
    }

    @Test func `refused writes of a peer without subscriptions are reported after a restart`()
        throws
    {
        let (scene, wire) = try scene(isTold: true)
        try scene.disconnect(wire)
        try scene.subscribe(1, [])
        try scene.connect(0, 1, rightsOfRight: Self.rights)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'bob', 'n': 1})")
        try scene.run()
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.connect(0, 1, rightsOfRight: Self.rights)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"c\""])
    }

    @Test func `a refusal lost with its connection is sent again`() throws {
        let (scene, wire) = try scene(isTold: false)
        scene.hold(wire, to: 1)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        try scene.run()
        #expect(scene.nodes[0].sent.contains(.refused))
        try scene.disconnect(wire)
        #expect(scene.nodes[1].newlyRefused.isEmpty)
        try scene.connect(0, 1, rightsOfRight: Self.rights, sendsRights: false)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
    }

    @Test(arguments: [true, false])
    func `a refused write is accepted once rights permit it`(_ sendsRights: Bool) throws {
        let (scene, wire) = try scene(isTold: sendsRights)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        try scene.run()
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).count == 1)
        try scene.disconnect(wire)
        try scene.connect(
            0, 1,
            rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]),
            sendsRights: sendsRights)
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(0, "SELECT n FROM cars WHERE _id = 'b'") == [#"{"n":2}"#])
    }

    /// Gives the document another owner, which the writer may not read.
    @Test func `a refusal that depends on unreadable data is not sent`() throws {
        let rights = PeerRights(
            read: ["cars": "owner = 'ann'"], write: ["cars": "owner = 'ann'"])
        let (scene, wire) = try scene(isTold: false, rights)
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        // A document with this id exists, unknown to the device.
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'n': 9})")
        try scene.connect(0, 1, rightsOfRight: rights, sendsRights: false)
        try scene.advance(milliseconds: 1_000)
        #expect(
            try scene.rows(0, cars) == [
                #"{"_id":"a","n":1,"owner":"bob"}"#, #"{"_id":"b","n":1,"owner":"bob"}"#,
            ])
        #expect(!scene.nodes[0].sent.contains(.refused))
        #expect(scene.nodes[1].refusals.isEmpty)
    }

    /// Writes a document with the id of a hidden one that exists or was deleted.
    ///
    /// The server would also report the refusal without the hidden document.
    @Test(arguments: [true, false])
    func `a forbidden write to a hidden document is reported`(_ isDeleted: Bool) throws {
        let rights = PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": "n < 5"])
        let (scene, wire) = try scene(isTold: false, rights)
        try scene.disconnect(wire)
        if isDeleted { try scene.execute(0, "DELETE FROM cars WHERE _id = 'b'") }
        let before = try scene.rows(0, cars)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'n': 9})")
        try scene.connect(0, 1, rightsOfRight: rights, sendsRights: false)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(0, cars) == before)
        #expect(scene.nodes[0].sent.contains(.refused))
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == [#""b""#])
    }

    /// Connects the writer, after the revert, to a third peer that accepts all of its writes.
    @Test func `a reverted write does not reach other peers from its writer`() throws {
        let (scene, _) = try scene(isTold: false, count: 3)
        try scene.connect(0, 2)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        try scene.run()
        try scene.forget(1, "b")
        try scene.execute(1, "UPDATE cars SET n = 5 WHERE _id = 'a'")
        try scene.advance(milliseconds: 1_000)
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "true"])
        try scene.connect(2, 1, rightsOfRight: rights)
        try scene.advance(milliseconds: 2_000)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(2, "SELECT n FROM cars WHERE _id = 'b'") == [#"{"n":1}"#])
    }
}
