/// A decoder of values in untrusted bytes; every read is bounds-checked.
///
/// The bytes are borrowed and must outlive the reader.
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    /// Position of the next read.
    package private(set) var offset: Int

    /// Creates a reader at `offset`, clamped to the bounds of `bytes`.
    package init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
        self.bytes = bytes
        self.offset = min(max(offset, 0), bytes.count)
    }

    /// Number of unread bytes.
    package var remaining: Int { bytes.count - offset }

    /// Reads one byte.
    package mutating func readUInt8() throws(Malformed) -> UInt8 {
        try readInteger()
    }

    /// Reads two bytes, little-endian.
    package mutating func readUInt16() throws(Malformed) -> UInt16 {
        try readInteger()
    }

    /// Reads four bytes, little-endian.
    package mutating func readUInt32() throws(Malformed) -> UInt32 {
        try readInteger()
    }

    /// Reads eight bytes, little-endian.
    package mutating func readUInt64() throws(Malformed) -> UInt64 {
        try readInteger()
    }

    /// Reads the next `count` bytes without copying them.
    package mutating func readBytes(_ count: Int) throws(Malformed) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw .truncated(at: offset) }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    /// Reads a varint length of at most `limit`, then that many bytes, without copying them.
    package mutating func readLengthPrefixed(
        limit: Int
    ) throws(Malformed) -> UnsafeRawBufferPointer {
        let start = offset
        let length = try readVarint()
        guard length <= UInt64(limit) else {
            throw .tooLong(at: start, length: length, limit: UInt64(limit))
        }
        return try readBytes(Int(length))
    }

    /// Reads a variable-length integer in its shortest form.
    package mutating func readVarint() throws(Malformed) -> UInt64 {
        let start = offset
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            guard offset < bytes.count else { throw .truncated(at: start) }
            let byte = bytes[offset]
            offset += 1
            // The tenth byte holds only the highest bit.
            guard shift < 63 || byte <= 1 else { throw .varint(at: start) }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                guard byte != 0 || shift == 0 else { throw .varint(at: start) }
                return value
            }
            shift += 7
            guard shift <= 63 else { throw .varint(at: start) }
        }
    }

    /// Reads a hash of 128 bits, the lower half first.
    package mutating func readHash128() throws(Malformed) -> XXH3.Hash128 {
        XXH3.Hash128(low: try readUInt64(), high: try readUInt64())
    }

    /// Reads a count of items that take at least `size` bytes each.
    package mutating func readCount(
        of items: String, limit: Int, size: Int
    ) throws(Malformed) -> Int {
        let start = offset
        let count = try readVarint()
        guard count <= UInt64(limit) else {
            throw .invalid("\(count) \(items), more than the \(limit) allowed,", at: start)
        }
        guard Int(count) * size <= remaining else { throw .truncated(at: start) }
        return Int(count)
    }

    /// Throws if bytes remain after the last field.
    package func checkEnd() throws(Malformed) {
        guard remaining == 0 else { throw .invalid("bytes after the last field", at: offset) }
    }

    private mutating func readInteger<Integer: FixedWidthInteger>() throws(Malformed) -> Integer {
        let size = MemoryLayout<Integer>.size
        guard size <= remaining else { throw .truncated(at: offset) }
        defer { offset += size }
        return Integer(
            littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }
}
