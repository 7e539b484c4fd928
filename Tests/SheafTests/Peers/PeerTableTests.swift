import SheafBytes
import SheafDocument
import SheafReplication
import SheafSync
import Testing

/// The tables of peers that outlive their connections.
struct PeerTableTests {
    private let key = [UInt8](repeating: 1, count: 32)

    private func hello(log: UInt64) -> Hello {
        Hello(
            database: XXH3.Hash128(low: 0, high: 0), peerKey: key, site: .initial,
            log: XXH3.Hash128(low: log, high: 0), nonce: 0, wallMilliseconds: 0, isServer: false,
            name: "")
    }

    @Test func `a log that reappears shows that two peers have one key`() {
        var openings = PeerOpenings(most: 10)
        for log: UInt64 in [1, 1, 2] {
            let isContested = openings.record(hello(log: log))
            #expect(!isContested, "log \(log)")
        }
        let isContested = openings.record(hello(log: 1))
        #expect(isContested)
        #expect(openings.isContested(key))
    }

    @Test func `a conflict of keys is logged once a minute`() {
        var openings = PeerOpenings(most: 10)
        let log = XXH3.Hash128(low: 1, high: 0)
        let minute: UInt64 = 60_000_000_000
        var isLogged: [Bool] = []
        for now in [0, 1, minute - 1, minute] {
            isLogged.append(openings.isMessageDue(key, log, at: now))
        }
        #expect(isLogged == [true, false, false, true])
    }

    @Test func `a burst of subscriptions is permitted, and then one per interval`() {
        var limiters = RateLimiters()
        #expect(!limiters.hasSubscribed(key))
        for _ in 0..<SyncLimits.subscriptionsAtOnce {
            let turn = limiters.recordSubscription(of: key, 0)
            #expect(turn == 0)
        }
        #expect(limiters.hasSubscribed(key))
        // The other direction and other peers have limits of their own.
        let turns = [
            limiters.recordSubscription(of: key, 0), limiters.subscribe(at: key, 0),
            limiters.recordSubscription(of: [2], 0),
        ]
        #expect(turns == [SyncLimits.subscriptionNanoseconds, 0, 0])
    }
}
