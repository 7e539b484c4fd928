import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// The packets that a peer sends, and when.
struct DiscoveryPacketTests: PacketTests {
    let key: DiscoveryKey
    let links: SimulatedLinks = exactLinks()

    init() throws {
        key = try .shared()
    }

    private func milliseconds(_ time: UInt64) -> UInt64 { (time + 500_000) / 1_000_000 }

    /// The receivers of responses: the machine asks questions of its own at random times.
    private func receivers(since count: Int) -> [PacketSource?] {
        links.sent.dropFirst(count).filter(\.message.isResponse).map(\.receiver)
    }

    // MARK: Announcing

    @Test func `a peer probes three times, and announces itself twice`() throws {
        links.add(key, on: [1])
        links.run(seconds: 30)
        let start = try #require(links.sent.first { !$0.message.proposals.isEmpty }).time
        #expect(start <= 250_000_001)
        let probes = links.sent.filter { !$0.message.proposals.isEmpty }
        #expect(probes.map { milliseconds($0.time - start) } == [0, 250, 500])
        let announcements = links.sent.filter(\.message.isResponse)
        #expect(announcements.map { milliseconds($0.time - start) } == [750, 1_750])
        for announcement in announcements {
            let records = announcement.message.answers
            #expect(records.map(\.contents.type) == [12, 33, 16, 1])
            #expect(records.map(\.seconds) == [4_500, 120, 4_500, 120])
            #expect(records.map(\.replacesOthers) == [false, true, true, true])
        }
        let probe = try #require(probes.first).message
        let host = DNSName(literal: "local")
            .prefixed(by: "\(try #require(links.hosts[0].machine.name))")
        #expect(
            probe.questions == [
                DNSQuestion(try instance(0), DNSType.any), DNSQuestion(host, DNSType.any),
            ])
        #expect(probe.proposals.map(\.contents.type) == [33, 16, 1])
        #expect(probe.proposals.allSatisfy { !$0.replacesOthers })
    }

    @Test func `nothing is announced on a link where no address accepts connections`() {
        let link = DiscoveryLink(interface: 1, isIPv4: true)
        let address = SimulatedLinks.address(0, 1, isIPv4: true)
        var now: UInt64 = 7
        var machine = DiscoveryMachine(
            key, PeerKey(unchecked: [UInt8](repeating: 1, count: 32)), port: 4_120, now: now,
            random: { 0 })
        /// Returns the number of packets with own records in the next five seconds.
        func count(announcing announced: [IPAddress]) -> Int {
            let own = [InterfaceAddress(address, prefixLength: 16)]
            machine.setLinks([link: LinkAddresses(own: own, announced: announced)], now: now)
            let end = now + 5 * SimulatedLinks.second
            while machine.deadline <= end {
                now = max(now, machine.deadline)
                machine.advance(now: now)
            }
            now = end
            return machine.takeEffects().count { effect in
                guard case .send(let bytes, _, _) = effect,
                    let message = bytes.withUnsafeBytes({ try? DNSMessage($0) })
                else { return false }
                return message.isResponse || !message.proposals.isEmpty
            }
        }
        let before = count(announcing: [])
        #expect(before == 0)
        // Three probes and two announcements.
        let announced = count(announcing: [address])
        #expect(announced == 5)
        let after = count(announcing: [])
        #expect(after == 0)
    }

    @Test func `questions are asked less and less often`() {
        links.add(key, on: [1], port: nil)
        links.run(seconds: 14_000)
        let times = links.sent.map(\.time)
        #expect((20_000_000...120_000_002).contains(times[0]))
        let pauses = zip(times, times.dropFirst()).map { milliseconds($1 - $0) / 1_000 }
        #expect(pauses.count >= 9 && pauses.starts(with: [1, 3, 9]))
        let expected: [UInt64] = [27, 81, 243, 729, 2_187] + [UInt64](repeating: 3_600, count: 9)
        // Later ones are up to a quarter longer.
        for (pause, least) in zip(pauses.dropFirst(3), expected) {
            #expect((least...least + least / 4).contains(pause))
        }
    }

    @Test func `a peer that stops takes its records back`() throws {
        links.add(key, on: [1, 2])
        links.run(seconds: 10)
        let count = links.sent.count
        links.stop(0, saysGoodbye: true)
        let goodbyes = responses(since: count)
        #expect(goodbyes.count == 2)
        for goodbye in goodbyes {
            #expect(goodbye.answers.count == 4 && goodbye.answers.allSatisfy { $0.seconds == 0 })
        }
    }

    // MARK: Answering

    @Test func `an answer comes after 20 to 120 ms, and to several hosts at once`() {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let (count, start) = (links.sent.count, links.now)
        ask(DNSQuestion(Self.service, DNSType.pointer))
        ask(
            DNSQuestion(Self.service, DNSType.any),
            from: PacketSource(IPAddress(unchecked: [10, 1, 9, 8]), port: 5_353))
        links.run(seconds: 1)
        #expect(responses(since: count).count == 1)
        let time = links.sent[count].time - start
        #expect((20_000_000...120_000_002).contains(time))
        #expect(responses(since: count)[0].answers.map(\.contents.type) == [12])
        #expect(responses(since: count)[0].additions.map(\.contents.type) == [33, 16, 1])
    }

    @Test func `records that only this peer has are answered at once`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let (count, start) = (links.sent.count, links.now)
        ask(DNSQuestion(try instance(0), DNSType.service))
        links.run(seconds: 0.001)
        #expect(responses(since: count).count == 1)
        #expect(links.sent[count].time - start < 1_000)
    }

    @Test func `a record is sent to all at most once in a second`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let count = links.sent.count
        for _ in 0..<50 {
            ask(DNSQuestion(try instance(0), DNSType.any))
            ask(DNSQuestion(Self.service, DNSType.pointer))
            links.run(seconds: 0.1)
        }
        let times = links.sent[count...].filter(\.message.isResponse).map(\.time)
        #expect((5...6).contains(times.count))
        for (earlier, later) in zip(times, times.dropFirst()) {
            #expect(later - earlier >= SimulatedLinks.second)
        }
    }

    @Test func `known answers are not sent, also if they follow in another packet`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let count = links.sent.count
        let pointer = { (seconds: UInt32) in
            DNSRecord(
                Self.service, .pointer(try instance(0)), seconds: seconds, replacesOthers: false)
        }
        let question = DNSQuestion(Self.service, DNSType.pointer)
        ask(question, known: [try pointer(2_250)])
        links.run(seconds: 2)
        #expect(responses(since: count).isEmpty)
        ask(question, known: [try pointer(2_249)])
        links.run(seconds: 2)
        #expect(responses(since: count).count == 1)
        // The known answers of one host are not those of another one.
        for (source, expected) in [
            (Self.foreign, 1), (PacketSource(IPAddress(unchecked: [10, 1, 9, 8]), port: 5_353), 2),
        ] {
            ask(question, isTruncated: true)
            links.run(seconds: 0.1)
            var rest = DNSMessage()
            rest.answers = [try pointer(4_000)]
            links.inject(rest.bytes, on: 1, from: source)
            links.run(seconds: 2)
            #expect(responses(since: count).count == expected)
        }
    }

    @Test func `a question that permits it is answered to the asking host alone`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        var count = links.sent.count
        let question = DNSQuestion(Self.service, DNSType.pointer, permitsUnicast: true)
        ask(question)
        links.run(seconds: 1)
        #expect(receivers(since: count) == [Self.foreign])
        links.run(seconds: 1_125)
        count = links.sent.count
        ask(question)
        links.run(seconds: 1)
        // A quarter of the time has passed, and others may want to hear it, too.
        #expect(receivers(since: count) == [nil])
    }

    @Test func `a record not yet sent to all since the addresses changed is sent to all`() throws {
        let link = DiscoveryLink(interface: 1, isIPv4: true)
        let own = [0, 1].map { SimulatedLinks.address($0, 1, isIPv4: true) }
        func addresses(_ count: Int) -> LinkAddresses {
            LinkAddresses(
                own: own.prefix(count).map { InterfaceAddress($0, prefixLength: 16) },
                announced: Array(own.prefix(count)))
        }
        var now: UInt64 = 7
        var machine = DiscoveryMachine(
            key, PeerKey(unchecked: [UInt8](repeating: 1, count: 32)), port: 4_120, now: now,
            random: { 0 })
        machine.setLinks([link: addresses(1)], now: now)
        let end = now + 5 * SimulatedLinks.second
        while machine.deadline <= end {
            now = max(now, machine.deadline)
            machine.advance(now: now)
        }
        now = end
        _ = machine.takeEffects()
        let name = try #require(machine.name)
        var query = DNSMessage()
        query.questions = [
            DNSQuestion(
                Self.service.prefixed(by: "\(name)"), DNSType.service, permitsUnicast: true)
        ]
        let bytes = query.bytes
        /// Returns the receivers of the packets that answer the question immediately.
        func receivers() -> [PacketSource?] {
            bytes.withUnsafeBytes {
                machine.receive($0, on: link, from: Self.foreign, now: now)
            }
            var found: [PacketSource?] = []
            for effect in machine.takeEffects() {
                if case .send(_, _, let receiver) = effect { found.append(receiver) }
            }
            return found
        }
        let before = receivers()
        #expect(before == [Self.foreign])
        machine.setLinks([link: addresses(2)], now: now)
        let after = receivers()
        #expect(after == [nil])
        let again = receivers()
        #expect(again == [Self.foreign])
    }

    @Test func `a query from another port is answered to it alone, without cache flush`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let count = links.sent.count
        let source = PacketSource(IPAddress(unchecked: [10, 1, 9, 9]), port: 40_000)
        let question = DNSQuestion(try instance(0), DNSType.service)
        ask(question, id: 0xABCD, from: source)
        links.run(seconds: 1)
        #expect(receivers(since: count) == [source])
        let response = try #require(responses(since: count).first)
        #expect(response.id == 0xABCD && response.questions == [question])
        let records = response.answers + response.additions
        #expect(records.allSatisfy { $0.seconds <= 10 && !$0.replacesOthers })
        #expect(response.answers.map(\.contents.type) == [33])
    }

    @Test func `the type of the service is listed, and other questions are not answered`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let count = links.sent.count
        ask(DNSQuestion(DNSName(literal: "_services._dns-sd._udp.local"), DNSType.pointer))
        links.run(seconds: 1)
        let response = try #require(responses(since: count).first)
        #expect(response.answers.map(\.contents) == [.pointer(Self.service)])
        ask(DNSQuestion(Self.service, DNSType.text))
        ask(DNSQuestion(DNSName(literal: "_http._tcp.local"), DNSType.pointer))
        ask(DNSQuestion(try instance(0), DNSType.pointer))
        links.run(seconds: 2)
        #expect(responses(since: count).count == 1)
    }
}
