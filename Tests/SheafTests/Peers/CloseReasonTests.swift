import Sheaf
import SheafBytes
import SheafEngine
import SheafReplication
import SheafStatements
import SheafSync
import Testing

/// The reasons for which connections ended, as both sides report them.
struct CloseReasonTests {
    private func connect(
        _ host: Replicator, _ wire: UInt64, at now: UInt64, _ session: SyncSession,
        ending farewell: CloseMessage = CloseMessage(.limit, "too many frames")
    ) {
        var session = session
        host.connect(wire, at: now)
        for effect in host.drainEffects() {
            if case .send(wire, let bytes) = effect {
                bytes.withUnsafeBytes { session.receive($0, at: now) }
            }
        }
        session.end(farewell)
        for effect in session.drainEffects() {
            if case .send(let bytes) = effect {
                bytes.withUnsafeBytes { host.receive($0, on: wire, at: now) }
            }
        }
        _ = host.drainEffects()
    }

    @Test func `the close reason of the other side is in the status`() throws {
        let replicator = try FileScene(1).nodes[0].replicator
        for wire in 1...5 {
            connect(replicator, UInt64(wire), at: 1, .unknownPeer(1, at: 1))
        }
        let status = try #require(replicator.allStatuses.values.first)
        #expect(!status.isConnected)
        #expect(
            status.lastCloseReason == "the other side closed the connection: too many frames")
        #expect(status.shortConnections == 5)
    }

    @Test func `one orderly end is logged as info, and repeated ones as warnings`() throws {
        let node = try FileScene(1).nodes[0]
        let goodbye = CloseMessage(.done, "the peer stops")
        let text = "reason=the other side closed the connection: the peer stops"
        connect(node.replicator, 1, at: 1, .unknownPeer(1, at: 1), ending: goodbye)
        #expect(node.store.messages(.warning).isEmpty)
        #expect(node.store.messages(.info).count == 1)
        for wire in 2...9 {
            connect(node.replicator, UInt64(wire), at: 1, .unknownPeer(1, at: 1), ending: goodbye)
        }
        // The end is logged at the second, fourth and eighth consecutive short connection.
        let warnings = node.store.messages(.warning)
        #expect(warnings.count == 3)
        #expect(warnings.allSatisfy { $0.hasPrefix("a connection to a peer has ended") })
        #expect(warnings.allSatisfy { $0.contains(text) }, "\(warnings)")
        #expect(warnings.last?.contains("connections=8") == true)
    }

    @Test func `the close reason of the transport is in the status`() throws {
        let replicator = try FileScene(1).nodes[0].replicator
        let key = [UInt8](repeating: 7, count: 32)
        replicator.connect(1, expecting: key, at: 1)
        replicator.disconnect(1, .lost("the connection was reset"))
        let status = try #require(replicator.allStatuses[key])
        #expect(status.lastCloseReason == "the connection was reset")
    }

    @Test func `without a connection, a peer counts as neither received nor sent`() throws {
        let scene = try DocumentScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.execute(0, "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let wire = try scene.connect(0, 1)
        try scene.run()
        var surveys = scene.nodes.flatMap { $0.replicator.surveys() }
        try #require(surveys.count == 2)
        #expect(surveys[0].isConnected && surveys[0].isSent)
        #expect(surveys[1].isConnected && surveys[1].isReceived)
        try scene.disconnect(wire)
        surveys = scene.nodes.flatMap { $0.replicator.surveys() }
        #expect(surveys.count == 2)
        #expect(surveys.allSatisfy { !$0.isConnected && !$0.isReceived && !$0.isSent })
    }

    @Test func `a peer that this one refuses is listed, and each refusal counts`() throws {
        let replicator = try FileScene(1).nodes[0].replicator
        let key = [UInt8](repeating: 7, count: 32)
        for _ in 1...3 { replicator.deny(key, at: "10.0.0.7:4120", because: "it has no grant") }
        let status = try #require(replicator.allStatuses[key])
        #expect(status.shortConnections == 3 && !status.isConnected)
        #expect(status.address == "10.0.0.7:4120")
        #expect(status.lastCloseReason?.contains("it has no grant") == true)
    }

    @Test(arguments: [(59_999_999_999, 4), (60_000_000_000, 1)] as [(UInt64, UInt64)])
    func `a connection of one minute resets the number of short connections`(
        _ duration: UInt64, _ count: UInt64
    ) throws {
        let replicator = try FileScene(1).nodes[0].replicator
        let key = [UInt8](repeating: 7, count: 32)
        for wire in 1...3 as ClosedRange<UInt64> {
            replicator.connect(wire, expecting: key, at: 1)
            replicator.disconnect(wire, .lost("reset"))
        }
        #expect(replicator.allStatuses[key]?.shortConnections == 3)
        replicator.connect(4, expecting: key, at: 1)
        replicator.tick(at: 1 + duration)
        replicator.disconnect(4, .lost("reset"))
        #expect(replicator.allStatuses[key]?.shortConnections == count)
    }

    @Test func `the close reason is in system:data_sync_info`() async throws {
        let scene = try await PeerScene(2)
        try scene.peers[1].sync.registerSubscription("SELECT * FROM cars")
        scene.connect(0, 1)
        try await scene.peers[0].store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try await scene.peers[1].items(of: "SELECT * FROM cars") { $0.count == 1 }
        scene.peers[1].sync.stop()
        // The replicator handles the request for its reports after the end of the connection.
        while try scene.peers[0].sync.surveys().contains(where: \.isConnected) {}
        let rows = try await scene.peers[0].store.execute("SELECT * FROM system:data_sync_info")
        let json = try rows.items.map { try $0.jsonString }
        #expect(json.count == 1)
        #expect(json[0].contains("last_close_reason\":\""), "\(json)")
        try await scene.close()
    }
}
