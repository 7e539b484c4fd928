#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What is wrong with bytes of the log, and at which offset; the caller adds the file.
package struct FormatError: Error, Equatable, Sendable {
    package let offset: Int
    package let reason: String
    /// Whether the bytes may be right and only newer than this program.
    package let isUnsupported: Bool

    package init(at offset: Int, _ reason: String, isUnsupported: Bool = false) {
        self.offset = offset
        self.reason = reason
        self.isUnsupported = isUnsupported
    }

    /// The same, counted from the start of a file in which the bytes begin at `base`.
    func shifted(by base: Int) -> FormatError {
        FormatError(at: offset + base, reason, isUnsupported: isUnsupported)
    }
}

extension UnsafeRawBufferPointer {
    /// The little-endian integer at `offset`, which the caller knows to be inside.
    @inline(__always)
    func loadInteger<Integer: FixedWidthInteger>(_ offset: Int) -> Integer {
        Integer(littleEndian: loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    /// The bytes of `range`, counted from zero again.
    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Stores an integer at `offset`, the least significant byte first.
    @inline(__always)
    func store<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
    }
}

extension UnsafeMutableRawBufferPointer.SubSequence {
    /// Sets every byte.
    func update(repeating byte: UInt8) {
        UnsafeMutableRawBufferPointer(rebasing: self).initializeMemory(
            as: UInt8.self, repeating: byte)
    }
}

extension UnsafeRawBufferPointer {
    /// Less than zero, zero or more than zero, as these bytes come before, are, or follow others.
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
