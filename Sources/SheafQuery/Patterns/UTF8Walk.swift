/// Steps through UTF-8, scalar by scalar.
///
/// Texts of documents were validated when they were written. Bytes that are no text still give some
/// number, and steps that end with the text.
enum UTF8Walk {
    /// No scalar: what stands before a text, and behind it.
    static let none: UInt32 = .max

    /// How many bytes the scalar at `offset` has, which is within the text.
    @inline(__always)
    static func length(_ text: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let lead = text[offset]
        if lead < 0xC0 { return 1 }
        return min(lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, text.count - offset)
    }

    /// The scalar at `offset` and how many bytes it has; none of zero bytes at the end.
    @inline(__always)
    static func decode(
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

    /// Where the scalar that ends at `end` begins; `end` is not the start of the text.
    @inline(__always)
    static func start(_ text: UnsafeRawBufferPointer, ofScalarBefore end: Int) -> Int {
        var offset = end - 1
        let lowest = max(end - 4, 0)
        while offset > lowest, text[offset] & 0xC0 == 0x80 { offset -= 1 }
        return offset
    }

    /// How many scalars there are.
    static func count(_ text: UnsafeRawBufferPointer) -> Int {
        var count = 0
        for byte in text where byte & 0xC0 != 0x80 { count += 1 }
        return count
    }

    /// Where the scalar with this index begins; the end where there are not so many.
    static func offset(_ text: UnsafeRawBufferPointer, ofScalar index: Int) -> Int {
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
    /// Lends the bytes of this text.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var copy = self
        return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
