import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// What is said of peers within a session, and what cannot come.
struct PresenceSessionTests {
    private static func hello(_ number: UInt8) -> Hello {
        let database = Hello.DatabaseID(low: 1, high: 2)
        return Hello(
            database: database, peerKey: Array(repeating: number, count: 32),
            site: Site(rawValue: UInt64(number)), log: database, nonce: 1, wallMilliseconds: 1,
            isServer: false, name: ""
        )
    }

    private static let message = PresenceMessage([
        PeerRecord(
            key: Array(repeating: 2, count: 32),
            version: PeerRecord.Version(opening: 1, salt: 2, count: 3),
            PeerRecord.Portrait(name: "two"), neighbors: [])
    ])

    private var session = SyncSession(hello(1), at: 0)
    private var other = FrameWriter()

    init() {
        _ = session.takeEffects()
        _ = said(.hello, Self.hello(2).bytes)
    }

    /// What a session does when the other side says something.
    private mutating func said(_ type: FrameType, _ body: [UInt8]) -> [SyncSession.Effect] {
        let bytes = other.bytes(of: Frame(type, body))
        bytes.withUnsafeBytes { session.receive($0, at: 1) }
        return session.takeEffects()
    }

    @Test mutating func `a message is told, and the next one when it was taken`() {
        let first = said(.presence, Self.message.bytes)
        #expect(first == [.presence(Self.message)])
        session.takePresence()
        // That is said once.
        session.takePresence()
        #expect(session.takeEffects().count == 1)
        let second = said(.presence, Self.message.bytes)
        #expect(second == [.presence(Self.message)])
        session.tellPresence(Self.message)
        #expect(session.takeEffects().count == 1)
        let taken = said(.presenceTaken, [])
        #expect(taken == [.presenceTaken])
        session.tellPresence(Self.message)
        #expect(session.isOpen)
    }

    @Test mutating func `a second message before the first was taken ends the connection`() {
        _ = said(.presence, Self.message.bytes)
        let effects = said(.presence, Self.message.bytes)
        #expect(!session.isOpen && effects.count == 2)
    }

    @Test(arguments: [[], [0]] as [[UInt8]])
    mutating func `what was not told cannot be taken, nor with more words`(body: [UInt8]) {
        if !body.isEmpty { session.tellPresence(Self.message) }
        _ = said(.presenceTaken, body)
        #expect(!session.isOpen)
    }

    @Test mutating func `a message that is too long ends the connection`() {
        let longest = Array("{\"a\":\"\(String(repeating: "a", count: 4_080))\"}".utf8)
        let records = (0..<16).map { number in
            PeerRecord(
                key: Array(repeating: UInt8(number), count: 32),
                version: PeerRecord.Version(opening: 1, salt: 2, count: 3),
                PeerRecord.Portrait(metadata: longest), neighbors: [])
        }
        let effects = said(.presence, PresenceMessage(Array(records.prefix(15))).bytes)
        #expect(effects.count == 1)
        session.takePresence()
        _ = said(.presence, PresenceMessage(records).bytes)
        #expect(!session.isOpen)
    }
}
