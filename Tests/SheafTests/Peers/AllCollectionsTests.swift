import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import SheafTransport
import Testing

/// Subscriptions to all documents of all collections.
@Suite struct AllCollectionsTests {
    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<8 { try scene.advance(milliseconds: 1_000) }
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ name: String, _ id: String) throws
    {
        try scene.execute(
            number, DQL(verbatim: "INSERT INTO \(name) DOCUMENTS ({'_id': '\(id)'})"))
    }

    /// Returns the documents of a node, as `collection/id`, in order.
    private func documents(_ scene: DocumentScene, _ number: Int) throws -> [String] {
        let store = scene.nodes[number].store
        let names = store.queries.documents.snapshot().catalog.collections
        return try names.flatMap { name in
            // A row is `{"_id":"a"}`.
            try scene.rows(number, DQL(verbatim: "SELECT _id FROM \(name)")).map {
                "\(name)/\($0.dropFirst(8).dropLast(2))"
            }
        }
        .sorted()
    }

    @Test func `documents of collections arrive that neither peer has named`() throws {
        let scene = try DocumentScene(2)
        try insert(scene, 0, "cars", "a")
        try insert(scene, 0, "boats", "b")
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try documents(scene, 1) == ["boats/b", "cars/a"])
        // The collection is created after the subscription.
        try insert(scene, 0, "planes", "c")
        try settle(scene)
        #expect(try documents(scene, 1) == ["boats/b", "cars/a", "planes/c"])
        try scene.execute(0, "DELETE FROM boats")
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a", "planes/c"])
        let subscriptions = scene.nodes[1].sent.count { $0 == .subscribe }
        #expect(subscriptions == 1)
    }

    @Test func `a comparison covers collections that only one side has`() throws {
        let scene = try DocumentScene(2)
        for number in 0..<2 {
            try scene.subscribe(number, ["*"])
            for id in 0..<40 { try insert(scene, number, "own\(number)", "d\(id)") }
        }
        try insert(scene, 0, "cars", "a")
        try insert(scene, 1, "cars", "b")
        let wire = try scene.connect(0, 1)
        try settle(scene)
        let all = try documents(scene, 0)
        #expect(all.count == 82)
        #expect(try documents(scene, 1) == all)
        try scene.disconnect(wire)
        // The other peer has no cursor after it was opened again, so the peers compare.
        try scene.execute(0, "DELETE FROM own1 WHERE _id = 'd7'")
        try insert(scene, 0, "later", "x")
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.subscribe(1, ["*"])
        let length = scene.nodes[0].segmentLength
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try documents(scene, 1) == documents(scene, 0))
        #expect(try documents(scene, 1).count == 82)
        #expect(scene.nodes[0].sent.contains(.answer))
        #expect(scene.nodes[0].segmentLength - length < 600)
    }

    @Test func `a reconnect continues from the cursor, also with a new collection`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["*"])
        try insert(scene, 0, "cars", "a")
        let wire = try scene.connect(0, 1)
        try settle(scene)
        try scene.disconnect(wire)
        try insert(scene, 0, "boats", "b")
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try documents(scene, 1) == ["boats/b", "cars/a"])
        #expect(!scene.nodes[1].sent.contains(.ask))
    }

    @Test func `reserved collections are not sent`() throws {
        let scene = try DocumentScene(2)
        for name in ["system:health", "__hidden", "cars"] {
            try scene.nodes[0].store.change(
                DocumentChange(name, .string("a"), .insert([:], onConflict: .merge)))
        }
        try scene.published(0)
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        try scene.nodes[0].store.change(
            DocumentChange("__later", .string("a"), .insert([:], onConflict: .merge)))
        try scene.published(0)
        try settle(scene)
        let snapshot = scene.nodes[1].store.queries.documents.snapshot()
        #expect(snapshot.catalog.collections == ["cars"])
    }

    @Test func `a subscription to all collections covers all others`() throws {
        let scene = try DocumentScene(2)
        let named = ["SELECT * FROM cars ORDER BY n LIMIT 1", "SELECT * FROM boats"]
        try scene.subscribe(1, [named[0], "*", named[1]])
        for id in ["a", "b", "c"] { try insert(scene, 0, "cars", id) }
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a", "cars/b", "cars/c"])
        // A narrower subscription keeps the cursor.
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try insert(scene, 0, "boats", "d")
        try insert(scene, 0, "cars", "e")
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a", "cars/b", "cars/c", "cars/e"])
        #expect(!scene.nodes[1].sent.contains(.ask))
        // A wider one does not.
        try scene.subscribe(1, ["*"])
        try settle(scene)
        #expect(try documents(scene, 1).contains("boats/d"))
    }

    @Test func `evicted documents of all collections are requested again`() throws {
        let scene = try DocumentScene(2)
        try insert(scene, 0, "cars", "a")
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        try scene.forget(1, "a")
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a"])
    }

    @Test func `the checksum of all collections is that of all documents`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["*"])
        for name in ["cars", "boats", "planes"] { try insert(scene, 0, name, "a") }
        try scene.connect(0, 1)
        try settle(scene)
        let totals = try scene.nodes.map { node in
            let queries = node.store.queries
            let matcher = SubscriptionMatcher([.allCollections], queries)
            return try queries.documents.snapshot()
                .versions(matching: matcher, allAreReadable: false).total
        }
        #expect(totals[0] == totals[1])
        #expect(totals[0].count == 3)
    }

    @Test(arguments: [false, true])
    func `a collection that is not shared is neither sent nor received`(_ isOlder: Bool) throws {
        let scene = try DocumentScene(2, olderNodes: isOlder ? [0] : [])
        try insert(scene, 1, "drafts", "mine")
        try insert(scene, 1, "cars", "a")
        try scene.execute(
            1, "ALTER SYSTEM SET user_collection_sync_scopes = {'drafts': 'LocalPeerOnly'}")
        try scene.advance(milliseconds: 1)
        for number in 0..<2 { try scene.subscribe(number, ["*"]) }
        try scene.connect(0, 1)
        try settle(scene)
        try insert(scene, 0, "drafts", "theirs")
        try settle(scene)
        #expect(try documents(scene, 0) == ["cars/a", "drafts/theirs"])
        #expect(try documents(scene, 1) == ["cars/a", "drafts/mine"])
        try scene.execute(1, "ALTER SYSTEM SET user_collection_sync_scopes = {}")
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a", "drafts/mine", "drafts/theirs"])
        #expect(try documents(scene, 0) == documents(scene, 1))
    }

    @Test func `an older peer is not asked any more for a collection that stops being shared`()
        throws
    {
        let scene = try DocumentScene(2, olderNodes: [0])
        for name in ["cars", "drafts"] { try insert(scene, 0, name, "a") }
        try scene.subscribe(1, ["*"])
        try insert(scene, 1, "cars", "b")
        try insert(scene, 1, "drafts", "b")
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a", "cars/b", "drafts/a", "drafts/b"])
        let subscriptions = scene.nodes[1].sent.count { $0 == .subscribe }
        try scene.execute(
            1, "ALTER SYSTEM SET user_collection_sync_scopes = {'drafts': 'LocalPeerOnly'}")
        try settle(scene)
        #expect(scene.nodes[1].sent.count { $0 == .subscribe } > subscriptions)
        let sent = scene.nodes[0].replicator.statistics.documentsSent
        try insert(scene, 0, "drafts", "c")
        try settle(scene)
        #expect(scene.nodes[0].replicator.statistics.documentsSent == sent)
        try insert(scene, 0, "cars", "c")
        try settle(scene)
        #expect(try documents(scene, 1).contains("cars/c"))
    }

    @Test func `an announced document of a collection that is not shared is not awaited`() throws {
        let scene = try DocumentScene(3)
        let (source, reader, other) = (0, 1, 2)
        try scene.execute(
            reader, "ALTER SYSTEM SET user_collection_sync_scopes = {'drafts': 'LocalPeerOnly'}")
        for number in 0..<3 { try scene.subscribe(number, ["*"]) }
        try scene.connect(source, other)
        try scene.connect(other, reader)
        let direct = try scene.connect(source, reader)
        try settle(scene)
        // The reader gets the document from the other peer first.
        scene.hold(direct, to: reader)
        try insert(scene, source, "cars", "a")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        let announced = scene.nodes[source].sent.count { $0 == .announce }
        let subscriptions = scene.nodes[reader].sent.count { $0 == .subscribe }
        try insert(scene, source, "drafts", "x")
        try settle(scene)
        #expect(scene.nodes[source].sent.count { $0 == .announce } > announced)
        #expect(scene.nodes[reader].sent.count { $0 == .subscribe } == subscriptions)
        #expect(try documents(scene, reader) == ["cars/a"])
        #expect(try documents(scene, other) == ["cars/a", "drafts/x"])
    }

    @Test func `ranges of several collections may be wanted in any order, and overlap`() throws {
        let scene = try DocumentScene(2)
        for name in ["boats", "cars", "planes"] {
            for id in 0..<40 {
                try insert(scene, 0, name, "d\(id)")
                if name == "cars" { try insert(scene, 1, name, "d\(id)") }
            }
        }
        try scene.subscribe(1, ["*"])
        var count = 0
        let wire = try scene.connect(0, 1)
        scene.split(wire, to: 0) { frame in
            guard frame.type == .want,
                case let want = try frame.body.withUnsafeBytes({ try Want(decoding: $0) }),
                case .ranges(let ranges) = want.documents
            else { return [frame] }
            let parts = Self.divided(ranges, atCollections: ["boats", "cars", "planes"])
            count += parts.count
            return (parts.reversed() + parts.prefix(1)).map {
                Frame(.want, Want(generation: want.generation, .ranges([$0])).bytes)
            }
        }
        try settle(scene)
        #expect(count > 1)
        #expect(try documents(scene, 1).count == 120)
        #expect(scene.nodes[0].replicator.statistics.documentsSent < 130)
    }

    /// Divides ranges of addresses where the documents of collections begin.
    private static func divided(
        _ ranges: [KeyRange], atCollections names: [String]
    ) -> [KeyRange] {
        let starts = names.map { DocumentAddress(collection: $0, id: []).bytes }
            .sorted { $0.lexicographicallyPrecedes($1) }
        return ranges.flatMap { range in
            let inner = starts.filter { start in
                range.lower.lexicographicallyPrecedes(start)
                    && range.upper.map { start.lexicographicallyPrecedes($0) } ?? true
            }
            return zip([range.lower] + inner, inner.map(Optional.some) + [range.upper])
                .map { KeyRange(from: $0, to: $1) }
        }
    }

    // MARK: Rights

    @Test(arguments: [false, true])
    func `rights decide which documents of all collections a peer receives`(_ isOlder: Bool) throws
    {
        let scene = try DocumentScene(2, olderNodes: isOlder ? [0] : [])
        let rights = PeerRights(
            read: ["cars": "_id LIKE 'a%'", "planes": "true"], write: ["planes": "true"])
        for id in ["a1", "b1"] { try insert(scene, 0, "cars", id) }
        try insert(scene, 0, "boats", "a1")
        for number in 0..<2 { try scene.subscribe(number, ["*"]) }
        try scene.connect(0, 1, rightsOfRight: rights)
        try settle(scene)
        for id in ["a2", "b2"] { try insert(scene, 0, "cars", id) }
        try insert(scene, 0, "secrets", "a1")
        try insert(scene, 0, "planes", "p")
        try settle(scene)
        #expect(try documents(scene, 1) == ["cars/a1", "cars/a2", "planes/p"])
        try insert(scene, 1, "planes", "q")
        try settle(scene)
        #expect(try documents(scene, 0).contains("planes/q"))
        let names = scene.nodes[1].store.queries.documents.snapshot().catalog.collections
        #expect(Set(names) == ["cars", "planes"])
    }

    @Test func `documents of unreadable collections are not visited for a limited peer`() throws {
        func used(hidden: Int) throws -> Int {
            let scene = try DocumentScene(2)
            try insert(scene, 0, "cars", "a")
            for id in 0..<hidden { try insert(scene, 0, "secrets", "d\(id)") }
            for number in 0..<2 { try scene.subscribe(number, ["*"]) }
            try scene.connect(
                0, 1, rightsOfRight: PeerRights(read: ["cars": "true"], write: [:]))
            try settle(scene)
            #expect(try documents(scene, 1) == ["cars/a"])
            return scene.nodes[0].replicator.slice.used
        }
        #expect(try used(hidden: 100) == used(hidden: 0))
    }

    @Test func `a subscription to all collections uses no evaluation budget`() throws {
        let scene = try DocumentScene(2)
        for id in 0..<200 { try insert(scene, 0, "cars", "d\(id)") }
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        let full = SyncLimits.evaluationUnits * SyncLimits.unrestrictedFactor
        try scene.run()
        #expect(try documents(scene, 1).count == 200)
        let units = try #require(scene.nodes[0].replicator.evaluationUnits(of: scene.nodes[1].key))
        #expect(full - units <= 32)
    }
}
