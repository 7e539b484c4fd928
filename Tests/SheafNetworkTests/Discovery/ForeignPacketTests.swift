import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// The effects of packets that other hosts send.
struct ForeignPacketTests: PacketTests {
    let key: DiscoveryKey
    let links: SimulatedLinks = exactLinks()

    init() throws {
        key = try .shared()
    }

    // MARK: Conflicts

    private func contradiction() throws -> [UInt8] {
        var response = DNSMessage()
        response.isResponse = true
        response.answers = [
            DNSRecord(
                try instance(0),
                .service(priority: 0, weight: 0, port: 1, target: DNSName(literal: "x.local")),
                seconds: 120, replacesOthers: true)
        ]
        return response.bytes
    }

    @Test func `a peer whose name another host has takes another one`() throws {
        links.add(key, on: [1])
        links.add(key, on: [1])
        links.run(seconds: 10)
        let name = links.hosts[0].machine.name
        links.inject(try contradiction(), on: 1, from: Self.foreign)
        links.run(seconds: 2)
        #expect(links.hosts[0].machine.name != name)
        #expect(links.hosts[1].found.values.contains { $0.name == links.hosts[0].machine.name })
    }

    @Test func `a probe for the name of a peer counts as a conflict, and own echoes do not`() throws
    {
        links.add(key, on: [1, 1])
        links.run(seconds: 10)
        let name = try #require(links.hosts[0].machine.name)
        // Both interfaces of the host are on one segment, so it hears itself with other addresses.
        #expect(links.sent.filter { !$0.message.proposals.isEmpty }.count == 6)
        var probe = DNSMessage()
        let host = DNSName(literal: "local").prefixed(by: "\(name)")
        probe.questions = [DNSQuestion(host, DNSType.any)]
        probe.proposals = [
            DNSRecord(
                host, .address(IPAddress(unchecked: [10, 1, 9, 9])), seconds: 120,
                replacesOthers: false)
        ]
        links.inject(probe.bytes, on: 1, from: Self.foreign)
        links.run(seconds: 1)
        #expect(links.hosts[0].machine.name != name)
    }

