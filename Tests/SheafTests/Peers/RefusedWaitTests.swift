import Sheaf
import SheafDocument
import SheafMesh
import SheafReplication
import SheafStatements
import Testing

/// The public API for writes that another peer does not accept.
struct RefusedWaitTests {
    private let network = MemoryNetwork()
    private let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])

    private func open(_ make: (any PeerTransport) -> RightsTransport) async throws -> Peer {
        let key = PeerKey.random()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: key, transports: [make(network.transport(for: key))]))
        try peer.sync.registerSubscription("SELECT * FROM cars")
        return peer
    }

    /// Returns a server and a device; both have a car of bob, and the device may write cars of ann.
    private func pair(sendsRights: Bool) async throws -> (server: Peer, device: Peer) {
        let rights = rights
        let server = try await open { RightsTransport($0, ofOthers: rights) }
        let device = try await open { RightsTransport($0, own: sendsRights ? rights : nil) }
        try await server.store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'owner': 'bob', 'n': 1})")
        try server.sync.start()
        try device.sync.start()
        try await device.items(of: "SELECT * FROM cars") { $0.count == 1 }
        return (server, device)
    }

    private func write(_ peer: Peer, _ statement: DQL) async throws -> Int64 {
        try #require(try await peer.store.execute(statement).commitID)
    }

    @Test(arguments: [true, false])
    func `waiting for a refused commit throws, and a revert restores the remote state`(
        _ sendsRights: Bool
    ) async throws {
        let (server, device) = try await pair(sendsRights: sendsRights)
        let (refusals, continuation) = AsyncStream.makeStream(of: [RefusedWrite].self)
        device.sync.onRefusedWrites { continuation.yield($0) }
        let accepted = try await write(
            device, "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'owner': 'ann', 'n': 1})")
        try await device.sync.wait(for: accepted, on: server.key)
        let commit = try await write(device, "UPDATE cars SET n = 2 WHERE _id = 'b'")
        let refused = try await #require(throws: RefusedWrite.self) {
            try await device.sync.wait(for: commit, on: server.key)
        }
        #expect(refused.peer == server.key)
        #expect(refused.collection == "cars" && refused.documentID == .string("b"))
        #expect(refused.reason == (sendsRights ? .ownGrant : .document))
        #expect(refused.commitIDs == [commit])
        #expect("\(refused)".contains("\(server.key)"))
        #expect(device.sync.refusedWrites == [refused])
        for await writes in refusals {
            #expect(writes == [refused])
            break
        }
        let rows = try await device.store.execute(
            "SELECT collection, document_id, peer, commit_ids FROM system:refused_writes")
        #expect(
            try rows.items.map { try $0.jsonString } == [
                #"{"collection":"cars","commit_ids":[\#(commit)],"document_id":"b","#
                    + #""peer":"\#(server.key)"}"#
            ])
        // Other commits are not affected, and later ones are accepted.
        try await device.sync.wait(for: accepted, on: server.key)
        let later = try await write(device, "UPDATE cars SET n = 3 WHERE _id = 'a'")
        try await device.sync.wait(for: later, on: server.key)

        // The delivered commit stays below a refused one.
        let field = "documents.delivered_up_to_local_commit_id"
        let delivered = try await device.store.execute(
            DQL(verbatim: "SELECT \(field) AS n FROM system:data_sync_info"))
        let known = try delivered.items.map { try $0.jsonString }
        #expect(known == ["{\"n\":\(commit - 1)}"])

        try await device.sync.revert(refused)
        try await device.items(of: "SELECT n FROM cars WHERE _id = 'b'") { $0 == [#"{"n":1}"#] }
        while !device.sync.refusedWrites.isEmpty { await Task.yield() }
        let last = try await write(device, "UPDATE cars SET n = 4 WHERE _id = 'a'")
        try await device.sync.wait(for: last, on: server.key)
        let sums = try [server, device].map { try $0.sync.checksum(of: "SELECT * FROM cars") }
        #expect(sums[0] == sums[1])
        // The write is already reverted, so nothing is left to revert.
        let before = device.sync.newestCommit
        try await device.sync.revert([refused, refused])
        #expect(device.sync.newestCommit == before)
        try await server.close()
        try await device.close()
    }

    @Test func `a refused insert that is reverted disappears`() async throws {
        let (server, device) = try await pair(sendsRights: false)
        let commit = try await write(
            device, "INSERT INTO cars DOCUMENTS ({'_id': 'c', 'owner': 'bob'}), ({'_id': 'd'})")
        await #expect(throws: RefusedWrite.self) {
            try await device.sync.wait(for: commit, on: server.key)
        }
        #expect(device.sync.refusedWrites.map(\.documentID) == [.string("c"), .string("d")])
        try await device.sync.revert(device.sync.refusedWrites)
        try await device.items(of: "SELECT _id FROM cars") { $0 == [#"{"_id":"b"}"#] }
        // The replicator processes the eviction on its own thread.
        while !device.sync.refusedWrites.isEmpty { await Task.yield() }
        try await server.close()
        try await device.close()
    }

    /// Begins the wait before there is a connection.
    @Test func `a wait in progress throws when the refusal arrives`() async throws {
        let (server, device) = try await pair(sendsRights: false)
        network.disconnect(server.key, device.key)
        let commit = try await write(device, "DELETE FROM cars WHERE _id = 'b'")
        let key = server.key
        let waiting = Task { try await device.sync.wait(for: commit, on: key) }
        network.connect(server.key, device.key)
        let refused = try await #require(throws: RefusedWrite.self) { try await waiting.value }
        #expect(refused.documentID == .string("b"))
        #expect(refused.reason == .original)
        try await device.sync.revert(refused)
        try await device.items(of: "SELECT _id FROM cars") { $0 == [#"{"_id":"b"}"#] }
        try await server.close()
        try await device.close()
    }
}
