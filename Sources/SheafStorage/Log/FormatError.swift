#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A defect of bytes in a store file and its offset; the caller adds the file name.
package struct FormatError: Error, Equatable, Sendable {
    package let offset: Int
    package let reason: String
    /// Whether the bytes may be intact but written by a newer version of the program.
    package let isUnsupported: Bool

    package init(at offset: Int, _ reason: String, isUnsupported: Bool = false) {
        self.offset = offset
        self.reason = reason
        self.isUnsupported = isUnsupported
    }

    /// Returns the error with its offset moved by `base`, the file offset at which the bytes begin.
    func shifted(by base: Int) -> FormatError {
        FormatError(at: offset + base, reason, isUnsupported: isUnsupported)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the little-endian integer at `offset`, which the caller has checked to be in bounds.
    ///
    /// Not generic, because debug builds do not specialize generic functions.
    @inline(__always)
    func loadInteger(_ offset: Int) -> UInt16 {
        UInt16(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// Returns the little-endian integer at `offset`, which the caller has checked to be in bounds.
    @inline(__always)
    func loadInteger(_ offset: Int) -> UInt32 {
        UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Returns the little-endian integer at `offset`, which the caller has checked to be in bounds.
    @inline(__always)
    func loadInteger(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Returns the bytes of `range` as a buffer whose indices start at zero.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Stores an integer at `offset` in little-endian order.
    @inline(__always)
    func store<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
    }
}

extension UnsafeMutableRawBufferPointer.SubSequence {
    /// Sets every byte to `byte`.
    func update(repeating byte: UInt8) {
        UnsafeMutableRawBufferPointer(rebasing: self).initializeMemory(
            as: UInt8.self, repeating: byte)
    }
}

extension UnsafeRawBufferPointer {
    /// Compares bytes lexicographically: negative, zero or positive, as in `memcmp`.
    @inline(__always)
    func compare(_ other: UnsafeRawBufferPointer) -> Int {
        let common = Swift.min(count, other.count)
        guard let left = baseAddress, let right = other.baseAddress, common > 0 else {
            return count - other.count
        }
        let order = memcmp(left, right, common)
        return order == 0 ? count - other.count : Int(order)
    }
}
