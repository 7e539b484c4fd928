import SheafNetwork
import SheafNetworkModel
import SheafTransport
import Testing

/// Tests of what a host remembers of peers that announce themselves, at exact times.
struct KnownPeerTests: PacketTests {
    private static let second: UInt64 = 1_000_000_000
    private static let link = DiscoveryLink(interface: 1, isIPv4: true)
    private static let own = PeerKey(unchecked: [UInt8](repeating: 1, count: 32))
    private static let name = AnnouncedName(random: 5)

    let key: DiscoveryKey
    let links = SimulatedLinks(seed: 1)
    private var machine: DiscoveryMachine
    private var now: UInt64 = 0

    init() throws {
        let key = try DiscoveryKey.shared()
        self.key = key
        machine = DiscoveryMachine(key, Self.own, port: nil, now: 0, random: { 0 })
        start()
    }

    /// The addresses of a link with the network 10.N.0.0/16.
    private func addresses(_ network: UInt8, isRunning: Bool = true) -> LinkAddresses {
        let own = IPAddress(unchecked: [10, network, 0, 1])
        return LinkAddresses(
            own: [InterfaceAddress(own, prefixLength: 16)], announced: [], isRunning: isRunning)
    }

    /// Begins with a host that asks for peers once in an hour, and has just done so.
    private mutating func start(drawing random: UInt64 = 0) {
        machine = DiscoveryMachine(key, Self.own, port: nil, now: 0, random: { random })
        machine.setLinks([Self.link: addresses(1)], now: 0)
        for _ in 0..<10 {
            now = machine.deadline
            machine.advance(now: now)
        }
        _ = machine.takeEffects()
    }

    private mutating func receive(
        _ message: DNSMessage, on link: DiscoveryLink = Self.link,
        from source: PacketSource = Self.foreign
    ) -> [DiscoveryMachine.Effect] {
        message.bytes.withUnsafeBytes { machine.receive($0, on: link, from: source, now: now) }
        return machine.takeEffects()
    }

    private func address(_ last: UInt8, network: UInt8 = 1) -> IPAddress {
        IPAddress(unchecked: [10, network, 0, last])
    }

    /// The effect of an announcement, by interface and address.
    private func found(_ addresses: [(UInt32, IPAddress)]) -> DiscoveryMachine.Effect {
        .found(
            DiscoveredPeer(
                name: Self.name, mark: [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77],
                addresses: addresses.map {
                    DiscoveredPeer.Address(address: $0.1, port: 99, interface: $0.0)
                }))
    }

    /// An event that needs no packet: a lost peer, or the questions of a packet.
    private struct Event: Equatable {
        let milliseconds: UInt64
        let questions: [DNSQuestion]
    }

    private static let lost: [DNSQuestion] = []
    private static let all = [DNSQuestion(Self.service, DNSType.pointer)]

    /// Returns the events of some seconds, which must be at full milliseconds.
    private mutating func events(seconds: UInt64) -> [Event] {
        let (start, end) = (now, now + seconds * Self.second)
        var events: [Event] = []
        while machine.deadline <= end {
            now = max(now, machine.deadline)
            machine.advance(now: now)
            #expect((now - start).isMultiple(of: 1_000_000))
            for effect in machine.takeEffects() {
                var questions: [DNSQuestion] = []
                if case .send(let bytes, _, _) = effect {
                    questions = bytes.withUnsafeBytes { try? DNSMessage($0) }?.questions ?? []
                } else {
                    #expect(effect == .lost(Self.name))
                }
                events.append(
                    Event(milliseconds: (now - start) / 1_000_000, questions: questions))
            }
        }
        now = end
        return events
    }

    private func announcement(_ seconds: UInt32) -> DNSMessage {
        announcement(Self.name, at: [address(7)], seconds: seconds)
    }

    // MARK: Times

    @Test(arguments: [(0, 0), (7_000_000_000, 7_000)] as [(UInt64, UInt64)])
    mutating func `a peer is asked for four times before it is lost`(
        _ random: UInt64, _ delay: UInt64
    ) {
        start(drawing: random)
        _ = receive(announcement(1_000))
        let expected = [800_000, 850_000, 900_000, 950_000].map {
            Event(milliseconds: $0 + delay, questions: Self.all)
        }
        let events = events(seconds: 1_001)
        #expect(events == expected + [Event(milliseconds: 1_000_000, questions: Self.lost)])
    }

    @Test(arguments: [(1, 1_000), (4_500, 4_500_000), (4_501, 4_500_000)] as [(UInt32, UInt64)])
    mutating func `a peer is kept for 75 minutes at most`(
        _ seconds: UInt32, _ milliseconds: UInt64
    ) {
        _ = receive(announcement(seconds))
        let lost = events(seconds: 5_000).filter { $0.questions == Self.lost }
        #expect(lost.map(\.milliseconds) == [milliseconds])
    }

