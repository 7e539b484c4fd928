import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafSystem
import Synchronization
import Testing

/// The presence graphs of peers in one process.
@Suite struct PresenceTests {
    /// Returns the first graph of a peer for which `condition` holds.
    private func graph(
        of peer: Peer, where condition: (PresenceGraph) -> Bool
    ) async throws -> PresenceGraph {
        for await graph in peer.presence.observe() where condition(graph) { return graph }
        throw CancellationError()
    }

    @Test func `the presence graph has all reachable peers and their connections`() async throws {
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
        // Half of the peers become unreachable, and reachable again.
        scene.disconnect(1, 2)
        let half = try await graph(of: scene.peers[0]) { $0.remotePeers.count == 1 }
        #expect(half.connections.count == 1)
        scene.connect(1, 2)
        _ = try await graph(of: scene.peers[0]) { $0.remotePeers.count == 3 }
        try await scene.close()
    }

    @Test func `metadata reaches every peer, and has a limit`() async throws {
        let scene = try await PeerScene(3)
        scene.connect(0, 1)
        scene.connect(1, 2)
        let (first, last) = (scene.peers[0], scene.peers[2])
        try first.presence.setMetadata(["role": "waiter", "tables": [1, 2]])
        #expect(first.presence.metadata["role"] == "waiter")
        let graph = try await graph(of: last) { $0[first.key]?.metadata["role"] == "waiter" }
        #expect(graph[first.key]?.metadata == ["role": "waiter", "tables": [1, 2]])
        // The lengths are the limit and one byte more: {"a":"..."} adds eight bytes.
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

    @Test func `an observer receives the newest graph until it is canceled`() async throws {
        let scene = try await PeerScene(2)
        let (stream, received) = AsyncStream.makeStream(of: PresenceGraph.self)
        let observer = scene.peers[0].presence.observe { received.yield($0) }
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
        received.finish()
        for await graph in stream { #expect(!graph.remotePeers.isEmpty, "canceled observer") }
        try await scene.close()
    }

    @Test func `a loop over graphs ends with the peer, the observer and the task`() async throws {
        let scene = try await PeerScene(1)
        let presence = scene.peers[0].presence
        let cancelled = presence.observe()
        cancelled.observer.cancel()
        for await _ in cancelled { Issue.record("a canceled loop received a graph") }
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

    @Test func `of two tasks that wait for the same graphs, one ends at once`() async throws {
        let scene = try await PeerScene(1)
        let observation = scene.peers[0].presence.observe()
        var iterator = observation.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first != nil)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var iterator = observation.makeAsyncIterator()
                    while let graph = await iterator.next() {
                        #expect(graph.remotePeers.isEmpty)
                    }
                    return true
                }
            }
            let hasEnded = await group.next()
            #expect(hasEnded == true)
            observation.observer.cancel()
            let hasEndedThen = await group.next()
            #expect(hasEndedThen == true)
        }
        try await scene.close()
    }

    @Test func `a peer that stops syncing leaves the graphs of all peers`() async throws {
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

    /// Connects a peer and its copy with the same key at two ends of the mesh.
    @Test func `two peers with the same key both receive a conflict`() async throws {
        let networks = (0..<3).map { _ in MemoryNetwork() }
        let errors = RecordedLines()
        let (conflicts, conflictWriter) = AsyncStream<(String, PeerKeyConflict)>.makeStream()
        let log = StoreLog(from: .error) { _, message, _ in errors.record(message) }
        func peer(_ key: PeerKey, _ name: String, _ networkNumbers: [Int]) async throws -> Peer {
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "scene", key: key, deviceName: name,
                    transports: networkNumbers.map { networks[$0].transport(for: key) },
                    store: StoreOptions(log: log)))
            peer.presence.onKeyConflict { conflictWriter.yield((name, $0)) }
            try peer.sync.start()
            return peer
        }
        let key = PeerKey.random()
        let (left, right) = (PeerKey.random(), PeerKey.random())
        let peers = [
            try await peer(left, "left", [0, 1]), try await peer(right, "right", [1, 2]),
            try await peer(key, "first", [0]), try await peer(key, "copy", [2]),
        ]
        var received: [String: PeerKeyConflict] = [:]
        for await (name, conflict) in conflicts {
            received[name] = conflict
            if received.count == 2 { break }
        }
        #expect(received["first"]?.deviceName == "copy" && received["first"]?.neighbors == [right])
        #expect(received["copy"]?.deviceName == "first" && received["copy"]?.neighbors == [left])
        #expect(received["copy"]?.key == key && received["copy"]?.operatingSystem != nil)
        let sentence = "another peer with this key, \(key), is connected from \"copy\""
        #expect(errors.lines.contains { $0.hasPrefix(sentence) && $0.contains("to \(right)") })
        // A handler that is set later receives the conflict, too.
        let (late, later) = AsyncStream<PeerKeyConflict>.makeStream()
        peers[2].presence.onKeyConflict { later.yield($0) }
        var iterator = late.makeAsyncIterator()
        let known = await iterator.next()
        #expect(known?.deviceName == "copy")
        for peer in peers { try await peer.close() }
    }
}

/// The messages of a log.
private final class RecordedLines: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    func record(_ line: String) { state.withLock { $0.append(line) } }
}
