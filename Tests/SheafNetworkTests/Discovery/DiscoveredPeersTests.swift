import SheafNetwork
import SheafTestSupport
import Testing

/// The order in which discovered peers are connected to.
struct DiscoveredPeersTests {
    private func peer(_ number: Int, port: UInt16 = 1) -> DiscoveredPeer {
        DiscoveredPeer(
            name: AnnouncedName(random: UInt64(number)), mark: [],
            addresses: [
                DiscoveredPeer.Address(
                    address: IPAddress(unchecked: [10, 0, 0, 1]), port: port, interface: 1)
            ])
    }

    @Test func `the order is random, and each peer is in it once`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("discovered peers, seed \(seed)")
        var random = SeededRandom(seed: seed, "order")
        var firsts: Set<AnnouncedName> = []
        for _ in 0..<200 {
            var peers = DiscoveredPeers()
            for number in 0..<8 { peers.insert(peer(number), at: random.next()) }
            peers.insert(peer(3, port: 2), at: random.next())
            let ready = peers.ready(at: 0)
            #expect(Set(ready.map(\.name)).count == 8 && ready.count == 8)
            #expect(ready.filter { $0.addresses.first?.port == 2 }.map(\.name) == [peer(3).name])
            if let first = ready.first { firsts.insert(first.name) }
        }
        #expect(firsts.count == 8)
    }

    @Test func `peers that are tried already are left out, and those that wait`() {
        var peers = DiscoveredPeers()
        for number in 0..<4 { peers.insert(peer(number), at: UInt64(number)) }
        let tried = Set([0, 2].map { peer($0).name })
        #expect(peers.ready(at: 0, besides: tried).map(\.name) == [1, 3].map { peer($0).name })
        peers.failed(peer(1).name, until: 5)
        #expect(peers.ready(at: 4, besides: tried).map(\.name) == [peer(3).name])
        #expect(peers.ready(at: 4, besides: tried.union([peer(3).name])).isEmpty)
        #expect(peers.ready(at: 5).count == 4)
    }

    @Test func `a failed peer waits, and comes last once it is replaced`() {
        var peers = DiscoveredPeers()
        for number in 0..<3 { peers.insert(peer(number), at: UInt64(number)) }
        peers.failed(peer(0).name, until: 100)
        #expect(peers.ready(at: 99).map(\.name) == [peer(1).name, peer(2).name])
        peers.moveToEnd(peer(0).name)
        #expect(peers.ready(at: 100).map(\.name) == [1, 2, 0].map { peer($0).name })
        peers.remove(peer(1).name)
        #expect(peers.ready(at: 100).map(\.name) == [2, 0].map { peer($0).name })
        // A peer that was lost and found again does not wait.
        peers.failed(peer(2).name, until: 1_000)
        peers.remove(peer(2).name)
        peers.insert(peer(2), at: 0)
        #expect(peers.ready(at: 100).map(\.name) == [2, 0].map { peer($0).name })
    }
}
