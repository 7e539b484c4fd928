import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import SheafTransport
import Testing

/// Subscriptions to all collections at peers of version 3, which have no such subscription.
@Suite struct OlderVersionTests {
    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<8 { try scene.advance(milliseconds: 1_000) }
    }

    private func insert(_ scene: DocumentScene, _ number: Int, _ name: String, _ id: String) throws
    {
        try scene.execute(
            number, DQL(verbatim: "INSERT INTO \(name) DOCUMENTS ({'_id': '\(id)'})"))
    }

    private func count(_ scene: DocumentScene, _ number: Int, _ name: String) throws -> Int {
        try scene.rows(number, DQL(verbatim: "SELECT _id FROM \(name)")).count
    }

    private func subscriptions(_ scene: DocumentScene, _ number: Int) -> Int {
        scene.nodes[number].sent.count { $0 == .subscribe }
    }

    @Test func `an older peer is asked for the known collections, and for new ones`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        for name in ["cars", "boats", "planes"] { try insert(scene, 0, name, "a") }
        try insert(scene, 1, "cars", "b")
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try count(scene, 1, "cars") == 2)
        #expect(try count(scene, 1, "boats") == 0)
        // A write teaches this peer a collection.
        try insert(scene, 1, "boats", "b")
        try settle(scene)
        #expect(try count(scene, 1, "boats") == 2)
        // A query does, too, although the query of all collections covers it.
        try scene.subscribe(1, ["*", "SELECT * FROM planes WHERE n = 1"])
        try settle(scene)
        #expect(try count(scene, 1, "planes") == 1)
        let sent = subscriptions(scene, 1)
        try insert(scene, 0, "planes", "c")
        try settle(scene)
        #expect(try count(scene, 1, "planes") == 2)
        #expect(subscriptions(scene, 1) == sent)
        #expect(scene.nodes[0].closeMessages.isEmpty && scene.nodes[1].closeMessages.isEmpty)
    }

    @Test func `the subscriptions of an older peer teach collections`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        try insert(scene, 0, "cars", "a")
        try scene.subscribe(0, ["SELECT * FROM cars WHERE n = 1"])
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try count(scene, 1, "cars") == 1)
        try scene.subscribe(0, ["SELECT * FROM boats"])
        try insert(scene, 0, "boats", "a")
        try settle(scene)
        #expect(try count(scene, 1, "boats") == 1)
    }

    @Test func `a collection that an older peer has named remains subscribed to`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        try scene.subscribe(0, ["SELECT * FROM boats"])
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        let sent = subscriptions(scene, 1)
        try scene.subscribe(0, ["SELECT * FROM cars"])
        try settle(scene)
        #expect(subscriptions(scene, 1) == sent + 1)
        try scene.subscribe(0, [])
        try insert(scene, 0, "boats", "a")
        try settle(scene)
        #expect(try count(scene, 1, "boats") == 1)
        // Two peers that repeat each other's names would not end.
        #expect(subscriptions(scene, 1) == sent + 1)
    }

    @Test func `a collection learned without a connection is compared`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        try insert(scene, 0, "boats", "a")
        try insert(scene, 0, "cars", "a")
        try insert(scene, 1, "cars", "b")
        try scene.subscribe(1, ["*"])
        let wire = try scene.connect(0, 1)
        try settle(scene)
        #expect(try count(scene, 1, "boats") == 0)
        try scene.disconnect(wire)
        // A cursor would begin after the document.
        try insert(scene, 1, "boats", "b")
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try count(scene, 1, "boats") == 2)
    }

    @Test func `a reconnect to an older peer continues from the cursor`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        try insert(scene, 0, "cars", "a")
        try scene.subscribe(1, ["*", "SELECT * FROM cars"])
        let wire = try scene.connect(0, 1)
        try settle(scene)
        try scene.disconnect(wire)
        try insert(scene, 0, "cars", "b")
        let asked = scene.nodes[1].sent.count { $0 == .ask }
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try count(scene, 1, "cars") == 2)
        #expect(scene.nodes[1].sent.count { $0 == .ask } == asked)
    }

    @Test func `a collection learned while documents arrive is requested afterwards`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        for name in ["boats", "cars"] { try insert(scene, 0, name, "a") }
        try insert(scene, 1, "cars", "b")
        try scene.subscribe(1, ["*"])
        scene.nodes[1].isBusy = true
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[0].sent.contains(.segment))
        try insert(scene, 1, "boats", "b")
        try settle(scene)
        // A new subscription would discard the received documents.
        #expect(subscriptions(scene, 1) == 1)
        scene.nodes[1].isBusy = false
        try settle(scene)
        #expect(try count(scene, 1, "cars") == 2)
        #expect(try count(scene, 1, "boats") == 2)
        #expect(subscriptions(scene, 1) == 2)
    }

    @Test func `an older peer is asked for as many collections as a subscription may have`() throws
    {
        let scene = try DocumentScene(2, olderNodes: [0])
        try scene.subscribe(1, ["*"])
        let wire = try scene.connect(0, 1)
        try settle(scene)
        scene.hold(wire, to: 0)
        let names = (0...SyncLimits.queries).map { "c\($0)" }
        try scene.nodes[1].store.change(
            names.map { DocumentChange($0, .string("a"), .insert([:], onConflict: .merge)) })
        scene.nodes[1].keepsFrames = true
        try scene.published(1)
        try scene.advance(milliseconds: 1_000)
        var texts: Set<String> = []
        for bytes in scene.nodes[1].frames where FrameType(rawValue: bytes[8]) == .subscribe {
            let part = try bytes[9...].withUnsafeBytes { try SubscribePart(decoding: $0) }
            texts.formUnion(part.queries.map(\.text))
        }
        let named = names.sorted().prefix(SyncLimits.queries).map { "SELECT * FROM `\($0)`" }
        #expect(texts == Set(named))
    }

    @Test func `a limited peer of an older version is not sent the names of others`() throws {
        let scene = try DocumentScene(2, olderNodes: [1])
        for name in ["cars", "secrets"] { try insert(scene, 0, name, "a") }
        try scene.subscribe(0, ["*"])
        let rights = PeerRights(read: ["cars": "true"], write: ["planes": "true"])
        try scene.connect(0, 1, rightsOfRight: rights)
        try settle(scene)
        try insert(scene, 0, "plans", "a")
        try settle(scene)
        let queries = scene.nodes[1].replicator.surveys().first?.queries
        #expect(queries == ["SELECT * FROM `cars`", "SELECT * FROM `planes`"])
        try insert(scene, 1, "planes", "a")
        try settle(scene)
        #expect(try count(scene, 0, "planes") == 1)
    }

    @Test func `queries beside that of all collections are sent to a limited peer, too`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        try insert(scene, 1, "drafts", "a")
        try scene.subscribe(0, ["*", "SELECT * FROM drafts"])
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]))
        try settle(scene)
        let survey = scene.nodes[1].replicator.surveys().first
        #expect(survey?.queries == ["SELECT * FROM `cars`", "SELECT * FROM `drafts`"])
        // The limited peer learns that its document is not accepted.
        #expect(survey?.refused.map(\.collection) == ["drafts"])
    }

    @Test func `names with backticks and other letters are quoted`() throws {
        let scene = try DocumentScene(2, olderNodes: [0])
        let names = ["a`b", "`\u{301}", "select", "größe 1", "*"]
        for (number, name) in names.enumerated() {
            for node in 0..<2 {
                let id = Value.string("\(number) \(node)")
                try scene.nodes[node].store.change(
                    DocumentChange(name, id, .insert([:], onConflict: .merge)))
                try scene.published(node)
            }
        }
        try scene.subscribe(1, ["*"])
        try scene.connect(0, 1)
        try settle(scene)
        let queries = scene.nodes[1].store.queries
        let list = try queries.documents.snapshot().versions(
            matching: SubscriptionMatcher([.allCollections], queries), allAreReadable: false)
        #expect(list.total.count == 2 * names.count)
    }

    @Test func `a peer of version 3 that requests all collections is refused`() throws {
        let scene = try DocumentScene(1, olderNodes: [0])
        let all = SubscribedQuery(text: SubscribedQuery.allCollections, arguments: [])
        try scene.receive(
            Subscribe(generation: 1, [all], at: 0).parts.map { Frame(.subscribe, $0.bytes) }, on: 0)
        #expect(scene.nodes[0].closeMessages.map(\.code) == [.refused])
    }

    @Test func `the query of all collections has no arguments`() throws {
        let scene = try DocumentScene(1)
        let all = SubscribedQuery(text: SubscribedQuery.allCollections, arguments: [0])
        try scene.receive(
            Subscribe(generation: 1, [all], at: 0).parts.map { Frame(.subscribe, $0.bytes) }, on: 0)
        #expect(scene.nodes[0].closeMessages.map(\.code) == [.refused])
    }
}
