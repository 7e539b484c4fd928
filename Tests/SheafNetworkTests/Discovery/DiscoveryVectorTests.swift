import SheafBytes
import SheafNetwork
import SheafTestSupport
import SheafTransport
import Testing

/// The vectors of `format-spec/discovery.md`, written by an independent encoder.
struct DiscoveryVectorTests {
    private static let link = DiscoveryLink(interface: 1, isIPv4: true)
    private let vectors: FormatVectors

    init() throws {
        vectors = try FormatVectors("discovery.txt")
    }

    private func key(_ name: String) throws -> DiscoveryKey {
        let database = try #require(DatabaseID(vectors.bytes("\(name).database")))
        return try vectors.bytes("\(name).secret").withUnsafeBytes {
            DiscoveryKey(database, secret: $0)
        }
    }

    @Test func `proofs and marks match the vectors`() throws {
        try vectors.forEach("proof") { name, expected in
            let label = try vectors.bytes("\(name).name").hexadecimal
            let announced = try #require(AnnouncedName(label: Array(label.utf8)))
            let key = try key(name)
            #expect(key.proof(of: announced) == expected)
            let peer = PeerKey(unchecked: try vectors.bytes("\(name).peer"))
            let mark = try vectors.bytes("\(name).mark")
            #expect(key.mark(of: peer, in: announced) == mark)
        }
    }

    /// Returns a peer that has received a packet on a link with the network 10.1.0.0/16.
    private func receiver(of packet: [UInt8]) throws -> DiscoveryMachine {
        let own = PeerKey(unchecked: [UInt8](repeating: 9, count: 32))
        var machine = DiscoveryMachine(
            try key("key-shared"), own, port: nil, now: 0, random: { 5 })
        let address = InterfaceAddress(IPAddress(unchecked: [10, 1, 0, 1]), prefixLength: 16)
        machine.setLinks([Self.link: LinkAddresses(own: [address], announced: [])], now: 0)
        receive(packet, &machine)
        return machine
    }

    private func receive(_ packet: [UInt8], _ machine: inout DiscoveryMachine) {
        let source = PacketSource(IPAddress(unchecked: [10, 1, 2, 3]), port: 5_353)
        packet.withUnsafeBytes { machine.receive($0, on: Self.link, from: source, now: 0) }
    }

    @Test func `announcements match the vectors`() throws {
        try vectors.forEach("announcement") { name, packet in
            var machine = try receiver(of: packet)
            let effects = machine.takeEffects()
            guard case .found(let peer)? = effects.first, effects.count == 1 else {
                Issue.record("\(name) announces no peer: \(effects)")
                return
            }
            let mark = try vectors.bytes("key-shared.mark")
            #expect("\(peer.name)" == "0102030405060708" && peer.mark == mark)
            let link = IPAddress(unchecked: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [5])
            #expect(
                peer.addresses.map(\.address) == [IPAddress(unchecked: [10, 1, 2, 3]), link])
            #expect(peer.addresses.allSatisfy { $0.port == 4_120 && $0.interface == 1 })
            try vectors.forEach("goodbye") { _, packet in
                receive(packet, &machine)
                machine.advance(now: 1_000_000_000)
                #expect(machine.takeEffects().contains(.lost(peer.name)))
            }
        }
    }

    @Test func `announcements of another version, database or key are ignored`() throws {
        try vectors.forEach("ignored") { name, packet in
            var machine = try receiver(of: packet)
            #expect(machine.takeEffects().isEmpty, "\(name)")
        }
    }
}
