package import SheafBytes
package import SheafHubLog

extension HubShard {
    /// The log and the number of the shard, in notifications.
    package var notification: String { "\(log.digits)/\(number)" }
}

/// The id of a log, or of a database.
extension XXH3.Hash128 {
    /// The id as 32 hexadecimal digits.
    package var digits: String {
        littleEndianBytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Creates the id that has these bytes; nil unless they are 16.
    package init?(littleEndianBytes bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.init(low: half(bytes[..<8]), high: half(bytes[8...]))
    }

    /// The 16 bytes of the id, as in messages.
    package var littleEndianBytes: [UInt8] {
        [low, high].flatMap { half in withUnsafeBytes(of: half.littleEndian) { Array($0) } }
    }
}
