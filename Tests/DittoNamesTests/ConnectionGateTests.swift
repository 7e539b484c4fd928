import DittoNames
import Sheaf
import Synchronization
import Testing

/// Connections that await the decision of the application.
@Suite struct ConnectionGateTests {
    /// A connection without another end.
    private final class Connection: PeerConnection {
        let remote = PeerIdentity(key: .random(), address: "here")
        let queuedLength = 0

        func send(_ bytes: [UInt8]) {}
        func close(because reason: String) {}
    }

    /// A host that records refusals.
    private final class Host: PeerTransportHost {
        private let recorded = Mutex<[String]>([])
        let refusals: AsyncStream<String>
        private let continuation: AsyncStream<String>.Continuation

        init() {
            (refusals, continuation) = AsyncStream.makeStream(of: String.self)
        }

        var reasons: [String] { recorded.withLock { $0 } }

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? { nil }
        func report(_ event: PeerTransportEvent) {}

        func refuse(_ connection: any PeerConnection, because reason: String) {
            recorded.withLock { $0.append(reason) }
            continuation.yield(reason)
        }
    }

    /// Decisions of an application, which it makes when the test does.
    private let decisions = AsyncStream.makeStream(of: Bool.self)
    private let host = Host()

    private var requests: ConnectionRequests {
        let requests = ConnectionRequests()
        let stream = decisions.stream
        requests.handler = { _, _ in
            for await decision in stream { return decision }
            return false
        }
        return requests
    }

    @Test(arguments: [[65_536], [1, 65_535], [32_768, 32_768]])
    func `65,536 bytes wait for the decision, and one more ends the connection`(
        lengths: [Int]
    ) throws {
        let gate = ConnectionGate(host, requests)
        let handler = try #require(gate.connected(Connection()))
        for length in lengths {
            [UInt8](repeating: 0, count: length).withUnsafeBytes { handler.received($0) }
        }
        #expect(host.reasons == [])
        [1 as UInt8].withUnsafeBytes { handler.received($0) }
        #expect(
            host.reasons == [
                "the peer sent more than 65536 bytes before connectionRequestHandler decided"
            ])
        decisions.continuation.finish()
    }

    @Test func `a connection without a decision is refused after ten seconds`() async throws {
        #expect(ConnectionGate.timeout == .seconds(10))
        let gate = ConnectionGate(host, requests, timeout: .zero)
        let connection = Connection()
        #expect(gate.connected(connection) != nil)
        let reason = await host.refusals.first { _ in true }
        #expect(
            reason
                == "connectionRequestHandler did not decide on the connection to "
                + "\(connection.remote.key) within 0 s")
        decisions.continuation.finish()
    }
}
