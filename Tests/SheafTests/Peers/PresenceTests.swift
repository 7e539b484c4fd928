import Sheaf
import SheafDocument
import Synchronization
import Testing

/// What peers of a process know of each other.
@Suite struct PresenceTests {
    /// The first graph of a peer of which `condition` holds.
    private func graph(
        of peer: Peer, where condition: (PresenceGraph) -> Bool
    ) async throws -> PresenceGraph {
        for await graph in peer.presence.observe() where condition(graph) { return graph }
        throw CancellationError()
    }

    @Test func `peers know all whom they can reach, and how these are connected`() async throws {
        let scene = try await PeerScene(4)
        for number in 1..<4 { scene.connect(number - 1, number) }
        for (number, peer) in scene.peers.enumerated() {
            let graph = try await graph(of: peer) { $0.connections.count == 3 }
            #expect(graph == peer.presence.graph)
            #expect(graph.localPeer.key == peer.key && graph.localPeer.distance == 0)
            #expect(graph.localPeer.deviceName == "peer \(number)")
            for (other, known) in scene.peers.enumerated() where other != number {
                let found = try #require(graph[known.key])
                #expect(found.distance == abs(other - number))
                #expect(found.deviceName == "peer \(other)")
                #expect(found.sheafVersion == SheafVersion.current)
                #expect(found.metadata.isEmpty && !found.isServer)
                #expect(found.connections.count == (other % 3 == 0 ? 1 : 2))
            }
            let connection = try #require(graph.localPeer.connections.first)
            #expect(connection.kind == .memory && connection.id.hasSuffix(":memory"))
            #expect(graph[connection.other(than: peer.key)]?.distance == 1)
            #expect(Set(graph.connections.map(\.id)).count == 3)
        }
        // Half of them is gone, and comes back.
        scene.disconnect(1, 2)
        let half = try await graph(of: scene.peers[0]) { $0.remotePeers.count == 1 }
        #expect(half.connections.count == 1)
        scene.connect(1, 2)
        _ = try await graph(of: scene.peers[0]) { $0.remotePeers.count == 3 }
        try await scene.close()
    }

