import Sheaf
import SheafNetwork
import SheafTestSupport
import SheafTransport
import Testing

/// Tests of the reasons for which connections end, and of the reports about attempts.
struct ConnectionReasonTests {
    private func reason(_ handler: TestConnectionHandler) -> String? {
        let isOver = handler.wait { $0.closed == 1 }
        #expect(isOver)
        return handler.state.withLock { $0.reason }
    }

    @Test(arguments: [false, true])
    func `the end that closes a connection has the reason, and the other one does not`(
        _ isServer: Bool
    ) throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let remote = try #require(server.host.connection())
        let local = try #require(client.host.connection())
        #expect(remote.connection.kind == .tcp && local.connection.kind == .tcp)
        #expect(local.connection.remote.key == server.key)
        #expect(local.connection.remote.address == server.host.address)
        #expect(remote.connection.remote.key == client.key)
        let (own, other) = isServer ? (remote, local) : (local, remote)
        own.connection.close(because: "the test is over")
        #expect(reason(own) == "closed: the test is over")
        #expect(reason(other) == "closed: the peer closed the connection")
        #expect(own.connection.queuedLength == 0)
        // The client connects again.
        #expect(client.host.connection(1) != nil && server.host.connection(1) != nil)
    }

    @Test func `the end of the attempts is reported once an address is reached`() throws {
        let first = try RunningPeer(Peers.configuration(), listens: true)
        let address = first.host.address
        first.transport.stop()
        let client = try RunningPeer(Peers.configuration(), peers: [address])
        let isFailed = client.host.wait { $0.unreachable.count > 1 }
        #expect(isFailed)
        #expect(client.host.state.withLock { $0.reached } == [])
        var configuration = try Peers.configuration()
        configuration.listening = [address]
        let second = try RunningPeer(configuration)
        #expect(client.host.connection() != nil && second.host.connection() != nil)
        let isReported = client.host.wait { !$0.reached.isEmpty }
        #expect(isReported)
        #expect(client.host.state.withLock { $0.reached } == [address])
        let addresses = client.host.state.withLock { $0.unreachable.map(\.address) }
        #expect(Set(addresses) == [address])
    }

    @Test func `the end of the attempts is reported when a failed address is removed`() throws {
        let client = try RunningPeer(Peers.configuration(), peers: ["127.0.0.1:1"])
        let isFailed = client.host.wait { !$0.unreachable.isEmpty }
        #expect(isFailed)
        try client.transport.remove("127.0.0.1:1")
        let isReported = client.host.wait { !$0.reached.isEmpty }
        #expect(isReported)
        #expect(client.host.state.withLock { $0.reached } == ["127.0.0.1:1"])
    }
}
