package import SheafBytes

/// The id of a database; only peers whose ids are equal replicate with each other.
///
/// It is derived from a name, and all peers, transports and grants of a database use the same one:
///
///     let database: DatabaseID = "point-of-sale"
///
/// A name is not a secret, even if it is hard to guess.
public struct DatabaseID: Hashable, Sendable {
    /// The 16 bytes of the id.
    public let bytes: [UInt8]

    /// Number of bytes of an id.
    public static let length = 16

    /// Creates the id of the database with this name, a hash of its UTF-8 bytes.
    public init(_ name: String) {
        let hash = Array(name.utf8).span.withUnsafeBytes { XXH3.hash128($0) }
        bytes =
            (0..<8).map { UInt8(truncatingIfNeeded: hash.low >> UInt64(8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: hash.high >> UInt64(8 * $0)) }
    }

    /// Creates an id from its bytes; returns nil unless there are 16.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The id as a number, whose little-endian bytes are `bytes`.
    package var hash: XXH3.Hash128 {
        XXH3.Hash128(low: number(at: 0), high: number(at: 8))
    }

    private func number(at offset: Int) -> UInt64 {
        bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension DatabaseID: ExpressibleByStringLiteral {
    /// Creates the id of the database with this name.
    public init(stringLiteral name: String) {
        self.init(name)
    }
}

extension DatabaseID: CustomStringConvertible {
    /// The id as 32 hexadecimal digits.
    public var description: String { bytes.hexadecimal }
}
