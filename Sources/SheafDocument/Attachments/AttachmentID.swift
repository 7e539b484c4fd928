import SheafBytes

/// The id of an attachment: a cryptographic hash of its bytes and their number.
///
/// Bytes from any source can be checked against it (`format-spec/attachments.md`).
public struct AttachmentID: Hashable, Sendable {
    /// The 32 bytes of the id.
    public let bytes: [UInt8]

    package static let length = SHA256.length

    /// Creates an id from 32 bytes; nil for any other number of bytes.
    public init?(bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        guard self.bytes.count == Self.length else { return nil }
    }

    /// Parses 64 hexadecimal digits, `0` to `9` and `a` to `f`; nil for anything else.
    public init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 2 * Self.length else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.length)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(ofDigit: digits[index]),
                let low = Self.value(ofDigit: digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}

extension AttachmentID: CustomStringConvertible {
    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x61 + value - 10
    }

    /// The id as 64 hexadecimal digits.
    public var description: String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            for index in bytes.indices {
                text[2 * index] = Self.digit(bytes[index] >> 4)
                text[2 * index + 1] = Self.digit(bytes[index] & 15)
            }
            return 2 * bytes.count
        }
    }
}