    @Test mutating func `a doubted peer is asked for at once, and lost after ten seconds`() {
        _ = receive(announcement(4_500))
        now += 100 * Self.second
        machine.doubt(Self.name, now: now)
        let instance = DNSQuestion(Self.service.prefixed(by: "\(Self.name)"), DNSType.any)
        let events = events(seconds: 20)
        #expect(
            events == [
                Event(milliseconds: 0, questions: [instance]),
                Event(milliseconds: 8_000, questions: Self.all),
                Event(milliseconds: 9_000, questions: Self.all),
                Event(milliseconds: 10_000, questions: Self.lost),
                Event(milliseconds: 10_000, questions: Self.all),
            ])
    }

    @Test(arguments: [(10, 10_000), (11, 10_000), (5, 5_000)] as [(UInt32, UInt64)])
    mutating func `a doubt does not prolong the time of a peer`(
        _ seconds: UInt32, _ milliseconds: UInt64
    ) {
        _ = receive(announcement(seconds))
        machine.doubt(Self.name, now: now)
        machine.doubt(AnnouncedName(random: 6), now: now)
        let events = events(seconds: 20)
        #expect(events.contains(Event(milliseconds: milliseconds, questions: Self.lost)))
        #expect((events.first?.milliseconds == 0) == (seconds > 10))
    }

    @Test(arguments: [(4_500, 1_500), (1, 1_000)] as [(UInt32, UInt64)])
    mutating func `a goodbye leaves a second, and does not prolong the time of a peer`(
        _ seconds: UInt32, _ milliseconds: UInt64
    ) {
        _ = receive(announcement(seconds))
        now += Self.second / 2
        let effects = receive(announcement(0))
        #expect(effects.isEmpty)
        let lost = events(seconds: 20).filter { $0.questions == Self.lost }
        #expect(lost.map(\.milliseconds) == [milliseconds - 500])
    }

    @Test mutating func `names without records are asked for, a second after each other`() {
        func pointer(_ number: UInt64) -> DNSMessage {
            var message = announcement(AnnouncedName(random: number), at: [])
            message.additions = []
            return message
        }
        func questions(_ number: UInt64) -> [DNSQuestion] {
            let name = AnnouncedName(random: number)
            return [DNSQuestion(Self.service.prefixed(by: "\(name)"), DNSType.any)]
        }
        _ = receive(pointer(1))
        var found = events(seconds: 0)
        #expect(found.isEmpty)
        now += 10_000_000
        _ = receive(pointer(2))
        found = events(seconds: 1)
        #expect(found == [Event(milliseconds: 10, questions: questions(1) + questions(2))])
        // It has asked 490 milliseconds ago.
        now -= Self.second / 2
        _ = receive(pointer(3))
        found = events(seconds: 1)
        #expect(found == [Event(milliseconds: 510, questions: questions(3))])
        // The records arrive before the question.
        var announced = announcement(4_500)
        let additions = announced.additions
        announced.additions = []
        _ = receive(announced)
        announced.additions = additions
        let effects = receive(announced)
        #expect(effects == [self.found([(1, address(7)), (1, Self.foreign.address)])])
        announced.additions = []
        _ = receive(announced)
        found = events(seconds: 5)
        #expect(found.isEmpty)
    }

    @Test(arguments: [(2_249_500, [2_250]), (2_250_000, [])] as [(UInt64, [UInt32])])
    mutating func `a question names peers that are known for half of their time`(
        _ milliseconds: UInt64, _ seconds: [UInt32]
    ) throws {
        _ = receive(announcement(4_500))
        now += milliseconds * 1_000_000
        // A link that begins to carry packets is asked on again.
        machine.setLinks([Self.link: addresses(1, isRunning: false)], now: now)
        #expect(machine.deadline == now + 20_000_000)
        now = machine.deadline
        machine.advance(now: now)
        let effects = machine.takeEffects()
        guard case .send(let bytes, let link, let receiver)? = effects.first,
            link == Self.link, receiver == nil, effects.count == 1
        else {
            Issue.record("\(effects)")
            return
        }
        let message = try #require(try bytes.withUnsafeBytes { try DNSMessage($0) })
        #expect(message.answers.map(\.seconds) == seconds && message.questions == Self.all)
    }

    // MARK: Addresses

    @Test mutating func `the addresses of a peer are those that its link reaches, each once`() {
        let many = [address(7), address(8), address(7), address(9, network: 2), address(7)]
        let message = announcement(Self.name, at: many)
        let source = PacketSource(address(8), port: MulticastDNS.port)
        let first = receive(message, from: source)
        #expect(first == [found([(1, address(7)), (1, address(8))])])
        let again = receive(message, from: source)
        #expect(again.isEmpty)
        let other = receive(announcement(Self.name, at: []), from: source)
        #expect(other == [found([(1, address(8))])])
    }

    @Test mutating func `a name with another mark, and the own one, are ignored`() {
        let own = key.mark(of: Self.own, in: Self.name).hexadecimal
        let ignored = receive(announcement(Self.name, at: [address(7)], mark: own))
        #expect(ignored.isEmpty)
        let first = receive(announcement(4_500))
        #expect(first.count == 1)
        let other = receive(
            announcement(Self.name, at: [address(9)], mark: "ff11223344556677"))
        #expect(other.isEmpty)
    }

    @Test mutating func `the addresses on all links are reported, in the order of the links`() {
        let second = DiscoveryLink(interface: 2, isIPv4: true)
        machine.setLinks([Self.link: addresses(1), second: addresses(2)], now: now)
        let source = PacketSource(address(5, network: 2), port: MulticastDNS.port)
        let far = receive(
            announcement(Self.name, at: [address(7, network: 2)]), on: second, from: source)
        let there = [(UInt32(2), address(7, network: 2)), (2, source.address)]
        #expect(far == [found(there)])
        let near = receive(announcement(4_500))
        let here = [(UInt32(1), address(7)), (1, Self.foreign.address)]
        #expect(near == [found(here + there)])
        machine.setLinks([second: addresses(2)], now: now)
        let left = machine.takeEffects()
        #expect(left == [found(there)])
        // The link belongs to another network now.
        machine.setLinks([second: addresses(3)], now: now)
        let gone = machine.takeEffects()
        #expect(gone == [.lost(Self.name)])
        machine.setLinks([:], now: now)
        let none = machine.takeEffects()
        #expect(none.isEmpty && machine.deadline == .max)
    }
}
