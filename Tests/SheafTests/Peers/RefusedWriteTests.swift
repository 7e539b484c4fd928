import Sheaf
import SheafBytes
import SheafDocument
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Writes that another peer does not take for want of rights, as their writer learns of them.
struct RefusedWriteTests {
    /// A server (0) that knows the cars of ann and of bob, and a device (1) that may write the cars of ann.
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
        let wire = try scene.connect(0, 1, rightsOfRight: rights, isTold: isTold)
        // Until the server has acknowledged what came from it.
        try scene.advance(milliseconds: 200)
        try scene.advance(milliseconds: 200)
        return (scene, wire)
    }

    private let cars: Query = "SELECT _id, n, owner FROM cars ORDER BY _id"

    private func ids(_ writes: [RefusedWrite]) -> [String] {
        writes.map(\.documentID.json)
    }

    private func reasons(isTold: Bool) -> (RefusedWrite.Reason, RefusedWrite.Reason) {
        isTold ? (.ownGrant, .ownGrant) : (.document, .original)
    }

    @Test(arguments: [true, false], ["insert", "update", "delete"])
    func `a writer learns of a refused write, and reverts it`(
        _ isTold: Bool, _ action: String
    ) throws {
        let (scene, wire) = try scene(isTold: isTold)
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
        let (document, original) = reasons(isTold: isTold)
        #expect(refused.first?.reason == (action == "delete" ? original : document))
        #expect(refused.first?.commitIDs == [Int64(scene.nodes[1].newestCommit)])
        #expect(scene.nodes[1].newlyRefused == refused)
        #expect(scene.nodes[0].refusals.isEmpty)

        try scene.forget(1, action == "insert" ? "c" : "b")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(try scene.rows(1, cars) == before)
        #expect(try scene.checksums() == 1)
        // What is written then goes on as before.
        try scene.execute(1, "UPDATE cars SET n = 7 WHERE _id = 'a'")
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(0, "SELECT n FROM cars WHERE _id = 'a'") == [#"{"n":7}"#])
        #expect(scene.nodes[1].refusals[scene.nodes[0].key]?.isEmpty ?? true)
    }

    @Test(arguments: [true, false])
    func `a refused document does not hold up the others of its commit`(_ isTold: Bool) throws {
        let (scene, wire) = try scene(isTold: isTold)
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

    /// A delta would not fit there, and cost a subscription each time.
    @Test func `edits of a refused insert are refused without being asked for`() throws {
        let (scene, wire) = try scene(isTold: false)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'bob', 'n': 1})")
        try scene.run()
        let asked = scene.nodes[0].sent.count { $0 == .subscribe }
        for n in Int64(2)..<5 {
            try scene.execute(1, "UPDATE cars SET n = :n WHERE _id = 'c'", ["n": Value.integer(n)])
            try scene.run()
        }
        #expect(scene.isConnected(wire))
        #expect(scene.nodes[0].sent.count { $0 == .subscribe } == asked)
        let refused = scene.nodes[1].refused(by: scene.nodes[0])
        #expect(refused.first?.commitIDs.count == 4)
        // One that may be written is taken, with all that was written before.
        try scene.execute(1, "UPDATE cars SET owner = 'ann' WHERE _id = 'c'")
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(try scene.checksums() == 1)
    }

    @Test(arguments: [true, false], ["insert", "update", "delete"])
    func `a refused write is known again after a restart, and after a reconnect`(
        _ isTold: Bool, _ action: String
    ) throws {
        let (scene, wire) = try scene(isTold: isTold)
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
        let again = try scene.connect(0, 1, rightsOfRight: Self.rights, isTold: isTold)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == known)
        // A refusal that was known is no news.
        #expect(scene.nodes[1].newlyRefused.count == 1)
        try scene.disconnect(again)
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1, rightsOfRight: Self.rights, isTold: isTold)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == known)
        try scene.forget(1, action == "insert" ? "b2" : "b")
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.checksums() == 1)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
    }

    /// Opening a copy of a store draws another site, and so does a repair of the clock.
    @Test(arguments: [true, false])
    func `a store that has drawn another site knows which of its writes are refused`(
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
                #expect(scene.nodes[1].store.queries.documents.snapshot().log.foldedThrough > 2)
            }
            try scene.subscribe(1, ["SELECT * FROM cars"])
            let wire = try scene.connect(0, 1, rightsOfRight: Self.rights)
            try scene.advance(milliseconds: 1_000)
            #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
            #expect(scene.nodes[1].store.queries.documents.site == site)
            try scene.disconnect(wire)
        }
    }

    /// During the comparison only the tombstone exists, which the other side does not want.
    @Test func `a refused deletion is known once the document reaches the other side`() throws {
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

    /// These documents always differ, so no round ends without differences.
    @Test func `refusals are known when more documents differ than one round compares`() throws {
        var lengths = SyncHost.Lengths()
        lengths.wanted = 3
        let scene = try DocumentScene(2, lengths)
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
        let asked = scene.nodes[1].sent.count { $0 == .subscribe }
        for _ in 0..<20 { try scene.advance(milliseconds: 1_000) }
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } == asked)
    }

    /// Until the subscription of the other side is read, it is unknown which documents the other side wants.
    @Test func `a refusal is known when the other side subscribes again meanwhile`() throws {
        var lengths = SyncHost.Lengths()
        lengths.evaluated = 51
        let queries =
            ["SELECT * FROM cars WHERE owner = 'bob'"]
            + (0..<8).map { "SELECT * FROM cars WHERE n = \($0)" }
        let scene = try DocumentScene(2, lengths)
        try scene.subscribe(0, queries)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann'})")
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob'})")
        scene.nodes[1].isBusy = true
        try scene.connect(0, 1, rightsOfRight: Self.rights)
        try scene.advance(milliseconds: 1_000)
        // The comparison ends before the subscription is read.
        #expect(try scene.rows(1, cars).count == 1)
        let asked = scene.nodes[0].sent.count { $0 == .subscribe }
        try scene.subscribe(0, queries.dropLast())
        try scene.subscribe(0, queries)
        #expect(scene.nodes[0].sent.count { $0 == .subscribe } == asked + 2)
        try scene.run(steps: 2)
        scene.nodes[1].isBusy = false
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
    }

    /// The queries of the other side are evaluated on each, for several turns.
    @Test(arguments: [4, 8, 12, 16, 20, 24, 28, 32, 40, 50])
    func `a write is sent while a refused document waits for its evaluation`(steps: Int) throws {
        var lengths = SyncHost.Lengths()
        lengths.evaluated = 1_000
        let big = String(repeating: "ab", count: 500)
        let queries = (0..<8).map {
            "SELECT * FROM cars WHERE char_length(repeat(big, 20)) = -\($0)"
        }
        let scene = try DocumentScene(2, lengths)
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

    @Test func `what a peer that subscribes to nothing may not write is known after a restart`()
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

    @Test func `a notice that is lost with its connection comes again`() throws {
        let (scene, wire) = try scene(isTold: false)
        scene.hold(wire, to: 1)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        try scene.run()
        #expect(scene.nodes[0].sent.contains(.refused))
        try scene.disconnect(wire)
        #expect(scene.nodes[1].newlyRefused.isEmpty)
        try scene.connect(0, 1, rightsOfRight: Self.rights, isTold: false)
        try scene.advance(milliseconds: 1_000)
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == ["\"b\""])
    }

    @Test(arguments: [true, false])
    func `rights that permit a refused write have it taken`(_ isTold: Bool) throws {
        let (scene, wire) = try scene(isTold: isTold)
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        try scene.run()
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).count == 1)
        try scene.disconnect(wire)
        try scene.connect(
            0, 1,
            rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]),
            isTold: isTold)
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[1].refused(by: scene.nodes[0]).isEmpty)
        #expect(try scene.checksums() == 1)
        #expect(try scene.rows(0, "SELECT n FROM cars WHERE _id = 'b'") == [#"{"n":2}"#])
    }

    /// The document has another owner by now, which the writer cannot see.
    @Test func `a refusal that depends on what the writer may not read is not sent`() throws {
        let rights = PeerRights(
            read: ["cars": "owner = 'ann'"], write: ["cars": "owner = 'ann'"])
        let (scene, wire) = try scene(isTold: false, rights)
        try scene.disconnect(wire)
        try scene.execute(0, "UPDATE cars SET owner = 'bob' WHERE _id = 'a'")
        try scene.execute(1, "UPDATE cars SET n = 2 WHERE _id = 'a'")
        // There is one of this id that it does not know of.
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'n': 9})")
        try scene.connect(0, 1, rightsOfRight: rights, isTold: false)
        try scene.advance(milliseconds: 1_000)
        #expect(
            try scene.rows(0, cars) == [
                #"{"_id":"a","n":1,"owner":"bob"}"#, #"{"_id":"b","n":1,"owner":"bob"}"#,
            ])
        #expect(!scene.nodes[0].sent.contains(.refused))
        #expect(scene.nodes[1].refusals.isEmpty)
    }

    /// The hidden document with the same id is writable and not readable, or was deleted before the writer saw it.
    ///
    /// Without the hidden document the server would report the refusal, too.
    @Test(arguments: [true, false])
    func `a forbidden write to a hidden document is reported`(_ isDeleted: Bool) throws {
        let rights = PeerRights(read: ["cars": "owner = 'ann'"], write: ["cars": "n < 5"])
        let (scene, wire) = try scene(isTold: false, rights)
        try scene.disconnect(wire)
        if isDeleted { try scene.execute(0, "DELETE FROM cars WHERE _id = 'b'") }
        let before = try scene.rows(0, cars)
        try scene.execute(
            1, "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'ann', 'n': 9})")
        try scene.connect(0, 1, rightsOfRight: rights, isTold: false)
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(0, cars) == before)
        #expect(scene.nodes[0].sent.contains(.refused))
        #expect(ids(scene.nodes[1].refused(by: scene.nodes[0])) == [#""b""#])
    }

    /// The device has sent it to a third peer, which passes on what it may.
    @Test func `a reverted write does not come to others from its writer`() throws {
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
