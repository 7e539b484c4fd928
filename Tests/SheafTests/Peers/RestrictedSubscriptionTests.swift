import Sheaf
import SheafDocument
import SheafReplication
import SheafStatements
import Testing

/// `dql_restrict_subscriptions` of a peer, applied to the subscriptions of other peers.
struct RestrictedSubscriptionTests {
    private func restrict(_ scene: FileScene, _ isRestricted: Bool) throws {
        try scene.nodes[0].execute(
            "ALTER SYSTEM SET dql_restrict_subscriptions = :value",
            ["value": Value.bool(isRestricted)])
    }

    @Test(arguments: [
        ("SELECT * FROM cars ORDER BY n", "ORDER BY"), ("SELECT * FROM cars LIMIT 2", "LIMIT"),
        ("SELECT * FROM cars WHERE n > 0 ORDER BY n LIMIT 2", "ORDER BY"),
    ])
    func `a peer that restricts subscriptions closes the connection and names the clause`(
        query: String, clause: String
    ) throws {
        let scene = try FileScene(2)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        try restrict(scene, true)
        try scene.subscribe(1, ["SELECT * FROM boats", query])
        try scene.connect(0, 1)
        try scene.run()
        #expect(!scene.isConnected)
        #expect(try scene.nodes[1].rows("SELECT _id FROM cars").isEmpty)
        let status = try #require(scene.nodes[0].replicator.allStatuses[scene.nodes[1].key])
        let reason = try #require(status.lastCloseReason)
        for part in ["\(clause) is not allowed", "dql_restrict_subscriptions", query] {
            #expect(reason.contains(part), "\(reason)")
        }
        // With the parameter set to false, the same subscription is served.
        try restrict(scene, false)
        try scene.connect(0, 1)
        try scene.run()
        #expect(scene.isConnected)
        #expect(try scene.nodes[1].rows("SELECT _id FROM cars").count == 1)
    }

    @Test func `an accepted subscription continues when the parameter becomes true`() throws {
        let scene = try FileScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars ORDER BY n LIMIT 1"])
        try scene.connect(0, 1)
        try scene.run()
        try restrict(scene, true)
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
        try scene.run()
        #expect(try scene.nodes[1].rows("SELECT _id FROM cars").count == 1)
    }
}
