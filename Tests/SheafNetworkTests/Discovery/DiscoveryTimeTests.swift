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

    /// A range up to a quarter of 27 seconds ends at 6.75 seconds, and random numbers wrap there.
    @Test(arguments: [0, 6_750_000_000, 6_750_000_001] as [UInt64])
    func `the first questions follow at exact times, later ones up to a quarter later`(
        _ random: UInt64
    ) {
        var machine = DiscoveryMachine(
            key, PeerKey(unchecked: [UInt8](repeating: 1, count: 32)), port: nil, now: 7,
            random: { random })
        let link = DiscoveryLink(interface: 1, isIPv4: true)
        machine.setLinks([link: LinkAddresses(own: [], announced: [])], now: 7)
        var times: [UInt64] = []
        for _ in 0..<6 {
            let time = machine.deadline
            machine.advance(now: time - 1)
            let early = machine.takeEffects()
            #expect(early.isEmpty)
            machine.advance(now: time)
            let effects = machine.takeEffects()
            #expect(effects.count == 1)
            times.append(time)
        }
        let intervals = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(Array(intervals.prefix(3)) == [1, 3, 9].map { $0 * Self.second })
        #expect(intervals[3] == 27 * Self.second + random % 6_750_000_001)
        #expect((81 * Self.second...101_250_000_000).contains(intervals[4]))
    }

    @Test func `the interval between two questions grows up to an hour`() {
        var machine = DiscoveryMachine(
            key, PeerKey(unchecked: [UInt8](repeating: 1, count: 32)), port: nil, now: 7,
            random: { 0 })
        let link = DiscoveryLink(interface: 1, isIPv4: true)
        machine.setLinks([link: LinkAddresses(own: [], announced: [])], now: 7)
        var times: [UInt64] = []
        for _ in 0..<11 {
            times.append(machine.deadline)
            machine.advance(now: machine.deadline)
        }
        let seconds = zip(times, times.dropFirst()).map { ($1 - $0) / Self.second }
        #expect(seconds == [1, 3, 9, 27, 81, 243, 729, 2_187, 3_600, 3_600])
    }
}
