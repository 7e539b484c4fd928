import Sheaf
import SheafNetwork
import Testing

/// Connections from which the host does not read for a while.
struct ReadingTests {
    @Test func `bytes of a connection that is not read arrive once it is read`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let first = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let firstConnection = try #require(first.host.connection())
        let paused = try #require(server.host.connection())
        let second = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let secondConnection = try #require(second.host.connection())
        let other = try #require(server.host.connection(1))

        paused.connection.setReading(false)
        let bytes = [UInt8](repeating: 7, count: 6 << 20)
        firstConnection.connection.send(bytes)
        // Another connection is served meanwhile, many times.
        for round in 1...20 {
            secondConnection.connection.send([1])
            let isThere = other.wait { $0.received.count == round }
            #expect(isThere)
        }
        // So is this one, by what it sends.
        paused.connection.send(bytes)
        let isSent = firstConnection.wait { $0.received.count == bytes.count }
        #expect(isSent)
        #expect(paused.state.withLock { $0.received.count } == 0)

        paused.connection.setReading(true)
        let isComplete = paused.wait { $0.received.count == bytes.count }
        #expect(isComplete)
    }

    @Test func `the end of a connection follows the bytes that were not read`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let clientConnection = try #require(client.host.connection())
        let paused = try #require(server.host.connection())
        paused.connection.setReading(false)
        clientConnection.connection.send([UInt8](repeating: 7, count: 100_000))
        clientConnection.connection.close(because: "the test is done")
        let isOver = clientConnection.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(paused.state.withLock { $0.closed } == 0)
        paused.connection.setReading(true)
        let isEnded = paused.wait { $0.closed == 1 }
        #expect(isEnded)
        #expect(paused.state.withLock { $0.received.count } == 100_000)
    }

    @Test func `a connection that is not read can be closed`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let clientConnection = try #require(client.host.connection())
        let paused = try #require(server.host.connection())
        paused.connection.setReading(false)
        paused.connection.close(because: "the test is done")
        let areOver = paused.wait { $0.closed == 1 } && clientConnection.wait { $0.closed == 1 }
        #expect(areOver)
    }
}
