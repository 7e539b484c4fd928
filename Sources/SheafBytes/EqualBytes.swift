extension UnsafeRawBufferPointer {
    /// Whether two regions have the same bytes, which takes less time than `elementsEqual`.
    @inline(__always)
    package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let left = baseAddress, let right = other.baseAddress else { return true }
        return equalBytes(left, right, count)
    }
}

/// Whether two regions of `count` bytes are equal.
@inline(__always)
package func equalBytes(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int
) -> Bool {
    var index = 0
    while index &+ 8 <= count {
        guard
            left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                == right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        else { return false }
        index &+= 8
    }
    while index < count {
        guard
            left.load(fromByteOffset: index, as: UInt8.self)
                == right.load(fromByteOffset: index, as: UInt8.self)
        else { return false }
        index &+= 1
    }
    return true
}
