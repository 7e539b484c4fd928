import SheafNetwork
import SheafTestSupport
import SheafTransport
import Testing

/// The choice among peers whose addresses presence has reported, and the limits of attempts.
struct LearnedPeersTests {
    private static let second: UInt64 = 1_000_000_000

    private func key(_ number: UInt8) -> PeerKey {
        PeerKey(unchecked: [UInt8](repeating: number, count: 32))
    }

    private func address(_ last: UInt8, port: UInt16 = 4_120) throws -> PeerAddress {
        try #require(PeerAddress([10, 0, 0, last], port: port))
    }

    @Test func `a new peer waits, and one that is reported no more is forgotten`() throws {
        var peers = LearnedPeers()
        peers.replace(by: [key(1): [try address(1)]], at: 5, drawing: { 0 })
        #expect(peers.ready(at: 5).isEmpty)
        let ready = try #require(peers.nextReady(after: 5))
        #expect(ready == 5 + Self.second && peers.ready(at: ready) == [key(1)])
        // A change of its addresses is no reason to wait.
        peers.replace(
            by: [key(1): [try address(2)], key(2): [try address(3)]], at: ready, drawing: { 1 })
        #expect(peers.ready(at: ready) == [key(1)])
        #expect(peers.addresses(of: key(1)) == [try address(2)])
        peers.replace(by: [key(2): [try address(3)]], at: ready, drawing: { 0 })
        #expect(peers.ready(at: ready + Self.second) == [key(2)])
        #expect(peers.addresses(of: key(1)).isEmpty)
    }

    @Test func `the order is random, and a failed peer waits`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("learned peers, seed \(seed)")
        var random = SeededRandom(seed: seed, "order")
        var firsts: Set<PeerKey> = []
        for _ in 0..<200 {
            var peers = LearnedPeers()
            var reported: [PeerKey: [PeerAddress]] = [:]
            for number in 1...8 as ClosedRange<UInt8> { reported[key(number)] = [try address(1)] }
            peers.replace(by: reported, at: 0, drawing: { random.next() })
            let ready = peers.ready(at: Self.second)
            #expect(Set(ready).count == 8)
            let first = try #require(ready.first)
            firsts.insert(first)
            peers.wait(first, until: 9 * Self.second)
            #expect(peers.ready(at: 2 * Self.second) == Array(ready.dropFirst()))
            peers.moveToEnd(first)
            #expect(peers.ready(at: 9 * Self.second) == ready.dropFirst() + [first])
        }
        #expect(firsts.count == 8)
    }

    @Test func `a peer that need not be tried is checked again after ten seconds`() throws {
        var peers = LearnedPeers()
        peers.replace(by: [key(1): [try address(1)]], at: 0, drawing: { 0 })
        let end = peers.recheck(key(1), at: 3 * Self.second)
        #expect(end == 13 * Self.second)
        #expect(peers.ready(at: end - 1).isEmpty && peers.nextReady(after: end - 1) == end)
        #expect(peers.ready(at: end) == [key(1)] && peers.nextReady(after: end) == nil)
        let unknown = peers.recheck(key(2), at: 1)
        #expect(unknown == 1 + 10 * Self.second)
        #expect(peers.ready(at: .max) == [key(1)])
    }

    @Test func `a host is tried again only after a wait that grows, until a peer is reached`() {
        var peers = LearnedPeers()
        var attempts: [UInt64] = []
        for now in stride(from: 0, to: 600 * Self.second, by: 100_000_000) {
            let isFirst = peers.begin([10, 0, 0, 1], at: now, drawing: 0)
            if isFirst { attempts.append(now) }
        }
        let waits = zip(attempts, attempts.dropFirst()).map { $1 - $0 }
        #expect(waits.first == 300_000_000)
        #expect(zip(waits, waits.dropFirst()).allSatisfy(<=))
        #expect(waits.last == 30 * Self.second)
        peers.reached([10, 0, 0, 1])
        let isTriedAtOnce = peers.begin([10, 0, 0, 1], at: 600 * Self.second, drawing: 0)
        #expect(isTriedAtOnce)
    }

    /// A peer may report any hosts, also thousands of them.
    @Test func `attempts are few, whatever is reported`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("attempts, seed \(seed)")
        var random = SeededRandom(seed: seed, "hosts")
        var peers = LearnedPeers()
        var (all, victim, late) = (0, 0, 0)
        for step in 0..<36_000 {
            let now = UInt64(step) * 100_000_000
            for _ in 0..<20 {
                let isVictim = random.chance(1, in: 2)
                let host =
                    isVictim ? [10, 0, 0, 1] : [11, 0, 0, 0].map { $0 + UInt8(random.below(200)) }
                let isTried = peers.begin(host, at: now, drawing: random.next())
                guard isTried else { continue }
                all += 1
                if isVictim { victim += 1 }
                if step >= 35_400 { late += 1 }
            }
        }
        // 64 at once, then 30 a minute.
        #expect(all <= 64 + 1_800, "seed \(seed)")
        #expect(all > 1_700, "seed \(seed)")
        #expect(late <= 31, "seed \(seed)")
        // At most every 30 s at the end.
        #expect(victim <= 130, "seed \(seed)")
    }

    @Test func `64 attempts are permitted at once, and then one every two seconds`() {
        var peers = LearnedPeers()
        var host: UInt16 = 0
        /// Returns the number of permitted attempts to different hosts.
        func attempts(at now: UInt64) -> Int {
            var count = 0
            while count < 200 {
                host += 1
                let bytes: [UInt8] = [10, 0, UInt8(host >> 8), UInt8(host & 255)]
                guard peers.begin(bytes, at: now, drawing: 0) else { return count }
                count += 1
            }
            return count
        }
        let times = [0, 1, 2 * Self.second - 1, 2 * Self.second, 4 * Self.second - 1]
        #expect(times.map { attempts(at: $0) } == [64, 0, 0, 1, 0])
        // After two minutes and more, as many as at the beginning.
        let start = 2 * Self.second
        #expect(attempts(at: start + 126 * Self.second) == 63)
        #expect(attempts(at: start + 126 * Self.second + 128 * Self.second) == 64)
        #expect(attempts(at: start + 600 * Self.second) == 64)
    }
}
