import SheafNetwork
import SheafNetworkModel
import SheafTestSupport
import SheafTransport
import Testing

/// Tests of single packets on the links of hosts.
protocol PacketTests {
    var key: DiscoveryKey { get }
    var links: SimulatedLinks { get }
}

extension PacketTests {
    static var service: DNSName { DNSName(literal: "_sheaf._tcp.local") }
    /// The sender of packets, which is no host.
    static var foreign: PacketSource {
        PacketSource(IPAddress(unchecked: [10, 1, 9, 9]), port: 5_353)
    }

    /// Returns links on which packets arrive at once, so that times are exact.
    static func exactLinks() -> SimulatedLinks {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("packets of discovery, seed \(seed)")
        let links = SimulatedLinks(seed: seed)
        links.delay = 1
        return links
    }

    func sent(since count: Int = 0) -> [DNSMessage] {
        links.sent.dropFirst(count).map(\.message)
    }

    func responses(since count: Int = 0) -> [DNSMessage] {
        sent(since: count).filter(\.isResponse)
    }

    func ask(
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

    func instance(_ host: Int) throws -> DNSName {
        Self.service.prefixed(by: "\(try #require(links.hosts[host].machine.name))")
    }

    /// The announcement of a peer at an address.
    func announcement(
        _ name: AnnouncedName, at addresses: [IPAddress], proof: [UInt8]? = nil,
        mark: String = "0011223344556677", version: String = "1", seconds: UInt32 = 4_500
    ) -> DNSMessage {
        let instance = Self.service.prefixed(by: "\(name)")
        let host = DNSName(literal: "elsewhere.local")
        let proof = proof ?? key.proof(of: name)
        let texts = ["v=\(version)", "d=\(proof.hexadecimal)", "p=\(mark)", "other"]
        var response = DNSMessage()
        response.isResponse = true
        response.answers = [
            DNSRecord(Self.service, .pointer(instance), seconds: seconds, replacesOthers: false)
        ]
        response.additions =
            [
                DNSRecord(
                    instance, .service(priority: 1, weight: 2, port: 99, target: host),
                    seconds: 120,
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
}
