/// A builder of a byte array; integers are little-endian.
package struct ByteWriter: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8]

    /// Creates an empty writer with room for `capacity` bytes.
    package init(capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Number of bytes written.
    package var count: Int { bytes.count }

    /// Writes one byte.
    package mutating func write(_ value: UInt8) {
        bytes.append(value)
    }

    /// Writes two bytes.
    package mutating func write(_ value: UInt16) {
        writeInteger(value)
    }

    /// Writes four bytes.
    package mutating func write(_ value: UInt32) {
        writeInteger(value)
    }

    /// Writes eight bytes.
    package mutating func write(_ value: UInt64) {
        writeInteger(value)
    }

    /// Writes bytes as they are.
    package mutating func write(_ buffer: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: buffer)
    }

    /// Writes bytes as they are.
    package mutating func write(_ array: [UInt8]) {
        bytes.append(contentsOf: array)
    }

    /// Writes `count` zero bytes.
    package mutating func writeZeros(_ count: Int) {
        bytes.append(contentsOf: repeatElement(0, count: count))
    }

    /// Writes a variable-length integer in its shortest form: seven bits per byte, lowest first.
    package mutating func writeVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Writes a varint length, then the bytes.
    package mutating func writeLengthPrefixed(_ buffer: UnsafeRawBufferPointer) {
        writeVarint(UInt64(buffer.count))
        write(buffer)
    }

    /// Writes a hash of 128 bits, the lower half first.
    package mutating func write(_ hash: XXH3.Hash128) {
        write(hash.low)
        write(hash.high)
    }

    /// Writes zeros until the count is a multiple of `alignment`.
    package mutating func align(to alignment: Int) {
        let excess = bytes.count % alignment
        if excess != 0 { writeZeros(alignment - excess) }
    }

    /// Overwrites eight bytes written earlier.
    package mutating func patch(_ value: UInt64, at offset: Int) {
        patchInteger(value, at: offset)
    }

    /// Overwrites four bytes written earlier.
    package mutating func patch(_ value: UInt32, at offset: Int) {
        patchInteger(value, at: offset)
    }

    /// Removes all bytes and keeps the allocated memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func writeInteger<Integer: FixedWidthInteger>(_ value: Integer) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func patchInteger<Integer: FixedWidthInteger>(
        _ value: Integer, at offset: Int
    ) {
        precondition(
            offset >= 0 && offset + MemoryLayout<Integer>.size <= bytes.count,
            "A patch lies within the bytes written.")
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
        }
    }
}
