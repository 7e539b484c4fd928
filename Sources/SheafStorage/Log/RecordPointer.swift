/// The position of a key's newest operation, encoded as a tree value of 12 bytes and a weight.
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

    static let encodedLength = BTreeValue.plainCount
    private static let deltaBit: UInt32 = 1 << 31

    /// Decodes a tree value; nil unless it has twelve bytes before its weight, if it has one.
    @inline(__always)
    package init?(_ value: BTreeValue) {
        guard value.count == Self.encodedLength || value.count == BTreeValue.weightedCount else {
            return nil
        }
        position = LogPosition(rawValue: value.low)
        lengthAndKind = UInt32(truncatingIfNeeded: value.high)
    }

    /// Returns the encoded tree value with a weight, if there is one.
    @inline(__always)
    func value(weight: UInt64?) -> BTreeValue {
        guard let weight else { return value }
        return BTreeValue(
            low: position.rawValue, high: UInt64(lengthAndKind), weight: weight)
    }

    /// The encoded tree value without a weight.
    @inline(__always)
    var value: BTreeValue {
        BTreeValue(
            low: position.rawValue, high: UInt64(lengthAndKind), count: Self.encodedLength)
    }
}
