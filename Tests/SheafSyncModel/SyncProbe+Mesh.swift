import SheafBytes
import SheafSync

extension SyncProbe {
    /// How many events a map is told of: two bytes make one, and thousands show no more than these.
    private static let mostEvents = 32

    /// Tells a map of the mesh what the bytes say: openings and ends of connections, time, and records.
    ///
    /// Whatever it is told, it keeps no more than it may, and says nothing that could not be read.
    package static func readPresence(_ input: UnsafeRawBufferPointer) -> String? {
        refusing { try readMesh(input) }
    }

    private static func readMesh(_ bytes: UnsafeRawBufferPointer) throws -> String? {
        var map = MeshMap(key(0), PeerRecord.Portrait(), opening: 1, salt: 1)
        var reader = ByteReader(bytes)
        var now: UInt64 = 0
        for _ in 0..<mostEvents where reader.remaining >= 2 {
            let (what, number) = (try reader.readUInt8(), try reader.readUInt8())
            let link = UInt64(number % 4)
            switch what % 8 {
            case 0: map.opened(link, to: key(1 + number % 4), kind: number, at: now)
            case 1: map.closed(link, at: now)
            case 2: map.taken(on: link)
            case 3:
                now += UInt64(number) * 1_000_000_000
                map.tick(at: now)
            case 4: map.present(PeerRecord.Portrait(name: "\(number)"), at: now)
            default:
                let body = try reader.readLengthPrefixed(limit: 1 << 16)
                map.heard(try PresenceMessage(decoding: body), on: link, at: now)
            }
            for action in map.takeActions(at: now) {
                guard case .tell(_, let message) = action else { continue }
                let again = try message.bytes.withUnsafeBytes {
                    try PresenceMessage(decoding: $0)
                }
                if again != message { return "a message about peers is written as another" }
            }
            if let wrong = map.violation { return wrong }
        }
        return nil
    }

    private static func key(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }
}
