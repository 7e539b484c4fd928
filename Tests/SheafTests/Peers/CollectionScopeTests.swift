import Sheaf
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Collections that are temporarily not shared.
@Suite struct CollectionScopeTests {
    private let cars = "SELECT * FROM cars"
    private let all: DQL = "SELECT * FROM cars ORDER BY _id"

    private func settle(_ scene: DocumentScene) throws {
        for _ in 0..<8 { try scene.advance(milliseconds: 1_000) }
    }

    private let hide: DQL =
        "ALTER SYSTEM SET user_collection_sync_scopes = {'cars': 'LocalPeerOnly'}"
    private let show: DQL = "ALTER SYSTEM SET user_collection_sync_scopes = {}"

    @Test func `a scope permits servers, other peers, both or none`() throws {
        let scopes = try SyncScopes([
            "all": "AllPeers", "big": "BigPeerOnly", "small": "SmallPeersOnly",
            "local": "LocalPeerOnly",
        ])
        for (name, permitsServers, permitsOthers) in [
            ("all", true, true), ("big", true, false), ("small", false, true),
            ("local", false, false), ("others", true, true),
        ] {
            #expect(scopes.allows(name, toServer: true) == permitsServers, "\(name)")
            #expect(scopes.allows(name, toServer: false) == permitsOthers, "\(name)")
        }
    }

    @Test func `a newly shared collection reaches a peer that was disconnected at the change`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        let wire = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        try scene.execute(0, hide)
        try scene.advance(milliseconds: 1)
        try scene.execute(0, "DELETE FROM cars")
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        try settle(scene)
        try scene.disconnect(wire)
        try scene.execute(0, show)
        try scene.advance(milliseconds: 1)
        try scene.connect(0, 1)
        try settle(scene)
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }

    @Test(arguments: [false, true])
    func `a newly shared collection is requested again by the peer that shares it`(_ breaks: Bool)
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars, "SELECT * FROM boats"])
        let wire = try scene.connect(0, 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        try scene.execute(1, hide)
        try scene.advance(milliseconds: 1)
        try scene.execute(0, "DELETE FROM cars")
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        try settle(scene)
        #expect(try scene.rows(1, all) == [#"{"_id":"a"}"#])
        if breaks { try scene.disconnect(wire) }
        try scene.execute(1, show)
        try scene.advance(milliseconds: 1)
        if breaks { try scene.connect(0, 1) }
        try settle(scene)
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }

    @Test func `a newly shared collection reaches a peer that is reconciling`() throws {
        let scene = try DocumentScene(2)
        try scene.execute(0, hide)
        try scene.advance(milliseconds: 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 'a'})")
        try scene.execute(1, "INSERT INTO boats DOCUMENTS ({'_id': 'b'})")
        try scene.subscribe(1, [cars, "SELECT * FROM boats"])
        let wire = try scene.connect(0, 1)
        for _ in 0..<100 where !scene.nodes[0].sent.contains(.answer) { try scene.run(steps: 1) }
        #expect(scene.nodes[0].sent.contains(.answer))
        scene.hold(wire, to: 0)
        try scene.run()
        try scene.execute(0, show)
        try scene.advance(milliseconds: 1)
        try scene.letGo(wire, to: 0)
        try settle(scene)
        #expect(try scene.rows(1, all) == scene.rows(0, all))
    }

    @Test func `a commit after a collection stops being shared is not sent`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, [cars])
        try scene.connect(0, 1)
        try scene.run()
        try scene.nodes[0].store.execute(hide)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try settle(scene)
        #expect(try scene.rows(1, all).isEmpty)
    }
}
