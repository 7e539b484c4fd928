// The examples keep the formatting of the documentation.
// swift-format-ignore-file

import Foundation
import Sheaf
import SheafNetwork
import SheafTestSupport
import Testing

/// The examples of the pages about the network and about permissions.
struct DocumentedNetworkTests {
    private let directory = TemporaryDirectory()
    private let address = "127.0.0.1:1"

    private func print(_ items: Any?...) {
        #expect(!items.isEmpty)
    }

    /// Creates a file with the bytes of a shared key, and returns its path.
    private func sharedKeyFile() -> String {
        let path = directory.path("shared.key")
        let isCreated = FileManager.default.createFile(
            atPath: path, contents: Data(repeating: 7, count: 32),
            attributes: [.posixPermissions: 0o600])
        #expect(isCreated)
        return path
    }

    @Test func `the examples of SheafNetwork and of Addresses run`() async throws {
        let (keyPath, path) = (directory.path("peer.key"), directory.path("store"))
        let sharedKey = try SharedKey([UInt8](repeating: 7, count: 32))
        let keyPair = try PeerKeyPair.loadOrGenerate(at: keyPath)
        let transport = try TCPTransport(
            NetworkConfiguration(
                databaseID: "cars", keyPair: keyPair, identity: .sharedKey(sharedKey),
                listening: ["127.0.0.1:0"], peers: [address]))
        let peer = try await Peer.open(
            at: path,
            configuration: PeerConfiguration(
                databaseID: "cars", key: keyPair.publicKey, transports: [transport]))
        peer.presence.onTransportEvent { event in
            switch event {
            case .listening(let address): print("listening on", address)
            case .unreachable(let address, let reason, let wait): print(address, reason, wait)
            case .refused(let address, let reason): print(address, reason)
            case .connected(let remote): print("connected to", remote.key)
            case .disconnected(let remote, let reason): print(remote.key, reason)
            case .discoveryFailed(let reason): print(reason)
            case .attemptsEnded(let address): print("connected or not needed:", address)
            }
        }
        peer.discovery = .localNetwork
        try peer.sync.start()
        try transport.add(address)
        try transport.remove(address)
        for connection in transport.connections {
            switch connection.state {
            case .connected(let key, let queued):
                print(key, queued, connection.traffic.receivedBytes)
            case .waiting(let milliseconds, let reason): print(connection.address, milliseconds, reason ?? "")
            case .connecting, .elsewhere: print(connection.address)
            }
        }
        let lost = keyPair.publicKey
        peer.presence.onConnectionRequest { remote in remote.key != lost }
        try await peer.close()
    }

    @Test func `the examples of Keys run`() throws {
        let keyPath = directory.path("peer.key")
        let keyPair = try PeerKeyPair.loadOrGenerate(at: keyPath)
        print(keyPair.publicKey)
        let text = keyPair.publicKey.description
        if let key = PeerKey(text) {
            print(key == keyPair.publicKey)
        }
        #expect(PeerKey(text) == keyPair.publicKey)
        #expect(try PeerKeyPair.loadOrGenerate(at: keyPath).publicKey == keyPair.publicKey)
        #expect(throws: NetworkError.self) { try keyPair.save(to: keyPath) }
    }

    @Test func `the examples of SharedKeys run`() throws {
        let sharedKeyPath = sharedKeyFile()
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: sharedKeyPath)))
        let sharedKey = try SharedKey(bytes)
        let identity = NetworkIdentity.sharedKey(sharedKey)
        let configuration = NetworkConfiguration(
            databaseID: "cars", keyPair: try .generate(), identity: identity)
        #expect(throws: Never.self) { try TCPTransport(configuration) }
    }

    @Test func `the examples of Grants run`() throws {
        let (authority, keyPair) = (try PeerKeyPair.generate(), try PeerKeyPair.generate())
        let peerKey = keyPair.publicKey
        let now = UInt64(Date().timeIntervalSince1970 * 1_000)
        let grant = try PeerGrant(
            authority: authority, databaseID: "cars", peerKey: peerKey,
            validMilliseconds: now - 3_600_000..<now + 30 * 86_400_000,
            rights: PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"]))
        let line = grant.description
        let received = try PeerGrant(line)
        let identity = NetworkIdentity.authority(publicKey: authority.publicKey, grant: received)
        #expect(received == grant && line.hasPrefix("grant:"))
        let configuration = NetworkConfiguration(
            databaseID: "cars", keyPair: keyPair, identity: identity)
        #expect(throws: Never.self) { try TCPTransport(configuration) }
        for text in ["", "grant", "grant:", "grant:0", "grant:xx", String(line.dropLast(2)), line + "00"] {
            let error = #expect(throws: NetworkError.self) { try PeerGrant(text) }
            #expect(error?.rule == .grant)
        }
    }

    @Test func `the examples of Permissions run`() async throws {
        let network = MemoryNetwork()
        let (key, serverKey) = (PeerKey.random(), PeerKey.random())
        let rights = PeerRights(
            read: ["orders": "true", "staff": "_id = 'ann'"],
            write: ["orders": "owner = 'ann' AND status != 'closed'"])
        let transport = network.transport(for: key, rights: rights)
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(databaseID: "cafe", key: key, transports: [transport]))
        let server = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cafe", key: serverKey,
                transports: [network.transport(for: serverKey)]))
        for peer in [peer, server] {
            try peer.sync.registerSubscription("SELECT * FROM orders")
            try peer.sync.registerSubscription("SELECT * FROM staff")
            try peer.sync.start()
        }
        peer.sync.onRefusedWrites { writes in
            for write in writes { print(write.collection, write.documentID, write.reason) }
        }
        let orders = peer.store.collection("orders", of: Value.self)
        let written = try await orders.insert([
            ["_id": "1", "owner": "ann", "status": "open"], ["_id": "2", "owner": "bob", "status": "open"],
        ])
        await #expect(throws: RefusedWrite.self) {
            try await peer.sync.wait(for: try #require(written.commitID), on: server.key)
        }
        let refusals = try await peer.store.execute("SELECT * FROM system:refused_writes")
        #expect(try refusals.items.map { try $0["document_id"] } == ["2"])
        try await peer.sync.revert(peer.sync.refusedWrites)
        #expect(try await orders.count() == 1)
        let accepted = server.store.collection("orders", of: Value.self)
        for try await known in accepted.observe() where !known.isEmpty {
            #expect(known.documents == [["_id": "1", "owner": "ann", "status": "open"]])
            break
        }
        for peer in [peer, server] { try await peer.close() }
    }
}
