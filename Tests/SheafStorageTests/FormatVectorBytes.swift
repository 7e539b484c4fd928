import SheafBytes
import SheafStorage

/// Changes of fields of valid structures, with recomputed checksums.
enum FormatVectorBytes {
    /// Returns the bytes with an integer of `size` bytes at `offset` set to `value`.
    static func setting(
        _ bytes: [UInt8], _ size: Int, at offset: Int, to value: UInt64
    ) -> [UInt8] {
        var bytes = bytes
        for index in 0..<size {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
        }
        return bytes
    }

    /// Returns the bytes with the lowest bit of one byte flipped.
    static func flipping(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var bytes = bytes
        bytes[offset] ^= 1
        return bytes
    }

    /// Returns the integer of `size` bytes at `offset`.
    static func number(_ bytes: [UInt8], _ size: Int, at offset: Int) -> UInt64 {
        bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns a segment header with a recomputed checksum.
    static func sealingHeader(_ bytes: [UInt8]) -> [UInt8] {
        setting(bytes, 8, at: 120, to: hash(bytes[..<120], seed: 0))
    }

    /// Returns a record with a checksum computed from `seed`; only the seed of its store is valid.
    static func sealingRecord(
        _ bytes: [UInt8], seed: UInt64 = FormatVectorStore.id.low
    ) -> [UInt8] {
        setting(bytes, 8, at: 0, to: hash(bytes[8...], seed: seed))
    }

    /// Returns a footer with a recomputed checksum.
    static func sealingFooter(_ bytes: [UInt8]) -> [UInt8] {
        setting(bytes, 8, at: 80, to: hash(bytes[..<80], seed: FormatVectorStore.id.low))
    }

    /// Returns a checkpoint with recomputed hash and checksum.
    static func sealingCheckpoint(_ bytes: [UInt8]) -> [UInt8] {
        let hashed = setting(bytes, 8, at: 72, to: hash(bytes[4_160...], seed: 0))
        return setting(hashed, 8, at: 4_152, to: hash(hashed[..<4_152], seed: 0))
    }

    private static func hash(_ bytes: ArraySlice<UInt8>, seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { XXH3.hash64($0, seed: seed) }
    }
}