    @Test func `metadata goes to everybody, and has a limit`() async throws {
        let scene = try await PeerScene(3)
        scene.connect(0, 1)
        scene.connect(1, 2)
        let (first, last) = (scene.peers[0], scene.peers[2])
        try first.presence.setMetadata(["role": "waiter", "tables": [1, 2]])
        #expect(first.presence.metadata["role"] == "waiter")
        let graph = try await graph(of: last) { $0[first.key]?.metadata["role"] == "waiter" }
        #expect(graph[first.key]?.metadata == ["role": "waiter", "tables": [1, 2]])
        // Right at the limit, and behind it: {"a":"..."} takes eight bytes besides.
        let longest = String(repeating: "a", count: Presence.metadataLimit - 8)
        try first.presence.setMetadata(["a": .string(longest)])
        let error = #expect(throws: StoreError.self) {
            try first.presence.setMetadata(["a": .string(longest + "a")])
        }
        #expect(error?.reason == .limit)
        #expect(error?.description.contains("4097 bytes as JSON; 4096 are allowed") == true)
        #expect(throws: StoreError.self) {
            try first.presence.setMetadata(["a": .bytes([1, 2, 3])])
        }
        _ = try await self.graph(of: last) { $0[first.key]?.metadata["a"] == .string(longest) }
        #expect(first.presence.metadata["a"] == .string(longest))
        first.presence.setDeviceName("renamed")
        #expect(first.presence.deviceName == "renamed")
        _ = try await self.graph(of: last) { $0[first.key]?.deviceName == "renamed" }
        try first.presence.setMetadata([:])
        _ = try await self.graph(of: last) { $0[first.key]?.metadata.isEmpty == true }
        try await scene.close()
    }

    @Test func `an observer hears of the newest graph until it is cancelled`() async throws {
        let scene = try await PeerScene(2)
        let (stream, heard) = AsyncStream.makeStream(of: PresenceGraph.self)
        let observer = scene.peers[0].presence.observe { heard.yield($0) }
        scene.connect(0, 1)
        var last: PresenceGraph?
        for await graph in stream {
            #expect(graph != last)
            last = graph
            if graph.remotePeers.count == 1 { break }
        }
        #expect(last?.connections.count == 1)
        observer.cancel()
        #expect(observer.isCancelled)
        scene.disconnect(0, 1)
        _ = try await graph(of: scene.peers[0]) { $0.remotePeers.isEmpty }
        heard.finish()
        for await graph in stream { #expect(!graph.remotePeers.isEmpty, "it was cancelled") }
        try await scene.close()
    }

    @Test func `a loop over graphs ends with the peer, the observer and the task`() async throws {
        let scene = try await PeerScene(1)
        let presence = scene.peers[0].presence
        let cancelled = presence.observe()
        cancelled.observer.cancel()
        for await _ in cancelled { Issue.record("nothing comes behind the end") }
        let task = Task {
            var count = 0
            for await _ in presence.observe() { count += 1 }
            return count
        }
        task.cancel()
        #expect(await task.value <= 1)
        let waiting = presence.observe()
        var iterator = waiting.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.remotePeers.isEmpty == true)
        try await scene.close()
        let last = await iterator.next()
        #expect(last == nil)
        #expect(presence.observe { _ in }.isCancelled)
    }

    @Test func `a peer that stops syncing is alone`() async throws {
        let scene = try await PeerScene(3)
        scene.connect(0, 1)
        scene.connect(1, 2)
        _ = try await graph(of: scene.peers[0]) { $0.remotePeers.count == 2 }
        scene.peers[1].sync.stop()
        for peer in scene.peers {
            let graph = try await graph(of: peer) { $0.remotePeers.isEmpty }
            #expect(graph.connections.isEmpty)
        }
        try await scene.close()
    }

    /// A peer was copied with its key; both are connected, at two ends of the mesh.
    @Test func `two peers with one key are told that there are two`() async throws {
        let networks = (0..<3).map { _ in MemoryNetwork() }
        let heard = HeardLines()
        let (conflicts, teller) = AsyncStream<(String, PeerKeyConflict)>.makeStream()
        let log = StoreLog(from: .error) { _, message, _ in heard.hear(message) }
        func peer(_ key: PeerKey, _ name: String, _ places: [Int]) async throws -> Peer {
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "scene", key: key, deviceName: name,
                    transports: places.map { networks[$0].transport(for: key) },
                    store: StoreOptions(log: log)))
            peer.presence.onKeyConflict { teller.yield((name, $0)) }
            try peer.sync.start()
            return peer
        }
        let key = PeerKey.random()
        let (left, right) = (PeerKey.random(), PeerKey.random())
        let peers = [
            try await peer(left, "left", [0, 1]), try await peer(right, "right", [1, 2]),
            try await peer(key, "first", [0]), try await peer(key, "copy", [2]),
        ]
        var told: [String: PeerKeyConflict] = [:]
        for await (name, conflict) in conflicts {
            told[name] = conflict
            if told.count == 2 { break }
        }
        #expect(told["first"]?.deviceName == "copy" && told["first"]?.neighbors == [right])
        #expect(told["copy"]?.deviceName == "first" && told["copy"]?.neighbors == [left])
        #expect(told["copy"]?.key == key && told["copy"]?.operatingSystem != nil)
        let sentence = "another peer with this key, \(key), is connected from \"copy\""
        #expect(heard.lines.contains { $0.hasPrefix(sentence) && $0.contains("to \(right)") })
        // Who begins to listen later hears it, too.
        let (late, later) = AsyncStream<PeerKeyConflict>.makeStream()
        peers[2].presence.onKeyConflict { later.yield($0) }
        var iterator = late.makeAsyncIterator()
        let known = await iterator.next()
        #expect(known?.deviceName == "copy")
        for peer in peers { try await peer.close() }
    }
}

/// What a log has told.
private final class HeardLines: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    func hear(_ line: String) { state.withLock { $0.append(line) } }
}
