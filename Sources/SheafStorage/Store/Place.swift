/// Where the newest operation of a key is, as a tree holds it: 12 bytes.
package struct Place: Equatable, Sendable {
    package let position: LogPosition
    /// The length of the operation in the log.
    package let length: Int

    package init(position: LogPosition, length: Int) {
        self.position = position
        self.length = length
    }

    static let encodedLength = 12

    /// Reads what a tree holds; nothing when it is not twelve bytes long.
    @inline(__always)
    init?(_ value: BTreeValue) {
        guard value.count == Self.encodedLength else { return nil }
        position = LogPosition(rawValue: value.low)
        length = Int(UInt32(truncatingIfNeeded: value.high))
    }

    /// The place as a tree holds it.
    @inline(__always)
    var value: BTreeValue {
        BTreeValue(low: position.rawValue, high: UInt64(length), count: Self.encodedLength)
    }
}
