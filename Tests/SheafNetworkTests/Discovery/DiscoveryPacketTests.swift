import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// The packets of discovery, and what foreign ones can do.
struct DiscoveryPacketTests {
    private static let service = DNSName(literal: "_sheaf._tcp.local")
    private static let foreign = PacketSource(IPAddress(unchecked: [10, 1, 9, 9]), port: 5_353)

    private let key: DiscoveryKey
    private let links: SimulatedLinks

    init() throws {
        key = try .shared()
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("packets of discovery, seed \(seed)")
        links = SimulatedLinks(seed: seed)
        // Packets arrive at once, so that times are exact.
        links.delay = 1
    }

    private func milliseconds(_ time: UInt64) -> UInt64 { (time + 500_000) / 1_000_000 }

    private func sent(since count: Int = 0) -> [DNSMessage] {
        links.sent.dropFirst(count).map(\.message)
    }

    private func responses(since count: Int = 0) -> [DNSMessage] {
        sent(since: count).filter(\.isResponse)
    }

    private func ask(
        _ question: DNSQuestion, id: UInt16 = 0, known: [DNSRecord] = [], isTruncated: Bool = false,
        from source: PacketSource = foreign
    ) {
        var query = DNSMessage()
        query.id = id
        query.questions = [question]
        query.answers = known
        query.isTruncated = isTruncated
        links.inject(query.bytes, on: 1, from: source)
    }

    private func instance(_ host: Int) throws -> DNSName {
        Self.service.prefixed(by: "\(try #require(links.hosts[host].machine.name))")
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
        #expect(probe.questions == [
            DNSQuestion(try instance(0), DNSType.any), DNSQuestion(host, DNSType.any),
        ])
        #expect(probe.proposals.map(\.contents.type) == [33, 16, 1])
        #expect(probe.proposals.allSatisfy { !$0.replacesOthers })
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
        #expect(links.sent.dropFirst(count).map(\.receiver) == [Self.foreign])
        links.run(seconds: 1_125)
        count = links.sent.count
        ask(question)
        links.run(seconds: 1)
        // A quarter of the time has passed, and others may want to hear it, too.
        #expect(links.sent.dropFirst(count).map(\.receiver) == [nil])
    }

    @Test func `a simple resolver gets a response of its own`() throws {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let count = links.sent.count
        let source = PacketSource(IPAddress(unchecked: [10, 1, 9, 9]), port: 40_000)
        let question = DNSQuestion(try instance(0), DNSType.service)
        ask(question, id: 0xABCD, from: source)
        links.run(seconds: 1)
        #expect(links.sent.dropFirst(count).map(\.receiver) == [source])
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

    @Test func `a peer whose name somebody else has takes another one`() throws {
        links.add(key, on: [1])
        links.add(key, on: [1])
        links.run(seconds: 10)
        let name = links.hosts[0].machine.name
        links.inject(try contradiction(), on: 1, from: Self.foreign)
        links.run(seconds: 2)
        #expect(links.hosts[0].machine.name != name)
        #expect(links.hosts[1].found.values.contains { $0.name == links.hosts[0].machine.name })
    }

    @Test func `a probe for the name of a peer counts as a conflict, and own echoes do not`() throws {
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

    /// The announcement of a peer at an address.
    private func announcement(
        _ name: AnnouncedName, at addresses: [IPAddress], proof: [UInt8]? = nil,
        version: String = "1", seconds: UInt32 = 4_500
    ) -> DNSMessage {
        let instance = Self.service.prefixed(by: "\(name)")
        let host = DNSName(literal: "elsewhere.local")
        let proof = proof ?? key.proof(of: name)
        let texts = ["v=\(version)", "d=\(proof.hexadecimal)", "p=0011223344556677", "other"]
        var response = DNSMessage()
        response.isResponse = true
        response.answers = [
            DNSRecord(Self.service, .pointer(instance), seconds: seconds, replacesOthers: false)
        ]
        response.additions = [
            DNSRecord(
                instance, .service(priority: 1, weight: 2, port: 99, target: host), seconds: 120,
                replacesOthers: true),
            DNSRecord(
                instance, .texts(texts.map { Array($0.utf8) }), seconds: seconds,
                replacesOthers: true),
        ]
            + addresses.map {
                DNSRecord(host, .address($0), seconds: 120, replacesOthers: true)
            }
        return response
    }

    private func found(after message: DNSMessage, from source: PacketSource) -> [IPAddress] {
        links.inject(message.bytes, on: 1, from: source)
        links.run(seconds: 0.01)
        return links.hosts[0].found.values.flatMap(\.addresses).map(\.address)
    }

    @Test func `a response is believed only with a proof, from the right port, about this link`() {
        links.add(key, on: [1])
        links.run(seconds: 10)
        let name = AnnouncedName(random: 1)
        let near = IPAddress(unchecked: [10, 1, 0, 77])
        let far = IPAddress(unchecked: [192, 0, 2, 1])
        let wrong = key.proof(of: AnnouncedName(random: 2))
        #expect(found(after: announcement(name, at: [near], proof: wrong), from: Self.foreign) == [])
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
        #expect(questions.allSatisfy { $0.questions.count <= 16 })
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

    @Test func `a question that another host has asked is saved, but not the first ones`() {
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
}
