/// The position of a key's newest operation, encoded as a tree value of 12 bytes.
///
///     0          8        11     12
///     | position | length | bit 31: the operation is a delta |
package struct RecordPointer: Equatable, Sendable {
    package let position: LogPosition
    /// The length and the delta bit, combined to keep batches of pointers compact.
    private let lengthAndKind: UInt32

    /// The length of the operation in the log.
    @inline(__always)
    package var length: Int { Int(lengthAndKind & (Self.deltaBit - 1)) }

    /// Whether the operation is a delta, which is based on the previous operation.
    @inline(__always)
    package var isDelta: Bool { lengthAndKind & Self.deltaBit != 0 }

    package init(position: LogPosition, length: Int, isDelta: Bool = false) {
        precondition(length >= 0 && length < Int(Self.deltaBit), "A length has 31 bits.")
        self.position = position
        lengthAndKind = UInt32(length) | (isDelta ? Self.deltaBit : 0)
    }

    static let encodedLength = 12
    private static let deltaBit: UInt32 = 1 << 31

    /// Decodes a tree value; nil unless it has twelve bytes.
    @inline(__always)
    package init?(_ value: BTreeValue) {
        guard value.count == Self.encodedLength else { return nil }
        position = LogPosition(rawValue: value.low)
        lengthAndKind = UInt32(truncatingIfNeeded: value.high)
    }

    /// The encoded tree value.
    @inline(__always)
    var value: BTreeValue {
        BTreeValue(
            low: position.rawValue, high: UInt64(lengthAndKind), count: Self.encodedLength)
    }
}
