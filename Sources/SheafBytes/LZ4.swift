import CLZ4

/// LZ4 block compression; callers store the raw length of each block.
package enum LZ4 {
    /// Maximum raw length of a block.
    package static let maximumRawLength = 0x7E00_0000

    /// Compresses `bytes` into one block; empty input gives a block of one byte.
    package static func compress(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        precondition(
            bytes.count <= maximumRawLength, "A block holds at most \(maximumRawLength) bytes.")
        let bound = Int(LZ4_compressBound(Int32(bytes.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { target, count in
            let written = target.withMemoryRebound(to: CChar.self) { target in
                LZ4_compress_default(
                    bytes.assumingMemoryBound(to: CChar.self).baseAddress, target.baseAddress,
                    Int32(bytes.count), Int32(bound))
            }
            count = Int(written)
        }
    }

    /// Decompresses a block to exactly `rawLength` bytes; throws if its length differs.
    package static func decompress(
        _ block: UnsafeRawBufferPointer, rawLength: Int
    ) throws(Malformed) -> [UInt8] {
        try check(block, rawLength: rawLength)
        var expanded = 0
        let raw = [UInt8](unsafeUninitializedCapacity: max(rawLength, 1)) { target, count in
            expanded = target.withMemoryRebound(to: CChar.self) { target in
                Int(
                    LZ4_decompress_safe(
                        block.assumingMemoryBound(to: CChar.self).baseAddress, target.baseAddress,
                        Int32(block.count), Int32(rawLength)))
            }
            count = max(0, min(expanded, rawLength))
        }
        guard expanded == rawLength else { throw .compressed(at: 0) }
        return raw
    }

    /// Throws for lengths that no block can have.
    static func check(
        _ block: UnsafeRawBufferPointer, rawLength: Int
    ) throws(Malformed) {
        guard rawLength >= 0, rawLength <= maximumRawLength else {
            throw .tooLong(
                at: 0, length: UInt64(max(rawLength, 0)), limit: UInt64(maximumRawLength))
        }
        // The expansion ratio is below 255: a larger `rawLength` is refused before memory is
        // allocated.
        guard block.count <= Int(Int32.max), rawLength / 255 <= block.count else {
            throw .compressed(at: 0)
        }
    }
}
