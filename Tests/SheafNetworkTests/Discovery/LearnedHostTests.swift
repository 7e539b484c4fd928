import SheafNetwork
import SheafTransport
import Testing

/// Tests of learned peers at exact times: their order, their waits, and the waits of their hosts.
struct LearnedHostTests {
    private static let second: UInt64 = 1_000_000_000
    private static let millisecond: UInt64 = 1_000_000

    private func key(_ number: UInt8) -> PeerKey {
        PeerKey(unchecked: [UInt8](repeating: number, count: 32))
    }

    private func addresses(_ last: UInt8) throws -> [PeerAddress] {
        [try #require(PeerAddress([10, 0, 0, last], port: 4_120))]
    }

    /// Returns learned peers that gain attempts each nanosecond, up to a number.
    private func peers(_ attempts: UInt64, first: Int = 100, longest: Int = 1_000) -> LearnedPeers {
        var limits = LearnedPeers.Limits()
        (limits.attempts, limits.attemptNanoseconds) = (attempts, 1)
        var network = NetworkLimits()
        (network.firstRetryMilliseconds, network.longestRetryMilliseconds) = (first, longest)
        return LearnedPeers(network, limits: limits)
    }

    @Test func `the default limits of attempts are the documented ones`() {
        let limits = LearnedPeers.Limits()
        #expect(limits.attempts == 64)
        #expect(limits.attemptNanoseconds == 2 * Self.second)
        #expect(limits.patienceNanoseconds == Self.second)
    }

    @Test func `peers are ready at the ends of their waits, in the order of their insertion`()
        throws
    {
        var peers = LearnedPeers()
        let three = [key(1): try addresses(1), key(2): try addresses(2), key(3): try addresses(3)]
        // In the order of their keys they are inserted at 2 % 1, 2 % 2 and 2 % 3.
        peers.replace(by: three, at: 0, drawing: { 2 })
        let ready = [key(2), key(1), key(3)]
        #expect(peers.ready(at: Self.second - 1).isEmpty)
        #expect(peers.nextReady(after: 0) == Self.second)
        #expect(peers.nextReady(after: Self.second - 1) == Self.second)
        #expect(peers.nextReady(after: Self.second) == nil)
        #expect(peers.ready(at: Self.second) == ready)
        // A peer that is not reported cannot wait, and has no order.
        peers.wait(key(9), until: 5 * Self.second)
        peers.moveToEnd(key(9))
        #expect(peers.nextReady(after: Self.second) == nil)
        #expect(peers.ready(at: 9 * Self.second) == ready)
        peers.wait(key(2), until: 3 * Self.second)
        #expect(peers.nextReady(after: Self.second) == 3 * Self.second)
        #expect(peers.ready(at: 3 * Self.second - 1) == [key(1), key(3)])
        #expect(peers.ready(at: 3 * Self.second) == ready)
        peers.moveToEnd(key(2))
        #expect(peers.ready(at: 3 * Self.second) == [key(1), key(3), key(2)])
        // The wait of a peer ends with the reports about it.
        peers.replace(
            by: [key(1): try addresses(7), key(3): try addresses(3)], at: 10 * Self.second,
            drawing: { 0 })
        #expect(peers.nextReady(after: Self.second) == nil)
        #expect(peers.ready(at: 10 * Self.second) == [key(1), key(3)])
        #expect(peers.addresses(of: key(2)).isEmpty)
        #expect(try peers.addresses(of: key(1)) == addresses(7))
        peers.replace(by: three, at: 20 * Self.second, drawing: { 0 })
        #expect(peers.ready(at: 20 * Self.second) == [key(1), key(3)])
        #expect(peers.nextReady(after: 20 * Self.second) == 21 * Self.second)
        #expect(peers.ready(at: 21 * Self.second) == [key(2), key(1), key(3)])
    }

    /// The second wait of a host is twice as long as the first one, which takes 50 ms.
    @Test(
        arguments: [
            (3, 1_049_999_999, 100), (3, 1_050_000_000, 50), (2, 1_050_000_000, 100),
            (2, 9_000_000_000, 100),
        ] as [(UInt8, UInt64, UInt64)])
    func `beyond the number of attempts, hosts are kept for the longest delay after their wait`(
        _ hosts: UInt8, _ time: UInt64, _ wait: UInt64
    ) {
        var peers = peers(2)
        for host in 1...hosts {
            let isTried = peers.begin(
                [10, 0, 0, host], at: UInt64(host - 1) * Self.millisecond, drawing: 0)
            #expect(isTried)
        }
        let end = time + wait * Self.millisecond
        let tried = [time, end - 1, end].map { now in
            peers.begin([10, 0, 0, 1], at: now, drawing: 0)
        }
        #expect(tried == [true, false, true])
    }

    @Test func `an attempt earlier than the last one gains nothing, and a negative delay is none`()
    {
        var peers = peers(2)
        let start = 10 * Self.second
        let tried = [start, start - Self.second, start - Self.second].enumerated().map {
            host, now in
            peers.begin([10, 0, 0, UInt8(host)], at: now, drawing: 0)
        }
        #expect(tried == [true, true, false])
        var eager = self.peers(1, first: -7, longest: -5)
        let all = (0..<4 as Range<UInt64>).map { step in
            eager.begin([10, 0, 0, UInt8(step)], at: step * Self.millisecond, drawing: 0)
        }
        #expect(all == [true, true, true, true])
    }
}
