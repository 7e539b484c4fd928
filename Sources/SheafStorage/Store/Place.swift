/// Where the newest operation of a key is, as a tree holds it: 12 bytes.
///
///     0          8        11     12
///     | position | length | bit 31: the operation extends others |
package struct Place: Equatable, Sendable {
    package let position: LogPosition
    /// As a tree holds it: scans keep many places.
    private let lengthAndKind: UInt32

    /// The length of the operation in the log.
    @inline(__always)
    package var length: Int { Int(lengthAndKind & (Self.extensionBit - 1)) }

    /// Whether the operation extends the one before it, so that the key stands on both.
    @inline(__always)
    package var isExtension: Bool { lengthAndKind & Self.extensionBit != 0 }

    package init(position: LogPosition, length: Int, isExtension: Bool = false) {
        precondition(length >= 0 && length < Int(Self.extensionBit), "A length has 31 bits.")
        self.position = position
        lengthAndKind = UInt32(length) | (isExtension ? Self.extensionBit : 0)
    }

    static let encodedLength = 12
    private static let extensionBit: UInt32 = 1 << 31

    /// Reads what a tree holds; nothing when it is not twelve bytes long.
    @inline(__always)
    package init?(_ value: BTreeValue) {
        guard value.count == Self.encodedLength else { return nil }
        position = LogPosition(rawValue: value.low)
        lengthAndKind = UInt32(truncatingIfNeeded: value.high)
    }

    /// The place as a tree holds it.
    @inline(__always)
    var value: BTreeValue {
        BTreeValue(
            low: position.rawValue, high: UInt64(lengthAndKind), count: Self.encodedLength)
    }
}
