import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// Assignments of one statement to a path and to a field inside it.
struct AssignmentOrderTests {
    @Test(
        arguments: [
            ("n = {'v': 1, 'w': 2}, n.w.z = 3", #"{"v":1,"w":{"z":3}}"#),
            ("n.w.z = 3, n = {'v': 1, 'w': 2}", #"{"v":1,"w":2}"#),
            ("n = {'w': 2}, n = {'w': {'z': 3}}", #"{"w":{"z":3}}"#),
            ("n = {'w': 2}, n -> (w -> increment(3))", #"{"w":3}"#),
        ], ["_id = 'a'", "_id = 'a' AND s = 1"])
    func `the later assignment wins in the transaction, after reopening, and at a peer`(
        _ assignments: (text: String, result: String), _ condition: String
    ) async throws {
        let network = MemoryNetwork()
        let directory = TemporaryDirectory()
        func configuration() -> PeerConfiguration {
            let key = PeerKey.random()
            return PeerConfiguration(
                databaseID: "cars", key: key, transports: [network.transport(for: key)])
        }
        let writer = try await Peer.open(
            at: directory.path("store"), configuration: configuration())
        let reader = try await Peer.inMemory(configuration: configuration())
        try reader.sync.registerSubscription("SELECT * FROM cars")
        let row = #"{"_id":"a","n":"# + assignments.result + #","s":1}"#
        let select: DQL = "SELECT * FROM cars"
        let update = DQL(
            verbatim: "UPDATE cars SET \(assignments.text) WHERE \(condition) RETURNING n")
        try await writer.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 's': 1})")
        try await writer.store.transaction { transaction in
            let returned = try await transaction.execute(update)
            #expect(try returned.items[0]["n"]?.json == assignments.result)
            let found = try await transaction.execute(select)
            #expect(try found.items.map { try $0.jsonString } == [row])
        }
        try writer.sync.start()
        try reader.sync.start()
        try await reader.items(of: select) { !$0.isEmpty }
        #expect(try await reader.store.execute(select).items.map { try $0.jsonString } == [row])
        try await reader.close()
        try await writer.close()
        let store = try await Store.open(at: directory.path("store"))
        #expect(try await store.execute(select).items.map { try $0.jsonString } == [row])
        try await store.close()
    }
}
