/// Case folding for patterns: scalars with the same simple lower case are equal.
///
/// A scalar whose lower case consists of several scalars is unchanged, so folding preserves the
/// number of scalars.
enum CaseFolding {
    /// Returns the lower case of a scalar if it is a single scalar, and otherwise the scalar.
    @inline(__always)
    static func lower(_ scalar: UInt32) -> UInt32 {
        if scalar < 0x80 { return isUpperASCII(scalar) ? scalar | 0x20 : scalar }
        return mapped(scalar) { $0.lowercaseMapping }
    }

    /// Returns the upper case of a scalar if it is a single scalar, and otherwise the scalar.
    static func upper(_ scalar: UInt32) -> UInt32 {
        mapped(scalar) { $0.uppercaseMapping }
    }

    @inline(__always)
    private static func isUpperASCII(_ scalar: UInt32) -> Bool { scalar &- 0x41 < 26 }

    private static func mapped(
        _ scalar: UInt32, _ mapping: (Unicode.Scalar.Properties) -> String
    ) -> UInt32 {
        guard let known = Unicode.Scalar(scalar) else { return scalar }
        let scalars = mapping(known.properties).unicodeScalars
        guard let first = scalars.first, scalars.dropFirst().isEmpty else { return scalar }
        return first.value
    }

    /// Calls `body` with the text in lower case.
    static func withLower<Result>(
        _ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        // ASCII never grows, and other scalars grow from at least two bytes to at most four.
        withUnsafeTemporaryAllocation(byteCount: 2 * text.count + 4, alignment: 1) { folded in
            var count = 0
            var offset = 0
            while offset < text.count {
                let byte = text[offset]
                if byte < 0x80 {
                    folded[count] = isUpperASCII(UInt32(byte)) ? byte | 0x20 : byte
                    count += 1
                    offset += 1
                    continue
                }
                let (scalar, length) = UTF8Walk.decode(text, at: offset)
                if let small = Unicode.Scalar(lower(scalar)) {
                    for byte in UTF8.encode(small) ?? UTF8.encodedReplacementCharacter {
                        folded[count] = byte
                        count += 1
                    }
                }
                offset += length
            }
            return body(UnsafeRawBufferPointer(rebasing: folded[..<count]))
        }
    }
}
