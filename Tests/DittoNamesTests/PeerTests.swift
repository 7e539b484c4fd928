import Dispatch
import DittoNames
import Foundation
import Sheaf
import SheafTestSupport
import Synchronization
import Testing

/// Databases that sync over TCP, and configurations that prevent it.
struct PeerTests {
    @Test func `the intervals of a database have the documented defaults`() {
        #expect(DittoTransportConfig().connect.retryInterval == 5)
        #expect(DittoDiskUsage.interval == .milliseconds(500))
    }

    @Test func `two peers connect, exchange their metadata, and sync documents`() async throws {
        let (left, right) = (try await LoopbackScene.ditto(), try await LoopbackScene.ditto())
        try left.disableSyncWithV3()
        left.deviceName = "left"
        try left.presence.setPeerMetadata(["role": "waiter", "tables": [1, 2]])
        let address = try await LoopbackScene.listen(left)
        right.updateTransportConfig { $0.connect.tcpServers.insert(address) }
        try right.sync.registerSubscription(query: "SELECT * FROM cars")
        try right.sync.start()
        let graph = await right.graph { $0.remotePeers.first?.deviceName == "left" }
        let peer = try #require(graph.remotePeers.first)
        #expect(peer.peerMetadata["role"] as? String == "waiter")
        #expect((peer.peerMetadata["tables"] as? [Any])?.count == 2)
        #expect(peer.peerKeyString == left.presence.graph.localPeer.peerKeyString)
        #expect(peer.peerKey.count == 32 && peer.os != nil && peer.dittoSDKVersion != nil)
        #expect(!peer.isConnectedToDittoCloud && peer.identityServiceMetadata.isEmpty)
        let connection = try #require(graph.allConnectionsByID().values.first)
        #expect(connection.type == .accessPoint && peer.connections == [connection])
        #expect(
            Set([connection.peerKeyString1, connection.peerKeyString2])
                == [peer.peerKeyString, graph.localPeer.peerKeyString])
        try left.store["cars"].upsert(["_id": "a"])
        await right.documents(of: "SELECT * FROM cars", are: ["a"])
        // Addresses can be added and removed while sync is active.
        right.updateTransportConfig { $0.connect.tcpServers.insert("127.0.0.1:1") }
        right.updateTransportConfig { $0.connect.tcpServers.remove("127.0.0.1:1") }
        #expect(right.transportConfig.connect.tcpServers == [address])
        // A peer that listens on another port is dialed there.
        LoopbackScene.restartListening(left, connecting: right)
        try left.store["cars"].upsert(["_id": "b"])
        await right.documents(of: "SELECT * FROM cars", are: ["a", "b"])
        right.stopSync()
        _ = await right.graph { $0.remotePeers.isEmpty }
        try await left.close()
        try await right.close()
    }

    @Test func `a connection request handler decides which peers may connect`() async throws {
        let (left, right) = (try await LoopbackScene.ditto(), try await LoopbackScene.ditto())
        let (requests, requested) = AsyncStream.makeStream(of: DittoConnectionRequest.self)
        let isOpen = Atomic<Bool>(false)
        left.presence.connectionRequestHandler = { request in
            requested.yield(request)
            return isOpen.load(ordering: .relaxed) ? .allow : .deny
        }
        let address = try await LoopbackScene.listen(left)
        right.updateTransportConfig { config in
            config.connect.tcpServers.insert(address)
            config.connect.retryInterval = 0.1
        }
        let key = right.presence.graph.localPeer.peerKeyString
        try right.presence.setPeerMetadata(["user": "ann"])
        try right.startSync()
        // The second request proves that the first was denied.
        var count = 0
        for await request in requests {
            #expect(request.peerKeyString == key && request.connectionType == .accessPoint)
            // The metadata arrived in the handshake, before any sync.
            #expect(request.peerMetadata["user"] as? String == "ann")
            #expect(request.peerMetadataJSONData == Data(#"{"user":"ann"}"#.utf8))
            #expect(request.identityServiceMetadata.isEmpty)
            count += 1
            if count == 2 { break }
        }
        #expect(left.presence.graph.remotePeers.isEmpty)
        isOpen.store(true, ordering: .relaxed)
        let graph = await left.graph { !$0.remotePeers.isEmpty }
        #expect(graph.remotePeers.map(\.peerKeyString) == [key])
        left.presence.connectionRequestHandler = nil
        #expect(left.presence.connectionRequestHandler == nil)
        try await left.close()
        try await right.close()
    }

    // MARK: Unsupported configurations

    @Test func `a database configured as a server appears as one to its peer`() async throws {
        var config = DittoConfig(
            databaseID: "loopback", connect: .smallPeersOnly(privateKey: LoopbackScene.key))
        config.isServer = true
        let (server, client) = (
            try await Ditto.inMemory(config: config), try await LoopbackScene.ditto()
        )
        server.deviceName = "server"
        let address = try await LoopbackScene.listen(server)
        client.updateTransportConfig { $0.connect.tcpServers.insert(address) }
        try client.startSync()
        let graph = await client.graph { $0.remotePeers.first?.deviceName == "server" }
        #expect(graph.localPeer.isConnectedToDittoServer)
        let servers = try await client.store.execute(
            query: "SELECT * FROM system:data_sync_info WHERE is_ditto_server = true")
        #expect(servers.items.count == 1)
        try await client.close()
        try await server.close()
    }

    @Test func `sync does not start with unsupported settings, and the error names them`()
        async throws
    {
        typealias Change = (inout DittoTransportConfig) -> Void
        let cases: [(Change, String)] = [
            (
                { $0.connect.webSocketURLs = ["wss://example.org"] },
                "connect.webSocketURLs has wss://example.org, and web sockets are not"
            ),
            (
                { $0.listen.http.isEnabled = true },
                "listen.http.isEnabled requires a web socket server"
            ),
            (
                {
                    $0.global.syncGroup = 7
                    $0.connect.tcpServers = ["127.0.0.1:1"]
                }, "global.syncGroup is 7, and sync groups are not supported"
            ),
            ({ $0.connect.tcpServers = ["no port"] }, "no port"),
            (
                {
                    $0.listen.tcp.isEnabled = true
                    $0.listen.tcp.interfaceIP = "nowhere"
                }, "nowhere"
            ),
        ]
        for (change, message) in cases {
            let ditto = try await LoopbackScene.ditto()
            ditto.updateTransportConfig(change)
            let error = #expect(throws: DittoError.self) { try ditto.startSync() }
            guard case .transportError(let text) = error else {
                Issue.record("\(message): \(String(describing: error))")
                continue
            }
            #expect(text.contains(message), "\(text)")
            #expect(!ditto.isSyncActive)
            // A corrected configuration can start.
            ditto.transportConfig = DittoTransportConfig()
            _ = try await LoopbackScene.listen(ditto)
            #expect(ditto.isSyncActive)
            try await ditto.close()
        }
    }

    @Test func `an active database keeps its configuration if a change is refused`() async throws {
        let (left, right) = (try await LoopbackScene.ditto(), try await LoopbackScene.ditto())
        _ = try await LoopbackScene.listen(left)
        left.updateTransportConfig { $0.connect.tcpServers = ["127.0.0.1:1"] }
        let before = left.transportConfig
        let errors = Mutex<[String]>([])
        left.store.onUnthrownError = { error in errors.withLock { $0.append("\(error)") } }
        let changes: [(inout DittoTransportConfig) -> Void] = [
            { $0.listen.http.isEnabled = true },
            { $0.global.syncGroup = 1 },
            // An address that no interface has is refused only when the transport starts to listen.
            { $0.listen.tcp.interfaceIP = "192.0.2.1" },
            { $0.listen.tcp.interfaceIP = "no address" },
            { $0.connect.tcpServers = ["127.0.0.1:2", "no address"] },
            {
                $0.connect.retryInterval += 1
                $0.connect.tcpServers = ["no address"]
            },
        ]
        for (number, change) in changes.enumerated() {
            left.updateTransportConfig(change)
            #expect(errors.withLock(\.count) == number + 1)
            try #require(left.transportConfig == before && left.isSyncActive, "\(number)")
        }
        // The transport runs: it applies a change, and accepts a connection.
        try right.startSync()
        LoopbackScene.restartListening(left, connecting: right)
        _ = await right.graph { !$0.remotePeers.isEmpty }
        #expect(errors.withLock(\.count) == changes.count)
        try await left.close()
        try await right.close()
    }

    @Test func `a shared key that is too short or not Base64 is refused`() async throws {
        for key in ["c2hvcnQ=", "no Base64"] {
            let error = await #expect(throws: DittoError.self) {
                _ = try await Ditto.inMemory(
                    config: DittoConfig(connect: .smallPeersOnly(privateKey: key)))
            }
            #expect(error?.description.contains("openssl rand -base64 32") == true)
        }
    }

    @Test func `a database without peers reports errors for calls that need them`() async throws {
        let ditto = try await Ditto.inMemory()
        let errors = Mutex<[String]>([])
        ditto.store.onUnthrownError = { error in errors.withLock { $0.append("\(error)") } }
        #expect(throws: DittoError.self) { try ditto.startSync() }
        #expect(throws: DittoError.self) {
            try ditto.sync.registerSubscription(query: "SELECT * FROM cars")
        }
        #expect(throws: DittoError.self) { try ditto.presence.setPeerMetadata(["a": 1]) }
        #expect(ditto.store["cars"].findAll().subscribe().isCancelled)
        ditto.deviceName = "name"
        ditto.updateTransportConfig { $0.listen.tcp.isEnabled = true }
        ditto.presence.connectionRequestHandler = { _ in .allow }
        let reported = errors.withLock { $0 }
        #expect(reported.count == 4 && reported.allSatisfy { $0.contains("Ditto.open(config:)") })
        #expect(ditto.deviceName.isEmpty && ditto.presence.peerMetadata.isEmpty)
        #expect(ditto.presence.graph.remotePeers.isEmpty)
        let graph = await ditto.graph { _ in true }
        #expect(graph == ditto.presence.graph)
        ditto.stopSync()
        #expect(!ditto.isSyncActive && ditto.config == nil && ditto.appID.isEmpty)
        try await ditto.close()
        // A database over a peer whose transports were configured by the caller.
        let mesh = DittoMesh()
        let over = try await mesh.ditto()
        over.store.onUnthrownError = { error in errors.withLock { $0.append("\(error)") } }
        over.presence.connectionRequestHandler = { _ in .allow }
        over.transportConfig.listen.tcp.isEnabled = true
        let more = errors.withLock { $0.dropFirst(4) }
        #expect(more.count == 2 && more.allSatisfy { $0.contains("created elsewhere") })
        try await mesh.close()
    }

    @Test func `an invalid subscription is an error`() async throws {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto()
        let errors = Mutex<[String]>([])
        ditto.store.onUnthrownError = { error in errors.withLock { $0.append("\(error)") } }
        #expect(throws: DittoError.self) {
            try ditto.sync.registerSubscription("SELECT * FROM cars LIMIT 1")
        }
        #expect(ditto.store["cars"].findAll().limit(1).subscribe().isCancelled)
        #expect(ditto.store["cars"].find("color ==").subscribe().isCancelled)
        #expect(errors.withLock { $0.count } == 2)
        let one = ditto.store["cars"].findByID("a").subscribe()
        #expect(!one.isCancelled && ditto.sync.subscriptions.isEmpty)
        let other = try ditto.sync.registerSubscription("SELECT * FROM cars")
        try await mesh.close()
        #expect(one.isCancelled && other.isCancelled)
    }

    @Test func `subscriptions to one query are different, and have their own hash values`()
        async throws
    {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto()
        var all: [DittoSyncSubscription] = []
        for _ in 0..<8 {
            all.append(try ditto.sync.registerSubscription("SELECT * FROM cars"))
        }
        #expect(Set(all).count == 8 && ditto.sync.subscriptions == Set(all))
        #expect(Set(all.map { $0.hashValue }).count == 8)
        all[3].cancel()
        #expect(all.filter { $0.isCancelled } == [all[3]])
        #expect(ditto.sync.subscriptions == Set(all).subtracting([all[3]]))
        try await mesh.close()
    }

    // MARK: Metadata and files

    @Test func `peer metadata is limited in size and must be JSON`() async throws {
        let mesh = DittoMesh()
        let ditto = try await mesh.ditto("mine")
        try ditto.presence.setPeerMetadata(["name": "Ann", "age": 7, "none": nil])
        #expect(
            String(decoding: ditto.presence.peerMetadataJSONData, as: UTF8.self)
                == #"{"age":7,"name":"Ann","none":null}"#)
        #expect(ditto.presence.peerMetadata["name"] as? String == "Ann")
        try ditto.presence.setPeerMetadataJSONData(Data(#"{"name":"Ben"}"#.utf8))
        #expect(ditto.presence.peerMetadata.count == 1)
        let long = String(repeating: "a", count: 4_096)
        let tooLong = #expect(throws: DittoError.self) {
            try ditto.presence.setPeerMetadata(["a": long])
        }
        if case .validationError(reason: .sizeLimitExceeded(let message)) = tooLong {
            #expect(message.contains("4096 are allowed"))
        } else {
            Issue.record("\(String(describing: tooLong))")
        }
        for wrong: [String: Any?] in [["a": Data([1])], ["a": Date()]] {
            let error = #expect(throws: DittoError.self) {
                try ditto.presence.setPeerMetadata(wrong)
            }
            guard case .validationError(reason: .notJSONCompatible) = error else {
                Issue.record("\(wrong)")
                continue
            }
        }
        #expect(throws: DittoError.self) {
            try ditto.presence.setPeerMetadataJSONData(Data("[1]".utf8))
        }
        #expect(ditto.presence.peerMetadata["name"] as? String == "Ben")
        try await mesh.close()
    }

    @Test func `a database stores its key in a file next to its directory`() async throws {
        let directory = TemporaryDirectory()
        let location = URL(fileURLWithPath: directory.path).appendingPathComponent("database")
        let config = DittoConfig(
            databaseID: "kept", connect: .smallPeersOnly(privateKey: LoopbackScene.key),
            persistenceDirectory: location)
        let first = try await Ditto.open(config: config)
        #expect(first.config == config)
        let key = first.presence.graph.localPeer.peerKeyString
        try first.store["cars"].upsert(["_id": "a"])
        try await first.close()
        let second = try Ditto.openSync(config: config)
        #expect(second.presence.graph.localPeer.peerKeyString == key)
        #expect(second.store["cars"].findAll().exec().count == 1)
        try await second.close()
        let file = location.path + ".key"
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let error = #expect(throws: DittoError.self) { try Ditto.openSync(config: config) }
        guard case .authenticationError(let message) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(message.contains("chmod 600"))
    }
}

extension LoopbackScene {
    /// Restarts the listener, which selects another port, and connects another peer to it.
    ///
    /// The addresses of earlier restarts may be reported late, so each address replaces the last.
    static func restartListening(_ ditto: Ditto, connecting other: Ditto) {
        ditto.peer?.presence.onTransportEvent { event in
            guard case .listening(let address) = event else { return }
            other.updateTransportConfig { $0.connect.tcpServers = [address] }
        }
        ditto.updateTransportConfig { $0.connect.retryInterval += 1 }
    }
}
