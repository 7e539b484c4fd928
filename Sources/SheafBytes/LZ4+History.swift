import CLZ4

/// LZ4 blocks that may refer to the 64 KiB of raw bytes before them.
extension LZ4 {
    /// Maximum number of history bytes used; back-references do not reach further.
    package static let historyLength = 64 << 10

    /// Compresses bytes into one block, with the raw bytes before it as `history`.
    package static func compress(
        _ bytes: UnsafeRawBufferPointer, after history: UnsafeRawBufferPointer
    ) -> [UInt8] {
        precondition(
            bytes.count <= maximumRawLength, "A block holds at most \(maximumRawLength) bytes.")
        guard let stream = LZ4_createStream() else {
            preconditionFailure("The state of a block needs 16 KiB of memory.")
        }
        defer { LZ4_freeStream(stream) }
        let history = UnsafeRawBufferPointer(rebasing: history.suffix(historyLength))
        _ = LZ4_loadDict(
            stream, history.assumingMemoryBound(to: CChar.self).baseAddress, Int32(history.count))
        let bound = Int(LZ4_compressBound(Int32(bytes.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { target, count in
            let written = target.withMemoryRebound(to: CChar.self) { target in
                LZ4_compress_fast_continue(
                    stream, bytes.assumingMemoryBound(to: CChar.self).baseAddress,
                    target.baseAddress, Int32(bytes.count), Int32(bound), 1)
            }
            count = Int(written)
        }
    }

    /// Decompresses a block to exactly `rawLength` bytes; throws if its length differs.
    package static func decompress(
        _ block: UnsafeRawBufferPointer, rawLength: Int, after history: UnsafeRawBufferPointer
    ) throws(Malformed) -> [UInt8] {
        try check(block, rawLength: rawLength)
        let history = UnsafeRawBufferPointer(rebasing: history.suffix(historyLength))
        var expanded = 0
        let raw = [UInt8](unsafeUninitializedCapacity: max(rawLength, 1)) { target, count in
            expanded = target.withMemoryRebound(to: CChar.self) { target in
                Int(
                    LZ4_decompress_safe_usingDict(
                        block.assumingMemoryBound(to: CChar.self).baseAddress, target.baseAddress,
                        Int32(block.count), Int32(rawLength),
                        history.assumingMemoryBound(to: CChar.self).baseAddress,
                        Int32(history.count)))
            }
            count = max(0, min(expanded, rawLength))
        }
        guard expanded == rawLength else { throw .compressed(at: 0) }
        return raw
    }
}
