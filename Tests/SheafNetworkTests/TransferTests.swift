import Sheaf
import SheafNetwork
import SheafStorage
import SheafTestSupport
import Testing

/// Bytes come in their order, however they are cut, and in both directions at once.
struct TransferTests {
    @Test func `millions of bytes in pieces of any length come in their order`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("transfer, seed \(seed)")
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let here = try #require(client.host.link())
        let there = try #require(server.host.link())
        var random = SeededRandom(seed: seed, "transfer")
        var (sentHere, sentThere): ([UInt8], [UInt8]) = ([], [])
        while sentHere.count + sentThere.count < 8 << 20 {
            // Mostly small, as messages are, and now and then more than several records.
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
        // Not as arrays: to find out where millions of bytes differ takes minutes.
        let isWhole = there.state.withLock { $0.received == sentHere }
        let isWholeBack = here.state.withLock { $0.received == sentThere }
        #expect(isWhole)
        #expect(isWholeBack)
    }

    @Test func `what was sent before the end comes, also where the other end sends as well`() throws
    {
        for round in 0..<40 {
            let server = try RunningPeer(Peers.configuration(), listens: true)
            let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
            let here = try #require(client.host.link())
            let there = try #require(server.host.link())
            let bytes = [UInt8](repeating: UInt8(round), count: 1 << 20)
            there.connection.send(bytes)
            here.connection.send(bytes)
            here.connection.close(because: "all is sent")
            here.connection.send([99])
            let isOver = there.wait { $0.closed == 1 }
            #expect(isOver)
            // Not as arrays: to find out where millions of bytes differ takes minutes.
            let (received, reason) = there.state.withLock { ($0.received, $0.reason) }
            let isWhole = received == bytes
            #expect(isWhole, "\(received.count) of \(bytes.count), \(reason ?? "farewell")")
        }
    }

    @Test func `many threads send at once, and each piece stays whole`() async throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let here = try #require(client.host.link())
        let there = try #require(server.host.link())
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

    @Test func `who stops hears nothing more`() throws {
        let server = try RunningPeer(Peers.configuration(), listens: true)
        let client = try RunningPeer(Peers.configuration(), peers: [server.host.address])
        let here = try #require(client.host.link())
        let there = try #require(server.host.link())
        server.transport.stop()
        // It was told before `stop` came back.
        #expect(there.state.withLock { $0.closed } == 1)
        #expect(there.state.withLock { $0.reason }?.hasPrefix("stopped: ") == true)
        there.connection.send([1])
        there.connection.close(because: "all is sent")
        #expect(there.connection.queuedLength == 0)
        let isOver = here.wait { $0.closed == 1 }
        #expect(isOver)
        #expect(here.state.withLock { $0.reason }?.hasPrefix("closed: the other end") == true)
        #expect(server.transport.links.isEmpty)
    }
}
