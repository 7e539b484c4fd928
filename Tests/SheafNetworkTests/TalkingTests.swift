import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// A connection from its handshake to its close.
struct TalkingTests {
    @Test func `two peers connect, exchange bytes and close`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let here = try #require(client.host.connection())
        let there = try #require(server.host.connection())
        #expect(here.connection.remote.key == server.key)
        #expect(there.connection.remote.key == client.key)
        #expect(here.connection.remote.rights == nil)
        #expect(here.connection.remote.address == server.host.address)
        here.connection.send(Array("hello".utf8))
        let cameThere = there.wait { $0.received == Array("hello".utf8) }
        #expect(cameThere)
        there.connection.send(Array("good day".utf8))
        let cameHere = here.wait { $0.received == Array("good day".utf8) }
        #expect(cameHere)
        #expect(here.connection.queuedLength == 0)
        here.connection.send([UInt8](repeating: 7, count: 1 << 20))
        let drained = here.wait { $0.drained > 0 }
        #expect(drained)
        there.connection.close(because: "test is done")
        let isOver = here.wait { $0.closed == 1 } && there.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(
            here.state.withLock { $0.reason } == "closed: the peer closed the connection")
        #expect(
            there.state.withLock { $0.reason } == "closed: test is done")
    }
}
