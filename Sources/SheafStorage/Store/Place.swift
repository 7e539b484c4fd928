/// Where the newest operation of a key is, as a tree holds it: 12 bytes.
///
///     0          8        11     12
///     | position | length | bit 31: the operation extends others |
package struct Place: Equatable, Sendable {
    package let position: LogPosition
    /// The length of the operation in the log.
    package let length: Int
    /// Whether the operation extends the one before it, so that the key stands on both.
    package let isExtension: Bool

    package init(position: LogPosition, length: Int, isExtension: Bool = false) {
        self.position = position
        self.length = length
        self.isExtension = isExtension
    }

    static let encodedLength = 12
    private static let extensionBit: UInt64 = 1 << 31

    /// Reads what a tree holds; nothing when it is not twelve bytes long.
    @inline(__always)
    package init?(_ value: BTreeValue) {
        guard value.count == Self.encodedLength else { return nil }
        position = LogPosition(rawValue: value.low)
        length = Int(truncatingIfNeeded: value.high & (Self.extensionBit - 1))
        isExtension = value.high & Self.extensionBit != 0
    }

    /// The place as a tree holds it.
    @inline(__always)
    var value: BTreeValue {
        BTreeValue(
            low: position.rawValue, high: UInt64(length) | (isExtension ? Self.extensionBit : 0),
            count: Self.encodedLength)
    }
}
