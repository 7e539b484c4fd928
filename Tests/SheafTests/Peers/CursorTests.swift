import Sheaf
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Replication cursors, and the events that invalidate them.
struct CursorTests {
    private let all: DQL = "SELECT _id FROM cars ORDER BY _id"

    /// Shares a collection, and drops the connection during the resulting reconciliation.
    @Test func `an unfinished reconciliation restarts`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(
            0, "ALTER SYSTEM SET user_collection_sync_scopes = {'cars': 'LocalPeerOnly'}")
        try scene.advance(milliseconds: 1)
        let wire = try scene.connect(0, 1)
        try scene.run()
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        let hidden = try scene.rows(1, all)
        #expect(hidden.isEmpty)
        scene.hold(wire, to: 0)
        try scene.execute(0, "ALTER SYSTEM SET user_collection_sync_scopes = {}")
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[0].sent.contains(.restart))
        #expect(scene.nodes[1].sent.contains { $0 == .ask || $0 == .want })
        try scene.disconnect(wire)
        try scene.connect(0, 1)
        try scene.run()
        let shown = try scene.rows(1, all)
        #expect(shown == [#"{"_id":"a"}"#])
    }

    /// Drops the connection while the batch is not durable; nothing arrives over the next one.
    @Test func `a batch received over an earlier connection is acknowledged when it is durable`()
        throws
    {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let first = try scene.connect(0, 1)
        try scene.run()
        let before = scene.nodes[0].synced(with: scene.nodes[1])
        scene.nodes[1].flushesLate = true
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        try scene.disconnect(first)
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == before)
        scene.nodes[1].flushesLate = false
        try scene.nodes[1].store.flush()
        scene.nodes[1].replicator.processPublished()
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        #expect(try scene.rows(1, all).count == 1)
    }

    @Test func `a batch that is not durable is not acknowledged, even after an announcement`()
        throws
    {
        let scene = try DocumentScene(3)
        let (source, other, reader) = (0, 1, 2)
        for number in [other, reader] { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        let direct = try scene.connect(source, reader)
        try scene.connect(source, other)
        let relayConnection = try scene.connect(other, reader)
        try scene.run()
        scene.hold(direct, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        scene.nodes[reader].isBusy = true
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'announced'})")
        let announced = scene.nodes[source].newestCommit
        try scene.run()
        scene.hold(relayConnection, to: reader)
        let many = (0..<300).map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.execute(source, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(many)"))
        let newest = scene.nodes[source].newestCommit
        try scene.run()
        scene.nodes[reader].isBusy = false
        try scene.run(steps: 1)
        #expect(try scene.rows(reader, "SELECT * FROM cars WHERE _id = 'announced'").count == 1)
        scene.nodes[reader].flushesLate = true
        try scene.run()
        #expect(scene.nodes[source].synced(with: scene.nodes[reader]) < newest)
        #expect(scene.nodes[source].synced(with: scene.nodes[reader]) >= announced)
        try scene.nodes[reader].store.flush()
        scene.nodes[reader].replicator.processPublished()
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[source].synced(with: scene.nodes[reader]) == newest)
    }

    @Test func `announced documents arrive if their timeout passes while a batch waits`() throws {
        let scene = try DocumentScene(3)
        let (source, other, reader) = (0, 1, 2)
        for number in [other, reader] { try scene.subscribe(number, ["SELECT * FROM cars"]) }
        let direct = try scene.connect(source, reader)
        try scene.connect(source, other)
        let relayConnection = try scene.connect(other, reader)
        try scene.run()
        scene.hold(direct, to: reader)
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'first'})")
        try scene.run()
        try scene.letGo(direct, to: reader)
        #expect(scene.nodes[reader].sent.contains(.announceOnly))
        scene.hold(relayConnection, to: reader)
        scene.nodes[reader].isBusy = true
        try scene.execute(source, "INSERT INTO cars DOCUMENTS ({'_id': 'announced'})")
        try scene.run()
        let many = (0..<300).map { "({'_id': \($0)})" }.joined(separator: ", ")
        try scene.execute(source, DQL(verbatim: "INSERT INTO cars DOCUMENTS \(many)"))
        try scene.run()
        // A deadline that has passed must not block the other work.
        try scene.advance(milliseconds: 1_000)
        scene.nodes[reader].isBusy = false
        try scene.run()
        try scene.advance(milliseconds: 1_000)
        #expect(try scene.rows(reader, all).count == 302)
    }

    @Test func `a batch of an old subscription does not advance the cursor of a new one`() throws {
        let scene = try DocumentScene(2)
        try scene.execute(0, "INSERT INTO boats DOCUMENTS ({'_id': 'b'})")
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let wire = try scene.connect(0, 1)
        try scene.run()
        scene.nodes[1].flushesLate = true
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try scene.run()
        try scene.subscribe(1, ["SELECT * FROM cars", "SELECT * FROM boats"])
        scene.hold(wire, to: 1)
        scene.nodes[1].flushesLate = false
        try scene.nodes[1].store.flush()
        scene.nodes[1].replicator.processPublished()
        try scene.advance(milliseconds: 1)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) < scene.nodes[0].newestCommit)
        try scene.letGo(wire, to: 1)
        try scene.advance(milliseconds: 1_000)
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
    }
}
