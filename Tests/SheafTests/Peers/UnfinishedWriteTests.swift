import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import SheafSync
import SheafTestSupport
import Testing

/// Received batches that are being written, or not durable yet, while the peers continue.
@Suite struct UnfinishedWriteTests {
    /// The reason for which two peers reconcile.
    enum Cause: CaseIterable {
        case widerSubscription, eviction, newConnection, restart
    }

    /// The cause of the delay of a received batch.
    enum Delay: CaseIterable {
        case writer, disk
    }

    private let subscribed = ["SELECT * FROM cars", "SELECT * FROM vans"]
    private let widen: DQL = "ALTER SYSTEM SET user_collection_sync_scopes = {}"
    private let narrow: DQL =
        "ALTER SYSTEM SET user_collection_sync_scopes = {'vans': 'LocalPeerOnly'}"

    /// Returns a scene in which peer 1 has received a car of peer 0, and not written it durably.
    private func scene(_ delay: Delay) throws -> (DocumentScene, wire: UInt64) {
        let scene = try DocumentScene(2)
        try scene.execute(0, narrow)
        try scene.execute(1, "INSERT INTO cars DOCUMENTS ({'_id': 'own'})")
        try scene.subscribe(1, subscribed)
        switch delay {
        case .writer: scene.nodes[1].isBusy = true
        case .disk: scene.nodes[1].flushesLate = true
        }
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'late'})")
        let wire = try scene.connect(0, 1)
        try scene.run()
        #expect(scene.nodes[0].sent.contains(.segment))
        return (scene, wire)
    }

    /// Makes the peers reconcile, and holds all that peer 1 then sends.
    private func reconcile(
        _ scene: DocumentScene, _ wire: UInt64, because cause: Cause
    ) throws -> UInt64 {
        var wire = wire
        if cause == .newConnection {
            try scene.disconnect(wire)
            wire = try scene.connect(0, 1)
        }
        scene.hold(wire, to: 0)
        switch cause {
        case .widerSubscription: try scene.subscribe(1, subscribed + ["SELECT * FROM carts"])
        case .eviction: try scene.execute(1, "EVICT FROM cars WHERE _id = 'own'")
        case .newConnection: break
        case .restart: try scene.execute(0, widen)
        }
        try scene.run()
        return wire
    }

    /// Deletes a car after peer 1 could begin to reconcile, and before peer 0 lists its own cars.
    @Test(arguments: Cause.allCases, Delay.allCases)
    func `a document that is deleted while its batch is written does not remain`(
        _ cause: Cause, _ delay: Delay
    ) throws {
        var (scene, wire) = try scene(delay)
        wire = try reconcile(scene, wire, because: cause)
        try scene.execute(0, "DELETE FROM cars WHERE _id = 'late'")
        try scene.run()
        (scene.nodes[1].isBusy, scene.nodes[1].flushesLate) = (false, false)
        try scene.run()
        try scene.nodes[1].store.flush()
        try scene.published(1)
        #expect(try scene.rows(1, "SELECT _id FROM cars WHERE _id = 'late'").count == 1)
        try scene.letGo(wire, to: 0)
        #expect(try scene.rows(1, "SELECT _id FROM cars WHERE _id = 'late'") == [])
    }

    /// Reports a lost write, so that peer 1 draws another site before it writes a batch.
    @Test func `a batch is not acknowledged when a change of sites ends before it`() throws {
        let scene = try DocumentScene(2)
        // Moved writes of subscribed documents would make the peer subscribe again.
        try scene.execute(1, "INSERT INTO vans DOCUMENTS ({'_id': 'first'})")
        try scene.putBack(1, to: scene.nodes[1].volume.processDeath())
        try scene.advance(milliseconds: 2)
        try scene.execute(1, "INSERT INTO vans DOCUMENTS ({'_id': 'last'})")
        try scene.subscribe(1, ["SELECT * FROM cars"])
        let wire = try scene.connect(0, 1)
        scene.forge(wire, to: 1)
        try scene.run()
        scene.nodes[1].isBusy = true
        let documents = scene.nodes[1].store.queries.documents
        let site = documents.site
        let pause = try #require(documents.pauses.last)
        let time = HybridTime(rawValue: pause.after.rawValue + 1)
        try scene.deliver(
            Frame(.lostWrite, LostWrite(site: site, time: time).bytes), on: wire, to: 1)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'late'})")
        let commit = scene.nodes[0].newestCommit
        try scene.run()
        scene.nodes[1].isBusy = false
        try scene.run(steps: 1)
        #expect(documents.site != site)
        scene.nodes[1].isBusy = true
        // Of this commit, peer 1 receives the position alone.
        try scene.execute(0, "INSERT INTO vans DOCUMENTS ({'_id': 'other'})")
        try scene.run()
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) < commit)
        scene.nodes[1].isBusy = false
        try scene.run()
        #expect(scene.nodes[0].synced(with: scene.nodes[1]) == scene.nodes[0].newestCommit)
        #expect(try scene.rows(1, "SELECT _id FROM cars WHERE _id = 'late'").count == 1)
    }
}
