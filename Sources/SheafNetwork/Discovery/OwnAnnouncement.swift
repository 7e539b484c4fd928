import SheafTransport

/// The records of multicast DNS with which this peer announces itself under one name.
struct OwnAnnouncement {
    /// The type of the service, whose pointers lead to all peers of all databases.
    static let service = DNSName(literal: "_sheaf._tcp.local")
    /// The name whose pointers lead to the types of services of a network (RFC 6763, section 9).
    private static let types = DNSName(literal: "_services._dns-sd._udp.local")
    private static let local = DNSName(literal: "local")
    /// Time for which records without a host are valid; for the others see RFC 6762, section 10.
    static let (seconds, hostSeconds): (UInt32, UInt32) = (4_500, 120)

    let name: AnnouncedName
    private let instance: DNSName
    private let host: DNSName
    private let port: UInt16
    private let texts: [[UInt8]]

    init(_ name: AnnouncedName, port: UInt16, proof: [UInt8], mark: [UInt8]) {
        self.name = name
        self.port = port
        instance = Self.service.prefixed(by: "\(name)")
        host = Self.local.prefixed(by: "\(name)")
        texts = AnnouncementTexts(proof: proof, mark: mark).texts
    }

    /// The pointer that leads to a peer.
    static func pointer(to name: AnnouncedName, seconds: UInt32 = seconds) -> DNSRecord {
        DNSRecord(
            service, .pointer(service.prefixed(by: "\(name)")), seconds: seconds,
            replacesOthers: false)
    }

    /// The names that no other host may use.
    var uniqueNames: [DNSName] { [instance, host] }

    /// Returns the records that no other host may have.
    func uniqueRecords(_ addresses: [IPAddress]) -> [DNSRecord] {
        let service = DNSRecord.Contents.service(
            priority: 0, weight: 0, port: port, target: host)
        return [
            DNSRecord(instance, service, seconds: Self.hostSeconds, replacesOthers: true),
            DNSRecord(instance, .texts(texts), seconds: Self.seconds, replacesOthers: true),
        ]
            + addresses.map { address in
                DNSRecord(
                    host, .address(address), seconds: Self.hostSeconds, replacesOthers: true)
            }
    }

    /// Returns all records that are announced.
    func records(_ addresses: [IPAddress]) -> [DNSRecord] {
        [Self.pointer(to: name)] + uniqueRecords(addresses)
    }

    /// Returns the records that answer a question.
    func answers(to question: DNSQuestion, _ addresses: [IPAddress]) -> [DNSRecord] {
        let types = DNSRecord(
            Self.types, .pointer(Self.service), seconds: Self.seconds, replacesOthers: false)
        return (records(addresses) + [types]).filter { record in
            record.name == question.name
                && [DNSType.any, record.contents.type].contains(question.type)
        }
    }

    /// Whether a record conflicts with one of this peer: the same name and type, but other data.
    func conflicts(with record: DNSRecord, _ own: Set<IPAddress>) -> Bool {
        switch record.contents {
        case .address(let address): record.name == host && !own.contains(address)
        case .service(_, _, let port, let target):
            record.name == instance && (port != self.port || target != host)
        case .texts(let texts): record.name == instance && texts != self.texts
        case .pointer, .other: false
        }
    }
}

/// The texts of an announcement (`format-spec/discovery.md`, table 2).
struct AnnouncementTexts: Hashable {
    let proof: [UInt8]
    let mark: [UInt8]

    init(proof: [UInt8], mark: [UInt8]) {
        self.proof = proof
        self.mark = mark
    }

    var texts: [[UInt8]] {
        ["v=1", "d=" + proof.hexadecimal, "p=" + mark.hexadecimal].map { Array($0.utf8) }
    }

    /// Reads texts; returns nil for those of another version, or without one of the values.
    init?(_ texts: [[UInt8]]) {
        var values: [String: Substring] = [:]
        for text in texts {
            let pair = String(decoding: text, as: UTF8.self)
                .split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // Of several texts with one key the first one counts (RFC 6763, section 6.4).
            guard pair.count == 2, values[pair[0].lowercased()] == nil else { continue }
            values[pair[0].lowercased()] = pair[1]
        }
        guard values["v"] == "1",
            let proof = values["d"].flatMap({ [UInt8](hexadecimal: $0) }),
            let mark = values["p"].flatMap({ [UInt8](hexadecimal: $0) }),
            proof.count == DiscoveryKey.proofLength, mark.count == DiscoveryKey.markLength
        else { return nil }
        (self.proof, self.mark) = (proof, mark)
    }
}
