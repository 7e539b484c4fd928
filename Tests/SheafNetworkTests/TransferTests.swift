import Sheaf
import SheafNetwork
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Ordered delivery in both directions, for any division into sends.
struct TransferTests {
    @Test func `millions of bytes sent in pieces of any length arrive in order`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("transfer, seed \(seed)")
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let here = try #require(client.host.connection())
        let there = try #require(server.host.connection())
        var random = SeededRandom(seed: seed, "transfer")
        var (sentHere, sentThere): ([UInt8], [UInt8]) = ([], [])
        while sentHere.count + sentThere.count < 8 << 20 {
            // Most pieces are small, like messages; some span several TLS records.
            let length = random.chance(1, in: 20) ? random.below(100_000) : random.below(300)
            var piece = [UInt8](repeating: UInt8(random.below(256)), count: length)
            if length > 0 { piece[random.below(length)] ^= 0x55 }
            let isForth = random.chance(1, in: 2)
            let link = isForth ? here : there
            let other = isForth ? there : here
            if isForth { sentHere += piece } else { sentThere += piece }
            let isTaken =
                link.connection.queuedLength < 4 << 20
                || other.wait {
                    $0.received.count >= (isForth ? sentHere : sentThere).count - (2 << 20)
                }
            #expect(isTaken)
            link.connection.send(piece)
        }
        let came =
            there.wait { $0.received.count >= sentHere.count }
            && here.wait { $0.received.count >= sentThere.count }
        #expect(came)
        // Arrays are compared outside `#expect`, which would take minutes to describe a difference.
        let isComplete = there.state.withLock { $0.received == sentHere }
        let isCompleteBack = here.state.withLock { $0.received == sentThere }
        #expect(isComplete)
        #expect(isCompleteBack)
    }

    @Test func `bytes sent before a close arrive, even if the peer is sending too`() throws {
        for round in 0..<40 {
            let server = try RunningPeer(Peers.configuration(), listens: true)
            let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
            let here = try #require(client.host.connection())
            let there = try #require(server.host.connection())
            let bytes = [UInt8](repeating: UInt8(round), count: 1 << 20)
            there.connection.send(bytes)
            here.connection.send(bytes)
            here.connection.close(because: "test is done")
            here.connection.send([99])
            let isOver = there.wait { $0.closed == 1 }
            #expect(isOver)
            // Arrays are compared outside `#expect`, which would take minutes to describe a
            // difference.
            let (received, reason) = there.state.withLock { ($0.received, $0.reason) }
            let isComplete = received == bytes
            #expect(isComplete, "\(received.count) of \(bytes.count), \(reason ?? "closed")")
        }
    }

    @Test func `pieces sent by many threads concurrently are not interleaved`() async throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let here = try #require(client.host.connection())
        let there = try #require(server.host.connection())
        let connection = here.connection
        await withTaskGroup { group in
            for task in UInt8(0)..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        connection.send([UInt8](repeating: task, count: 100))
                    }
                }
            }
        }
        let came = there.wait { $0.received.count == 400_000 }
        #expect(came)
        let received = there.state.withLock { $0.received }
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
        let here = try #require(client.host.connection())
        let there = try #require(server.host.connection())
        server.transport.stop()
        // `closed` was called before `stop` returned.
        #expect(there.state.withLock { $0.closed } == 1)
        #expect(there.state.withLock { $0.reason }?.hasPrefix("stopped: ") == true)
        there.connection.send([1])
        there.connection.close(because: "test is done")
        #expect(there.connection.queuedLength == 0)
        let isOver = here.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(here.state.withLock { $0.reason }?.hasPrefix("closed: the peer") == true)
        #expect(server.transport.connections.isEmpty)
    }
}
