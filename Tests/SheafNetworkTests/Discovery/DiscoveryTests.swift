import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// Peers that find each other on simulated links.
struct DiscoveryTests {
    private let key: DiscoveryKey
    private let seed = UInt64.random(in: 0..<1_000_000_000)

    init() throws {
        key = try .shared()
        print("discovery, seed \(seed)")
    }

    private func links(usesIPv6: Bool = false) -> SimulatedLinks {
        SimulatedLinks(seed: seed, usesIPv6: usesIPv6)
    }

    @Test(arguments: [false, true])
    func `peers find each other within a second, whichever starts first`(usesIPv6: Bool) {
        let links = links(usesIPv6: usesIPv6)
        links.add(key, on: [1])
        links.run(seconds: 10)
        links.add(key, on: [1])
        links.run(seconds: 1)
        links.add(key, on: [1])
        links.add(key, on: [1])
        links.run(seconds: 1)
        for (number, host) in links.hosts.enumerated() {
            #expect(host.found.count == 3)
            for peer in host.found.values {
                let other = links.hosts.firstIndex { $0.machine.name == peer.name }
                guard let other else { return #expect(Bool(false), "An unknown name was found.") }
                #expect(other != number)
                let families = usesIPv6 ? [true, false] : [true]
                let expected = families.map {
                    SimulatedLinks.address(other, 1, isIPv4: $0)
                }
                #expect(Set(peer.addresses.map(\.address)) == Set(expected))
                #expect(peer.addresses.allSatisfy { $0.port == 4_120 && $0.interface == 1 })
                #expect(key.mark(of: links.hosts[other].key, in: peer.name) == peer.mark)
            }
        }
    }

    @Test func `peers of other databases and with other shared keys are not found`() throws {
        let links = links()
        for other in [
            key, try .shared(8), try .shared(database: "bikes"),
            try DiscoveryKey(
                Credentials(
                    NetworkConfiguration(
                        databaseID: "cars", keyPair: .generate(),
                        identity: .development(allowsOtherMachines: true)))),
        ] {
            links.add(other, on: [1])
        }
        links.run(seconds: 60)
        for host in links.hosts { #expect(host.found.isEmpty) }
    }

    @Test func `a peer that accepts no connections finds others, and is not found`() {
        let links = links()
        links.add(key, on: [1], port: nil)
        links.add(key, on: [1])
        links.run(seconds: 1)
        #expect(links.hosts[0].machine.name == nil)
        #expect(links.hosts[0].found.count == 1 && links.hosts[1].found.isEmpty)
    }

    @Test func `peers are found although packets are lost, repeated and reordered`() {
        let links = links()
        (links.lost, links.repeated, links.delay) = (30, 20, 300_000_000)
        for _ in 0..<8 { links.add(key, on: [1]) }
        links.run(seconds: 60)
        for host in links.hosts { #expect(host.found.count == 7) }
    }

    @Test func `a peer with three interfaces keeps the addresses of those that remain`() throws {
        let links = links()
        links.add(key, on: [1, 2, 3])
        links.add(key, on: [1, 2, 3])
        links.run(seconds: 2)
        func found() throws -> [IPAddress] {
            try #require(links.hosts[0].found.values.first).addresses.map(\.address)
        }
        func expected(_ segments: [Int]) -> [IPAddress] {
            segments.map { SimulatedLinks.address(1, $0, isIPv4: true) }
        }
        #expect(try found() == expected([1, 2, 3]))
        links.connect(0, 2, to: nil)
        links.run(seconds: 1)
        #expect(try found() == expected([1, 3]))
        links.connect(0, 1, to: nil)
        links.connect(0, 3, to: nil)
        links.run(seconds: 1)
        #expect(links.hosts[0].found.isEmpty)
        links.connect(0, 2, to: 2)
        links.run(seconds: 1)
        #expect(try found() == expected([2]))
    }

    @Test func `a link that begins to carry packets late is used within a second`() {
        let links = links()
        links.add(key, on: [1])
        links.add(key, on: [1])
        links.setRunning(0, 1, false)
        links.run(seconds: 100)
        #expect(links.hosts.allSatisfy { $0.found.isEmpty })
        links.setRunning(0, 1, true)
        links.run(seconds: 1)
        #expect(links.hosts.allSatisfy { $0.found.count == 1 })
    }

    @Test func `in another network, peers of the former one are forgotten and others are found`() {
        let links = links()
        for segment in [1, 1, 2] { links.add(key, on: [segment]) }
        links.run(seconds: 100)
        links.connect(0, 1, to: 2)
        links.run(seconds: 1)
        #expect(links.keysFound(by: 0, key) == [links.hosts[2].key])
        #expect(links.hosts[0].found.count == 1)
    }

    @Test func `a peer that stops is lost after a second, and one that crashed when it is doubted`()
        throws
    {
        let links = links()
        for _ in 0..<3 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        links.stop(1, saysGoodbye: true)
        links.run(seconds: 0.9)
        #expect(links.hosts[0].found.count == 2)
        links.run(seconds: 0.2)
        #expect(links.hosts[0].found.count == 1)
        links.stop(2, saysGoodbye: false)
        links.run(seconds: 60)
        let name = try #require(links.hosts[0].found.keys.first)
        links.doubt(0, name)
        links.run(seconds: 9.9)
        #expect(links.hosts[0].found.count == 1)
        links.run(seconds: 0.2)
        #expect(links.hosts[0].found.isEmpty)
    }

    /// Presence still has its record, which is no reason to dial it.
    @Test func `a peer that has said goodbye has departed for two minutes`() {
        let links = links()
        for _ in 0..<3 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        links.stop(1, saysGoodbye: true)
        links.stop(2, saysGoodbye: false)
        func departed() -> [Bool] {
            (1...2).map { links.hosts[0].machine.hasDeparted(links.hosts[$0].key, now: links.now) }
        }
        links.run(seconds: 1)
        #expect(departed() == [true, false])
        links.run(seconds: 118)
        #expect(departed() == [true, false])
        links.run(seconds: 2)
        #expect(departed() == [false, false])
    }

    @Test func `a peer that stops before it has announced itself is lost, too`() {
        let links = links()
        links.add(key, on: [1])
        links.run(seconds: 10)
        links.add(key, on: [1])
        links.run(seconds: 0.3)
        #expect(links.hosts[0].found.count == 1)
        links.stop(1, saysGoodbye: true)
        links.run(seconds: 1.1)
        #expect(links.hosts[0].found.isEmpty)
    }

    @Test func `a doubted peer that answers stays`() throws {
        let links = links()
        for _ in 0..<2 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        let name = try #require(links.hosts[0].found.keys.first)
        links.doubt(0, name)
        links.run(seconds: 60)
        #expect(links.hosts[0].found.count == 1)
    }

    @Test func `a doubted peer stays although its first answers are lost`() throws {
        let links = links()
        for _ in 0..<2 { links.add(key, on: [1]) }
        links.run(seconds: 60)
        let name = try #require(links.hosts[0].found.keys.first)
        links.lost = 100
        links.doubt(0, name)
        links.run(seconds: 5)
        links.lost = 0
        links.run(seconds: 60)
        #expect(links.hosts[0].found.count == 1)
    }

    @Test func `a peer that crashed is forgotten when its time is over`() {
        let links = links()
        for _ in 0..<2 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        links.stop(1, saysGoodbye: false)
        links.run(seconds: 4_470)
        #expect(links.hosts[0].found.count == 1)
        let before = links.sent.count
        links.run(seconds: 60)
        #expect(links.hosts[0].found.isEmpty)
        #expect(links.sent.count - before <= 1)
    }

    // `sheaf-network idle 50` does the same with fifty.
    @Test
    func `fifteen idle peers send at most a packet in a second, and keep finding each other`()
        throws
    {
        let idle = try IdlePeers(15, seed: seed)
        print("fifteen idle peers sent \(idle.packetsPerMinute) packets in the minutes of an hour")
        #expect(idle.packetsPerMinute.allSatisfy { $0 <= 60 })
        #expect(idle.found == [14])
    }

    @Test func `names change within the hour, and peers are not lost by it`() {
        let links = links()
        for _ in 0..<2 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        let first = links.hosts[1].machine.name
        links.run(seconds: 1_700)
        #expect(links.hosts[1].machine.name == first)
        var missing = 0
        for _ in 0..<2_000 {
            links.run(seconds: 1)
            if links.keysFound(by: 0, key).count != 1 { missing += 1 }
        }
        #expect(links.hosts[1].machine.name != first)
        #expect(missing == 0)
        #expect(links.hosts[0].found.count == 1)
    }

    @Test func `not more peers are remembered than the limit says`() {
        let links = links()
        var limits = DiscoveryMachine.Limits()
        limits.peers = 5
        links.add(key, on: [1], limits: limits)
        for _ in 0..<9 { links.add(key, on: [1]) }
        links.run(seconds: 10)
        #expect(links.hosts[0].found.count == 5)
        #expect(links.hosts[1].found.count == 9)
        for other in 1..<10 { links.stop(other, saysGoodbye: true) }
        links.run(seconds: 2)
        #expect(links.hosts[0].found.isEmpty)
    }
}
