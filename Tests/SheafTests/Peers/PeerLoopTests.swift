import Sheaf
import SheafSync
import Synchronization
import Testing

/// Tests of the connections of a peer's thread: what it does with them, and what it reports.
struct PeerLoopTests {
    /// A connection that records the calls of the peer.
    private final class RecordedConnection: PeerConnection {
        let remote: PeerIdentity
        let queuedLength = 0
        let sentCount = Mutex(0)
        let reasons = Mutex<[String]>([])

        init(_ address: String) {
            remote = PeerIdentity(key: .random(), address: address)
        }

        func send(_ bytes: [UInt8]) { sentCount.withLock { $0 += 1 } }
        func close(because reason: String) { reasons.withLock { $0.append(reason) } }

        /// The reasons with which the peer has closed the connection.
        var closings: [String] { reasons.withLock { $0 } }
        /// Whether the peer has sent anything.
        var isGreeted: Bool { sentCount.withLock { $0 > 0 } }
    }

    /// A transport whose connections a test creates.
    private final class ManualTransport: PeerTransport {
        let host = Mutex<(any PeerTransportHost)?>(nil)

        func start(_ host: any PeerTransportHost) { self.host.withLock { $0 = host } }
        func stop() {}

        /// Passes a connection to the peer; returns its handler.
        func connect(_ connection: RecordedConnection) throws -> any PeerConnectionHandler {
            let host = try #require(self.host.withLock { $0 })
            return try #require(host.connected(connection))
        }
    }

    @Test func `a connection is closed once, with the reason that is reported`() async throws {
        let transport = ManualTransport()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: .random(), transports: [transport]))
        let events = Mutex<[String]>([])
        peer.presence.onTransportEvent { event in
            switch event {
            case .connected(let remote): events.withLock { $0.append("\(remote.address) begins") }
            case .disconnected(let remote, let reason):
                events.withLock { $0.append("\(remote.address): \(reason)") }
            default: events.withLock { $0.append("\(event)") }
            }
        }
        try peer.sync.start()
        let names = ["one", "two", "three", "four"]
        let connections = names.map { RecordedConnection($0) }
        let handlers = try connections.prefix(3).map { try transport.connect($0) }
        // The thread answers after it has handled all earlier events.
        _ = try peer.sync.surveys()
        #expect(connections.map(\.isGreeted) == [true, true, true, false])
        CloseMessage(.limit, "too many frames").firstFrame.withUnsafeBytes {
            handlers[1].received($0)
        }
        _ = try peer.sync.surveys()
        let remote = "the other side closed the connection: too many frames"
        #expect(connections.map(\.closings) == [[], [remote], [], []])
        handlers[0].closed("the cable is cut")
        // The transport reports the end of a closed connection, too.
        handlers[1].closed(remote)
        handlers[1].received(UnsafeRawBufferPointer(start: nil, count: 0))
        _ = try peer.sync.surveys()
        #expect(connections.map(\.closings) == [["the cable is cut"], [remote], [], []])
        peer.sync.stop()
        _ = try peer.sync.surveys()
        let own = "this side closed the connection: the peer stops"
        #expect(connections.map(\.closings) == [["the cable is cut"], [remote], [own], []])
        try peer.sync.start()
        let last = try transport.connect(connections[3])
        _ = try peer.sync.surveys()
        #expect(connections[3].isGreeted)
        try await peer.close()
        last.closed("late")
        #expect(throws: StoreError.self) { try peer.sync.surveys() }
        #expect(connections.map(\.closings) == [["the cable is cut"], [remote], [own], [own]])
        #expect(
            events.withLock { $0 } == [
                "one begins", "two begins", "three begins", "two: \(remote)",
                "one: the cable is cut", "three: \(own)", "four begins", "four: \(own)",
            ])
    }
}
