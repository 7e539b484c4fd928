import SheafBytes
import SheafSync

extension SyncProbe {
    /// The maximum number of events; longer inputs find no more errors.
    private static let mostEvents = 32

    /// Feeds a link-state database with the events encoded in the input.
    ///
    /// An event opens or closes a connection, acknowledges a message, advances the clock, or
    /// changes or delivers records. The database must keep its limits, and send only messages that
    /// can be decoded.
    package static func readPresence(_ input: UnsafeRawBufferPointer) -> String? {
        refusing { try readMesh(input) }
    }

    private static func readMesh(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var database = LinkStateDatabase(key(0), PeerRecord.Description(), opening: 1, salt: 1)
        var reader = ByteReader(bytes)
        var now: UInt64 = 0
        for _ in 0..<mostEvents where reader.remaining >= 2 {
            let (what, number) = (try reader.readUInt8(), try reader.readUInt8())
            let connection = UInt64(number % 4)
            switch what % 8 {
            case 0: database.opened(connection, to: key(1 + number % 4), kind: number, at: now)
            case 1: database.closed(connection, at: now)
            case 2: database.acknowledged(on: connection)
            case 3:
                now += UInt64(number) * 1_000_000_000
                database.tick(at: now)
            case 4: database.present(PeerRecord.Description(name: "\(number)"), at: now)
            default:
                let body = try reader.readLengthPrefixed(limit: 1 << 16)
                database.receive(try PresenceMessage(decoding: body), on: connection, at: now)
            }
            for action in database.drainActions(at: now) {
                guard case .send(_, let message) = action else { continue }
                let again = try message.bytes.withUnsafeBytes {
                    try PresenceMessage(decoding: $0)
                }
                if again != message { return "a presence message changes when re-encoded" }
            }
            if let wrong = database.violation { return wrong }
        }
        return nil
    }

    private static func key(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }
}
