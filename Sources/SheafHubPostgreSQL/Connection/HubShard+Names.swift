import SheafBytes
import SheafHubLog

extension HubShard {
    /// The log and the number of the shard, in notifications.
    var notification: String { "\(log.digits)/\(number)" }
}

/// The id of a log, or of a database.
extension XXH3.Hash128 {
    /// The id as 32 hexadecimal digits.
    var digits: String {
        littleEndianBytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The 16 bytes of the id, as in messages.
    var littleEndianBytes: [UInt8] {
        [low, high].flatMap { half in withUnsafeBytes(of: half.littleEndian) { Array($0) } }
    }
}
