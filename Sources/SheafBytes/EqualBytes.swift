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
    guard count >= 8 else {
        // Two loads that overlap cover 4 to 7 bytes.
        guard count >= 4 else { return equalFewBytes(left, right, count) }
        return areEqual4(left, right, at: 0) && areEqual4(left, right, at: count &- 4)
    }
    var index = 0
    while index &+ 8 <= count {
        guard areEqual8(left, right, at: index) else { return false }
        index &+= 8
    }
    return areEqual8(left, right, at: count &- 8)
}

@inline(__always)
private func equalFewBytes(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int
) -> Bool {
    var index = 0
    while index < count {
        guard
            left.load(fromByteOffset: index, as: UInt8.self)
                == right.load(fromByteOffset: index, as: UInt8.self)
        else { return false }
        index &+= 1
    }
    return true
}

// Debug builds do not specialize a generic function, which would take several times as long.

@inline(__always)
private func areEqual4(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, at offset: Int
) -> Bool {
    left.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        == right.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
}

@inline(__always)
private func areEqual8(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, at offset: Int
) -> Bool {
    left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
}
