import Sheaf
import SheafBytes
import SheafTransport
import Synchronization
import Testing

/// Tests of keys, ids and addresses, and of what a transport need not implement.
struct TransportValueTests {
    private static let bytes: [UInt8] = [0x00, 0x09, 0x0A, 0x0F, 0x90, 0xA0, 0xF0, 0xFF]
    private static let digits = "00090a0f90a0f0ff"

    @Test func `a key is read from its text, and from no other one`() {
        let bytes = Self.bytes + Self.bytes + Self.bytes + Self.bytes
        let digits = String(repeating: Self.digits, count: 4)
        let text = "pk:\(digits)"
        #expect(PeerKey(bytes)?.description == text)
        #expect(PeerKey(text)?.bytes == bytes)
        for count in [0, 1, 31, 33, 64] {
            #expect(PeerKey([UInt8](repeating: 1, count: count)) == nil, "\(count) bytes")
        }
        var others = [
            "", "pk:", digits, "PK:\(digits)", "pk\(digits)", " \(text)", "\(text)0", "\(text)00",
            String(text.dropLast()), String(text.dropLast(2)), "pk:\(digits.uppercased())",
        ]
        for character in ["/", ":", "`", "g", "@", "A", "F", "G", " ", "é", "-"] {
            others.append("pk:\(character)\(digits.dropFirst())")
            others.append("\(text.dropLast())\(character)")
        }
        for other in others { #expect(PeerKey(other) == nil, "\(other)") }
    }

    @Test func `bytes are two lowercase digits each`() {
        #expect(Self.bytes.hexadecimal == Self.digits)
        #expect([UInt8](hexadecimal: Self.digits[...]) == Self.bytes)
        #expect([UInt8](hexadecimal: "") == [] && ([] as [UInt8]).hexadecimal.isEmpty)
        for text in ["0", "000", "0g", "g0", "0A"] as [Substring] {
            #expect([UInt8](hexadecimal: text) == nil, "\(text)")
        }
    }

    @Test func `random keys have 32 bytes, which are all drawn`() {
        let keys = (0..<300).map { _ in PeerKey.random() }
        #expect(Set(keys).count == 300)
        let lengths = Set(keys.map(\.bytes.count))
        #expect(lengths == [32])
        // 9,600 bytes lack one of 256 values with probability 1e-14.
        let drawn = Set(keys.flatMap(\.bytes))
        #expect(drawn.count == 256)
    }

    @Test func `an id of a database is 16 bytes, shown as digits, and a number`() throws {
        let id = try #require(DatabaseID(Array(0..<16 as Range<UInt8>)))
        #expect(id.description == "000102030405060708090a0b0c0d0e0f")
        #expect(id.hash.low == 0x0706_0504_0302_0100)
        #expect(id.hash.high == 0x0F0E_0D0C_0B0A_0908)
        #expect(DatabaseID(unchecked: id.bytes) == id)
    }

    @Test func `an address has 4 or 16 bytes, and a port`() {
        for count in 0...20 {
            let bytes = [UInt8](repeating: 7, count: count)
            let address = PeerAddress(bytes, port: 4_120)
            #expect((address != nil) == (count == 4 || count == 16), "\(count) bytes")
            if let address { #expect(address.bytes == bytes && address.port == 4_120) }
        }
    }

    @Test func `kinds of connections have the numbers of the format, and names`() {
        let kinds: [PeerConnectionKind] = [.other, .memory, .tcp]
        #expect(kinds.map(\.rawValue) == [0, 1, 2])
        #expect(kinds.map(\.description) == ["other", "memory", "tcp"])
    }

    @Test func `rights and identities have what they were created with`() {
        let key = PeerKey.random()
        let rights = PeerRights(read: ["a": "true"], write: ["b": "false"])
        #expect(rights.read == ["a": "true"] && rights.write == ["b": "false"])
        let plain = PeerIdentity(key: key, address: "here")
        #expect(plain.key == key && plain.address == "here")
        #expect(plain.rights == nil && plain.metadata.isEmpty)
        let full = PeerIdentity(key: key, address: "here", rights: rights, metadata: ["c": 1])
        #expect(full.rights == rights && full.metadata == ["c": 1])
    }

    // MARK: Defaults

    private final class PlainTransport: PeerTransport {
        func start(_ host: any PeerTransportHost) {}
        func stop() {}
    }

    /// A host and a connection that record in one list what they are asked for.
    private final class PlainHost: PeerTransportHost {
        let calls = Mutex<[String]>([])

        func connected(_ connection: any PeerConnection) -> (any PeerConnectionHandler)? { nil }

        func report(_ event: PeerTransportEvent) {
            guard case .refused(let address, let reason) = event else { return }
            calls.withLock { $0.append("refused \(address): \(reason)") }
        }
    }

    private final class PlainConnection: PeerConnection {
        private let host: PlainHost
        let remote = PeerIdentity(key: .random(), address: "there")

        init(_ host: PlainHost) { self.host = host }

        var queuedLength: Int { 0 }
        func send(_ bytes: [UInt8]) {}

        func close(because reason: String) {
            host.calls.withLock { $0.append("closed: \(reason)") }
        }
    }

    @Test func `a host that refuses a connection reports the reason, and closes it`() {
        let host = PlainHost()
        let connection = PlainConnection(host)
        host.refuse(connection, because: "a rule")
        #expect(host.calls.withLock { $0 } == ["refused there: a rule", "closed: a rule"])
        host.addressesChanged()
        connection.setReading(false)
        #expect(host.calls.withLock { $0 }.count == 2)
        #expect(host.metadata.isEmpty && host.busyPollMicroseconds == 0)
        #expect(connection.ownRights == nil && connection.kind == .other)
    }

    @Test func `a transport without discovery has no addresses`() {
        let transport = PlainTransport()
        transport.setDiscovery(.localNetwork)
        transport.propose([.random(): []])
        transport.stopAccepting()
        #expect(transport.addresses.isEmpty)
    }
}
