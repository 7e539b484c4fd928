/// Iteration over the scalars of UTF-8.
///
/// Documents are validated when written. Invalid bytes yield arbitrary scalars, but no access
/// outside of the text.
package enum UTF8Walk {
    /// The value before the start and after the end of a text.
    package static let none: UInt32 = .max

    /// Returns the length of the scalar at `offset`, which must be within the text.
    @inlinable @inline(__always)
    package static func length(_ text: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let lead = text[offset]
        if lead < 0xC0 { return 1 }
        return min(lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, text.count - offset)
    }

    /// Returns the scalar at `offset` with its length, or `none` with zero at the end.
    @inlinable @inline(__always)
    package static func decode(
        _ text: UnsafeRawBufferPointer, at offset: Int
    ) -> (scalar: UInt32, length: Int) {
        guard offset < text.count else { return (none, 0) }
        let lead = text[offset]
        if lead < 0x80 { return (UInt32(lead), 1) }
        let length = length(text, at: offset)
        var scalar = UInt32(lead) & (length == 2 ? 0x1F : length == 3 ? 0x0F : 0x07)
        for index in offset + 1..<offset + length {
            scalar = scalar << 6 | UInt32(text[index] & 0x3F)
        }
        return (scalar, length)
    }

    /// Returns the start of the scalar that ends at `end`, which must not be zero.
    @inlinable @inline(__always)
    package static func start(_ text: UnsafeRawBufferPointer, ofScalarBefore end: Int) -> Int {
        var offset = end - 1
        let lowest = max(end - 4, 0)
        while offset > lowest, text[offset] & 0xC0 == 0x80 { offset -= 1 }
        return offset
    }

    /// Returns the number of scalars.
    package static func count(_ text: UnsafeRawBufferPointer) -> Int {
        var count = 0
        // Without optimization, an iterator takes several times as long.
        var offset = 0
        while offset < text.count {
            if text[offset] & 0xC0 != 0x80 { count += 1 }
            offset += 1
        }
        return count
    }

    /// Returns the offset of the scalar with an index, or the end of the text.
    package static func offset(_ text: UnsafeRawBufferPointer, ofScalar index: Int) -> Int {
        var offset = 0
        var left = index
        while left > 0, offset < text.count {
            offset += length(text, at: offset)
            left -= 1
        }
        return offset
    }
}

extension String {
    /// Calls `body` with the UTF-8 bytes.
    @inlinable @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
