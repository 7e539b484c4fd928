import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// The packets and peers that a host keeps, at and beyond the limits.
struct DiscoveryLimitTests: PacketTests {
    let key: DiscoveryKey
    let links: SimulatedLinks = exactLinks()

    init() throws {
        key = try .shared()
        links.add(key, on: [1], port: nil)
    }

    /// Sends a packet of another host, which arrives immediately.
    private func inject(_ message: DNSMessage) {
        links.inject(message.bytes, on: 1, from: Self.foreign)
        links.run(seconds: 0.000_001)
    }

    @Test func `the last 64 withdrawn peers count as departed`() {
        links.run(seconds: 10)
        let peers = (0..<65).map { number in
            PeerKey(unchecked: [UInt8](repeating: UInt8(number), count: 32))
        }
        /// Announces a peer, and withdraws it.
        func stop(_ number: Int) {
            let name = AnnouncedName(random: UInt64(number))
            let mark = key.mark(of: peers[number], in: name).hexadecimal
            for seconds: UInt32 in [4_500, 0] {
                inject(
                    announcement(name, at: [Self.foreign.address], mark: mark, seconds: seconds))
            }
        }
        func departed(_ numbers: [Int]) -> [Bool] {
            numbers.map { links.hosts[0].machine.hasDeparted(peers[$0], now: links.now) }
        }
        for number in 0..<63 { stop(number) }
        #expect(departed([0, 1, 62, 63]) == [true, true, true, false])
        stop(63)
        #expect(departed([0, 1, 63, 64]) == [true, true, true, false])
        stop(64)
        #expect(departed([0, 1, 63, 64]) == [false, true, true, true])
    }

    @Test(arguments: [(15, 15), (16, 16), (17, 16)])
    func `the records of at most sixteen names are requested at a time`(
        _ names: Int, _ questions: Int
    ) {
        links.run(seconds: 20)
        let count = links.sent.count
        var response = DNSMessage()
        response.isResponse = true
        response.answers = (0..<names).flatMap { number in
            announcement(AnnouncedName(random: UInt64(number)), at: []).answers
        }
        inject(response)
        links.run(seconds: 3)
        #expect(sent(since: count).map(\.questions.count) == [questions])
        // The last name is asked for once it is announced again.
        response.answers.removeFirst(names - 1)
        inject(response)
        links.run(seconds: 3)
        #expect(sent(since: count).map(\.questions.count) == [questions, 1])
    }

    @Test(arguments: [7, 8])
    func `a host recognizes its last eight packets to all hosts`(later: Int) throws {
        // The fourth question is asked after 13 seconds, and the fifth one after 40 to 47.
        links.run(seconds: 12)
        #expect(links.sent.count == 3)
        links.lost = 100
        links.run(seconds: 3)
        let question = try #require(links.sent.last)
        #expect(links.sent.count == 4)
        for number in 0..<later {
            var response = DNSMessage()
            response.isResponse = true
            let name = AnnouncedName(random: UInt64(number))
            response.answers = announcement(name, at: []).answers
            links.lost = 0
            inject(response)
            links.lost = 100
            links.run(seconds: 1.2)
        }
        #expect(links.sent.count == 4 + later)
        // The packet of another host would suppress the next question.
        links.lost = 0
        let own = PacketSource(
            SimulatedLinks.address(0, 1, isIPv4: true), port: MulticastDNS.port)
        links.inject(question.bytes, on: 1, from: own)
        links.run(seconds: 25)
        #expect(links.sent.count == 4 + later + (later < 8 ? 1 : 0))
    }
}
