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
        return areEqual(UInt32.self, left, right, at: 0)
            && areEqual(UInt32.self, left, right, at: count &- 4)
    }
    var index = 0
    while index &+ 8 <= count {
        guard areEqual(UInt64.self, left, right, at: index) else { return false }
        index &+= 8
    }
    return areEqual(UInt64.self, left, right, at: count &- 8)
}

@inline(__always)
private func equalFewBytes(
    _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int
) -> Bool {
    var index = 0
    while index < count {
        guard areEqual(UInt8.self, left, right, at: index) else { return false }
        index &+= 1
    }
    return true
}

@inline(__always)
private func areEqual<Integer: FixedWidthInteger & BitwiseCopyable>(
    _ type: Integer.Type, _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, at offset: Int
) -> Bool {
    left.loadUnaligned(fromByteOffset: offset, as: type)
        == right.loadUnaligned(fromByteOffset: offset, as: type)
}
