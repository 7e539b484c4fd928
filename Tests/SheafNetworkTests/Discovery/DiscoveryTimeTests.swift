import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// The times of discovery, to a microsecond or less.
struct DiscoveryTimeTests: PacketTests {
    private static let second: UInt64 = 1_000_000_000
    let key: DiscoveryKey
    let links: SimulatedLinks = exactLinks()

    init() throws {
        key = try .shared()
    }

    /// The numbers of `format-spec/discovery.md`.
    @Test func `the times and the limits are the documented ones`() {
        let (second, millisecond) = (Self.second, 1_000_000 as UInt64)
        #expect(DiscoveryTimes.firstProbe == 250 * millisecond)
        #expect(DiscoveryTimes.answer == 20 * millisecond...120 * millisecond)
        #expect(DiscoveryTimes.continuedAnswer == 400 * millisecond...500 * millisecond)
        #expect(DiscoveryTimes.sameRecord == second)
        #expect(DiscoveryTimes.suppressedQuestion == 27 * second)
        #expect(DiscoveryTimes.refreshes == [80, 85, 90, 95])
        let limits = DiscoveryMachine.Limits()
        #expect(limits.peers == 256)
        #expect(limits.addresses == 8)
        #expect(limits.unresolved == 16)
        #expect(DiscoveryMachine.maximumDepartures == 64)
        #expect(DiscoveryMachine.namesPerPacket == 64)
    }

    @Test func `a peer that says goodbye is lost after a second, and departed for two minutes`() {
        for _ in 0..<2 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        let start = links.now
        links.stop(1, saysGoodbye: true)
        links.run(seconds: 0.999_999)
        #expect(links.hosts[0].found.count == 1)
        links.run(seconds: 0.000_002)
        #expect(links.hosts[0].found.isEmpty)
        // The packet arrived one nanosecond later at most.
        let (machine, peer) = (links.hosts[0].machine, links.hosts[1].key)
        let isKnown = machine.hasDeparted(peer, now: start + 120 * Self.second - 1)
        #expect(isKnown)
        let isForgotten = !machine.hasDeparted(peer, now: start + 120 * Self.second + 1)
        #expect(isForgotten)
    }

    @Test func `a doubted peer that does not answer is lost after ten seconds`() throws {
        for _ in 0..<2 { links.add(key, on: [1]) }
        links.run(seconds: 60)
        links.stop(1, saysGoodbye: false)
        let name = try #require(links.hosts[0].found.keys.first)
        links.doubt(0, name)
        links.run(seconds: 9.999_999)
        #expect(links.hosts[0].found.count == 1)
        links.run(seconds: 0.000_002)
        #expect(links.hosts[0].found.isEmpty)
    }

    @Test(arguments: [(0, 1_800), (1_800_000_000_000, 3_600)] as [(UInt64, UInt64)])
    func `a name is changed after half an hour to an hour`(_ random: UInt64, _ seconds: UInt64) {
        let machine = DiscoveryMachine(
            key, PeerKey(unchecked: [UInt8](repeating: 1, count: 32)), port: 4_120, now: 7,
            random: { random })
        #expect(machine.deadline == 7 + seconds * Self.second)
    }

    @Test(arguments: [(0, 20), (100_000_000, 120)] as [(UInt64, UInt64)])
    func `the first question on a link is asked after 20 to 120 milliseconds`(
        _ random: UInt64, _ milliseconds: UInt64
    ) {
        var machine = DiscoveryMachine(
            key, PeerKey(unchecked: [UInt8](repeating: 1, count: 32)), port: nil, now: 7,
            random: { random })
        machine.setLinks(
            [DiscoveryLink(interface: 1, isIPv4: true): LinkAddresses(own: [], announced: [])],
            now: 7)
        #expect(machine.deadline == 7 + milliseconds * 1_000_000)
    }
}
