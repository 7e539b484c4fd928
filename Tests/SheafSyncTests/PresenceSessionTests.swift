import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Presence messages within a session, and violations of their order.
struct PresenceSessionTests {
    private static let message = PresenceMessage([
        PeerRecord(
            key: Array(repeating: 2, count: 32),
            version: PeerRecord.Version(opening: 1, salt: 2, count: 3),
            PeerRecord.Description(name: "two"), neighbors: [])
    ])

    private var peer = OpenSession()

    @Test mutating func `a presence message is sent after the previous one is acknowledged`() {
        let first = peer.receive(.presence, Self.message.bytes)
        #expect(first == [.presence(Self.message)])
        peer.session.takePresence()
        // Only the first call sends an acknowledgment.
        peer.session.takePresence()
        #expect(peer.session.drainEffects().count == 1)
        let second = peer.receive(.presence, Self.message.bytes)
        #expect(second == [.presence(Self.message)])
        peer.session.sendPresence(Self.message)
        #expect(peer.session.drainEffects().count == 1)
        let taken = peer.receive(.presenceAcknowledged, [])
        #expect(taken == [.presenceAcknowledged])
        peer.session.sendPresence(Self.message)
        #expect(peer.session.isOpen)
    }

    @Test mutating func `a second message before the acknowledgment ends the connection`() {
        _ = peer.receive(.presence, Self.message.bytes)
        let effects = peer.receive(.presence, Self.message.bytes)
        #expect(!peer.session.isOpen && effects.count == 2)
    }

    @Test(arguments: [[], [0]] as [[UInt8]])
    mutating func `an unexpected or malformed acknowledgment ends the connection`(body: [UInt8]) {
        if !body.isEmpty { peer.session.sendPresence(Self.message) }
        _ = peer.receive(.presenceAcknowledged, body)
        #expect(!peer.session.isOpen)
    }

    @Test mutating func `a presence message that is too long ends the connection`() {
        let longest = Array("{\"a\":\"\(String(repeating: "a", count: 4_080))\"}".utf8)
        let records = (0..<16).map { number in
            PeerRecord(
                key: Array(repeating: UInt8(number), count: 32),
                version: PeerRecord.Version(opening: 1, salt: 2, count: 3),
                PeerRecord.Description(metadata: longest), neighbors: [])
        }
        let effects = peer.receive(.presence, PresenceMessage(Array(records.prefix(15))).bytes)
        #expect(effects.count == 1)
        peer.session.takePresence()
        _ = peer.receive(.presence, PresenceMessage(records).bytes)
        #expect(!peer.session.isOpen)
    }
}
