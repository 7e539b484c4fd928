import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Ordered delivery in both directions, for any division into sends.
struct ByteDeliveryTests {
    @Test(arguments: [0, 1_000, .max])
    func `millions of bytes sent in pieces of any length arrive in order`(
        busyPollMicroseconds: Int
    ) throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("transfer, seed \(seed)")
        let server = try RunningPeer(
            Peers.configuration(), listens: true, busyPollMicroseconds: busyPollMicroseconds)
        let client = try RunningPeer(
            Peers.configuration(), peers: [server.host.address],
            busyPollMicroseconds: busyPollMicroseconds)
        let clientConnection = try #require(client.host.connection())
        let serverConnection = try #require(server.host.connection())
        var random = SeededRandom(seed: seed, "transfer")
        var (sentByClient, sentByServer): ([UInt8], [UInt8]) = ([], [])
        while sentByClient.count + sentByServer.count < 8 << 20 {
            // Most pieces are small, like messages; some span several TLS records.
            let length = random.chance(1, in: 20) ? random.below(100_000) : random.below(300)
            var piece = [UInt8](repeating: UInt8(random.below(256)), count: length)
            if length > 0 { piece[random.below(length)] ^= 0x55 }
            let isForth = random.chance(1, in: 2)
            let handler = isForth ? clientConnection : serverConnection
            let other = isForth ? serverConnection : clientConnection
            if isForth { sentByClient += piece } else { sentByServer += piece }
            let isTaken =
                handler.connection.queuedLength < 4 << 20
                || other.wait {
                    $0.received.count >= (isForth ? sentByClient : sentByServer).count - (2 << 20)
                }
            #expect(isTaken)
            handler.connection.send(piece)
        }
        let came =
            serverConnection.wait { $0.received.count >= sentByClient.count }
            && clientConnection.wait { $0.received.count >= sentByServer.count }
        #expect(came)
        // `#expect` would take minutes to describe a difference of the arrays.
        let isComplete = serverConnection.state.withLock { $0.received == sentByClient }
        let isCompleteBack = clientConnection.state.withLock { $0.received == sentByServer }
        #expect(isComplete)
        #expect(isCompleteBack)
    }

    @Test func `bytes sent before a close arrive, even if the peer is sending too`() throws {
        for round in 0..<40 {
            let server = try RunningPeer(Peers.configuration(), listens: true)
            let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
            let clientConnection = try #require(client.host.connection())
            let serverConnection = try #require(server.host.connection())
            let bytes = [UInt8](repeating: UInt8(round), count: 1 << 20)
            serverConnection.connection.send(bytes)
            clientConnection.connection.send(bytes)
            clientConnection.connection.close(because: "test is done")
            clientConnection.connection.send([99])
            let isOver = serverConnection.wait { $0.closed == 1 }
            #expect(isOver)
            // `#expect` would take minutes to describe a difference of the arrays.
            let (received, reason) = serverConnection.state.withLock { ($0.received, $0.reason) }
            let isComplete = received == bytes
            #expect(isComplete, "\(received.count) of \(bytes.count), \(reason ?? "closed")")
        }
    }

    @Test func `pieces sent by several tasks concurrently are not interleaved`() async throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let clientConnection = try #require(client.host.connection())
        let serverConnection = try #require(server.host.connection())
        let connection = clientConnection.connection
        await withTaskGroup { group in
            for task in UInt8(0)..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        connection.send([UInt8](repeating: task, count: 100))
                    }
                }
            }
        }
        let came = serverConnection.wait { $0.received.count == 400_000 }
        #expect(came)
        let received = serverConnection.state.withLock { $0.received }
        var counts = [Int](repeating: 0, count: 8)
        for start in stride(from: 0, to: received.count, by: 100) {
            let piece = received[start..<start + 100]
            #expect(Set(piece).count == 1)
            counts[Int(piece[start])] += 1
        }
        #expect(counts.allSatisfy { $0 == 500 })
    }

    @Test func `a stopped transport closes its connections and ignores later calls`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let clientConnection = try #require(client.host.connection())
        let serverConnection = try #require(server.host.connection())
        server.transport.stop()
        // `closed` was called before `stop` returned.
        #expect(serverConnection.state.withLock { $0.closed } == 1)
        #expect(
            serverConnection.state.withLock { $0.reason } == "stopped: the transport was stopped")
        serverConnection.connection.send([1])
        serverConnection.connection.close(because: "test is done")
        #expect(serverConnection.connection.queuedLength == 0)
        let isOver = clientConnection.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(
            clientConnection.state.withLock { $0.reason }
                == "closed: the peer closed the connection")
        #expect(server.transport.connections.isEmpty)
    }
}