    @Test func `after fifteen conflicts in ten seconds, a new name waits for five`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        for number in 1...20 {
            links.inject(try contradiction(), on: 1, from: Self.foreign)
            let count = links.sent.count
            links.run(seconds: 0.3)
            let probes = sent(since: count).filter { !$0.proposals.isEmpty }
            #expect(probes.isEmpty == (number > 15), "conflict \(number)")
        }
        let count = links.sent.count
        links.run(seconds: 4.6)
        #expect(sent(since: count).allSatisfy { $0.proposals.isEmpty })
        links.run(seconds: 0.5)
        #expect(sent(since: count).contains { !$0.proposals.isEmpty })
    }

    // MARK: Learning

    private func found(after message: DNSMessage, from source: PacketSource) -> [IPAddress] {
        links.inject(message.bytes, on: 1, from: source)
        links.run(seconds: 0.01)
        return links.hosts[0].found.values.flatMap(\.addresses).map(\.address)
    }

    @Test func `a response without a proof, or from another port or network, is ignored`() {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let name = AnnouncedName(random: 1)
        let near = IPAddress(unchecked: [10, 1, 0, 77])
        let far = IPAddress(unchecked: [192, 0, 2, 1])
        let wrong = key.proof(of: AnnouncedName(random: 2))
        #expect(
            found(after: announcement(name, at: [near], proof: wrong), from: Self.foreign) == [])
        #expect(
            found(after: announcement(name, at: [near], version: "2"), from: Self.foreign) == [])
        let otherPort = PacketSource(Self.foreign.address, port: 5_354)
        #expect(found(after: announcement(name, at: [near]), from: otherPort) == [])
        let farSource = PacketSource(far, port: 5_353)
        #expect(found(after: announcement(name, at: [far]), from: farSource) == [])
        // The host from which the packet came is an address, too.
        #expect(
            found(after: announcement(name, at: [far, near]), from: Self.foreign)
                == [near, Self.foreign.address])
        #expect(links.hosts[0].found.values.first?.addresses.first?.port == 99)
    }

    @Test func `a peer has at most eight addresses on a link`() {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let many = (0..<50).map { IPAddress(unchecked: [10, 1, 7, UInt8($0)]) }
        let addresses = found(
            after: announcement(AnnouncedName(random: 1), at: many), from: Self.foreign)
        #expect(addresses == Array(many.prefix(8)))
    }

    @Test func `a peer is asked for when its time is nearly over, and lost at its end`() {
        links.add(key, on: [1], port: nil)
        links.run(seconds: 5_000)
        let message = announcement(
            AnnouncedName(random: 1), at: [Self.foreign.address], seconds: 1_000)
        #expect(!found(after: message, from: Self.foreign).isEmpty)
        let (start, count) = (links.now, links.sent.count)
        links.run(seconds: 999)
        let asked = links.sent.dropFirst(count).map { ($0.time - start) / 10_000_000_000 }
        #expect(asked.count == 4)
        for (percent, earliest) in zip(asked, [80, 85, 90, 95] as [UInt64]) {
            #expect((earliest - 1...earliest + 2).contains(percent))
        }
        #expect(links.hosts[0].found.count == 1)
        links.run(seconds: 2)
        #expect(links.hosts[0].found.isEmpty)
    }

    @Test func `a name without its records is asked for, but once in a second at most`() {
        links.add(key, on: [1], port: nil)
        links.run(seconds: 20)
        let count = links.sent.count
        for number in 0..<100 {
            var response = DNSMessage()
            response.isResponse = true
            let name = AnnouncedName(random: UInt64(number))
            response.answers = announcement(name, at: []).answers
            links.inject(response.bytes, on: 1, from: Self.foreign)
            links.run(seconds: 0.05)
        }
        let questions = sent(since: count).filter { query in
            query.questions.contains { $0.type == DNSType.any }
        }
        #expect((4...6).contains(questions.count))
        #expect(questions.map(\.questions.count).max() == 16)
    }

    @Test func `known answers are sent with questions, forty in a packet`() {
        links.add(key, on: [1], port: nil)
        links.run(seconds: 20)
        for number in 0..<100 {
            let message = announcement(
                AnnouncedName(random: UInt64(number)), at: [Self.foreign.address])
            links.inject(message.bytes, on: 1, from: Self.foreign)
        }
        let count = links.sent.count
        links.run(seconds: 30)
        let packets = sent(since: count)
        #expect(packets.map(\.answers.count) == [40, 40, 20])
        #expect(packets.map(\.isTruncated) == [true, true, false])
        #expect(packets.map(\.questions.count) == [1, 0, 0])
        #expect(links.sent.dropFirst(count).allSatisfy { $0.bytes.count <= 1_440 })
    }

    @Test func `a question that another host has asked is suppressed, but not the first ones`() {
        links.add(key, on: [1], port: nil)
        for seconds in [1, 1, 2, 2, 4, 2] {
            ask(DNSQuestion(Self.service, DNSType.pointer))
            links.run(seconds: Double(seconds))
        }
        #expect(links.sent.count == 3)
        // The next question comes 13 seconds after the start.
        links.run(seconds: 20)
        #expect(links.sent.count == 4)
        // The next one would come 40 to 47 seconds after the start.
        ask(DNSQuestion(Self.service, DNSType.pointer))
        links.run(seconds: 25)
        #expect(links.sent.count == 4)
        // An answer that this peer does not know would not be repeated for it.
        let unknown = announcement(AnnouncedName(random: 1), at: [Self.foreign.address]).answers
        ask(DNSQuestion(Self.service, DNSType.pointer), known: unknown)
        links.run(seconds: 80)
        #expect(links.sent.count == 5)
    }

    @Test func `a question that lists the peer itself as known is not asked again`() throws {
        links.add(key, on: [1])
        links.run(seconds: 20)
        let count = links.sent.count
        let pointer = DNSRecord(
            Self.service, .pointer(try instance(0)), seconds: 4_000, replacesOthers: false)
        ask(DNSQuestion(Self.service, DNSType.pointer), known: [pointer])
        // Without that question, the peer would ask 40 to 47 seconds after its start.
        links.run(seconds: 40)
        #expect(links.sent.count == count)
    }

    @Test func `packets from other networks are ignored, and not answered`() {
        links.add(key, on: [1])
        links.run(seconds: 20)
        let count = links.sent.count
        for port: UInt16 in [5_353, 40_000] {
            let far = PacketSource(IPAddress(unchecked: [192, 0, 2, 1]), port: port)
            ask(DNSQuestion(Self.service, DNSType.pointer), from: far)
            links.run(seconds: 2)
        }
        #expect(links.sent.count == count)
    }

    @Test func `a name that was given up is withdrawn`() throws {
        links.add(key, on: [1])
        links.add(key, on: [1])
        links.run(seconds: 10)
        for _ in 0..<10 {
            links.inject(try contradiction(), on: 1, from: Self.foreign)
            links.run(seconds: 0.3)
        }
        links.run(seconds: 3)
        #expect(links.hosts[1].found.count == 1)
    }

    @Test func `short times to live cause at most a question in a second`() {
        links.add(key, on: [1], port: nil)
        links.run(seconds: 20)
        let count = links.sent.count
        for number in 0..<200 {
            let message = announcement(
                AnnouncedName(random: UInt64(number)), at: [Self.foreign.address], seconds: 1)
            links.inject(message.bytes, on: 1, from: Self.foreign)
            links.run(seconds: 0.05)
        }
        #expect(links.sent.count - count <= 11)
    }

    @Test func `damaged packets break no rule`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("damaged packets of discovery, seed \(seed)")
        var fuzz = try PacketFuzz(seed: seed)
        let breach = fuzz.run(packets: 2_000)
        #expect(breach == nil)
    }
}
