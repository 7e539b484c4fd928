import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// A connection from its handshake to its close.
struct MessageExchangeTests {
    @Test func `two peers connect, exchange bytes and close`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let clientConnection = try #require(client.host.connection())
        let serverConnection = try #require(server.host.connection())
        #expect(clientConnection.connection.remote.key == server.key)
        #expect(serverConnection.connection.remote.key == client.key)
        #expect(clientConnection.connection.remote.rights == nil)
        #expect(clientConnection.connection.remote.address == server.host.address)
        clientConnection.connection.send(Array("hello".utf8))
        let isReceivedByServer = serverConnection.wait { $0.received == Array("hello".utf8) }
        #expect(isReceivedByServer)
        serverConnection.connection.send(Array("good day".utf8))
        let isReceivedByClient = clientConnection.wait { $0.received == Array("good day".utf8) }
        #expect(isReceivedByClient)
        #expect(clientConnection.connection.queuedLength == 0)
        clientConnection.connection.send([UInt8](repeating: 7, count: 1 << 20))
        let drained = clientConnection.wait { $0.drained > 0 }
        #expect(drained)
        serverConnection.connection.close(because: "test is done")
        let isOver =
            clientConnection.wait { $0.closed == 1 } && serverConnection.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(
            clientConnection.state.withLock { $0.reason }
                == "closed: the peer closed the connection")
        #expect(
            serverConnection.state.withLock { $0.reason } == "closed: test is done")
    }
}
