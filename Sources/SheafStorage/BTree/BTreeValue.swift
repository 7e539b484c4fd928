/// A value of the tree: 0 to 16 bytes, or 12 bytes and a weight, stored in words.
package struct BTreeValue: Equatable, Sendable {
    /// The maximum length of a value without a weight, in bytes.
    package static let maximumCount = 16
    /// The length of a value with a weight, in bytes; the weight is the last eight of them.
    package static let weightedCount = 20
    /// The number of bytes before a weight.
    package static let plainCount = 12

    /// The bytes 0 to 7 as a little-endian number, padded with zeros.
    package let low: UInt64
    /// The bytes 8 to 15 as a little-endian number, padded with zeros.
    package let high: UInt64
    /// The weight; zero if there is none.
    let weightOrZero: UInt64
    private let length: UInt8

    /// The number of bytes.
    package var count: Int { Int(length) }

    /// A number that the pages above the entry add up; nil if the value has none.
    package var weight: UInt64? { count == Self.weightedCount ? weightOrZero : nil }

    /// Whether a value can have this number of bytes.
    @inline(__always)
    static func isValid(count: Int) -> Bool { count <= maximumCount || count == weightedCount }

    /// The value without bytes.
    package static let empty = BTreeValue(low: 0, high: 0, count: 0)

    /// Creates a value of eight bytes whose `low` is `number`.
    package init(_ number: UInt64) {
        self.init(low: number, high: 0, count: 8)
    }

    /// Creates a value from the first `count` bytes of `low` and `high`.
    package init(low: UInt64, high: UInt64, count: Int) {
        precondition(0...Self.maximumCount ~= count, "A value has 0 to 16 bytes.")
        let missing = UInt64(truncatingIfNeeded: 8 * (Self.maximumCount - count))
        // Swift's smart shifts return zero for 64 and more.
        self.low = low & (UInt64.max >> (missing > 64 ? missing - 64 : 0))
        self.high = high & (UInt64.max >> missing)
        weightOrZero = 0
        length = UInt8(truncatingIfNeeded: count)
    }

    /// Creates a value with a weight from the first twelve bytes of `low` and `high`.
    package init(low: UInt64, high: UInt64, weight: UInt64) {
        self.low = low
        self.high = high & UInt64(UInt32.max)
        weightOrZero = weight
        length = UInt8(truncatingIfNeeded: Self.weightedCount)
    }

    /// Creates a value from `bytes`, of which there are at most sixteen.
    package init(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= Self.maximumCount, "A value has 0 to 16 bytes.")
        var low: UInt64 = 0
        var high: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            if index < 8 {
                low |= UInt64(byte) << UInt64(8 * index)
            } else {
                high |= UInt64(byte) << UInt64(8 * (index - 8))
            }
        }
        self.low = low
        self.high = high
        weightOrZero = 0
        length = UInt8(truncatingIfNeeded: bytes.count)
    }

    /// Creates a value from `bytes`, of which there are at most sixteen.
    package init(_ bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { BTreeValue($0) }
    }

    /// The byte at `index`, counted from zero.
    package subscript(index: Int) -> UInt8 {
        precondition(0..<count ~= index, "The value does not have that many bytes.")
        if index >= Self.plainCount, let weight {
            return UInt8(truncatingIfNeeded: weight >> UInt64(8 * (index - Self.plainCount)))
        }
        let word = index < 8 ? low : high
        return UInt8(truncatingIfNeeded: word >> UInt64(8 * (index & 7)))
    }

    /// The bytes as an array.
    package var bytes: [UInt8] {
        (0..<count).map { self[$0] }
    }
}

extension BTreeValue {
    /// Reads the `count` bytes that end at `end`; the eight bytes before `end` must be readable.
    ///
    /// Counting from the end keeps every read on the page, because the page header precedes the
    /// records.
    @inline(__always)
    init(endingAt end: UnsafeRawPointer, count: Int) {
        let last = UInt64(littleEndian: (end - 8).loadUnaligned(as: UInt64.self))
        if count > Self.maximumCount {
            low = UInt64(littleEndian: (end - count).loadUnaligned(as: UInt64.self))
            high = UInt64(UInt32(littleEndian: (end - 12).loadUnaligned(as: UInt32.self)))
            weightOrZero = last
        } else if count > 8 {
            low = UInt64(littleEndian: (end - count).loadUnaligned(as: UInt64.self))
            high = last >> UInt64(truncatingIfNeeded: 8 * (16 &- count))
            weightOrZero = 0
        } else {
            low = last >> UInt64(truncatingIfNeeded: 8 * (8 &- count))
            high = 0
            weightOrZero = 0
        }
        length = UInt8(truncatingIfNeeded: count)
    }

    /// Writes the bytes to `target`, and nothing after them.
    @inline(__always)
    func store(to target: UnsafeMutableRawPointer) {
        let count = count
        if count > Self.maximumCount {
            target.storeBytes(of: low.littleEndian, as: UInt64.self)
            target.storeBytes(
                of: UInt32(truncatingIfNeeded: high).littleEndian, toByteOffset: 8,
                as: UInt32.self)
            target.storeBytes(
                of: weightOrZero.littleEndian, toByteOffset: Self.plainCount, as: UInt64.self)
            return
        }
        if count >= 8 {
            target.storeBytes(of: low.littleEndian, as: UInt64.self)
            if count == 8 { return }
            let spare = UInt64(truncatingIfNeeded: 8 * (16 &- count))
            let last = (high << spare) | (low >> (64 &- spare))
            (target + (count - 8)).storeBytes(of: last.littleEndian, as: UInt64.self)
            return
        }
        for index in 0..<count {
            target.storeBytes(
                of: UInt8(truncatingIfNeeded: low >> UInt64(truncatingIfNeeded: 8 &* index)),
                toByteOffset: index, as: UInt8.self)
        }
    }
}
