/// The public key that identifies a peer.
public struct PeerKey: Hashable, Sendable {
    /// The 32 bytes of the key.
    public let bytes: [UInt8]

    /// Number of bytes of a key.
    public static let length = 32

    /// Creates a key; returns nil unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Parses the format of `description`: `pk:` and 64 lowercase hexadecimal digits.
    public init?(_ text: String) {
        guard text.hasPrefix("pk:"), let bytes = [UInt8](hexadecimal: text.dropFirst(3)),
            bytes.count == Self.length
        else { return nil }
        self.bytes = bytes
    }

    /// Returns a random key, for peers whose transports do not authenticate keys.
    public static func random() -> PeerKey {
        var bytes: [UInt8] = []
        for _ in 0..<length { bytes.append(UInt8.random(in: 0 ... .max)) }
        return PeerKey(unchecked: bytes)
    }

    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension PeerKey: CustomStringConvertible {
    /// The key as text: `pk:` and 64 lowercase hexadecimal digits.
    public var description: String {
        "pk:" + bytes.hexadecimal
    }
}

extension [UInt8] {
    /// Creates the bytes of lowercase hexadecimal digits; nil if the text has other characters.
    package init?(hexadecimal text: Substring) {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        let digits = text.utf8.compactMap(value)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The bytes as hexadecimal, with two lowercase digits per byte.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in self { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
