import SheafBytes
import SheafTestSupport
import Testing

@Suite struct LZ4Tests {
    /// Byte sequences that compress well, badly and not at all.
    private let samples: [[UInt8]] = {
        var random = SeededRandom(seed: 5, "samples")
        var samples: [[UInt8]] = [[], [0], [1, 2, 3]]
        for count in [12, 13, 64, 255, 256, 1_000, 65_536, 70_000] {
            samples.append([UInt8](repeating: 7, count: count))
            samples.append(random.bytes(count))
            samples.append((0..<count).map { UInt8(truncatingIfNeeded: $0 / 9 % 5) })
        }
        return samples
    }()

    private func compress(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { LZ4.compress($0) }
    }

    private func decompress(_ block: [UInt8], rawLength: Int) throws -> [UInt8] {
        try block.withUnsafeBytes { try LZ4.decompress($0, rawLength: rawLength) }
    }

    /// Returns the decompressed bytes, or nil if the block was refused.
    private func expanded(_ block: [UInt8], rawLength: Int) -> [UInt8]? {
        do {
            return try decompress(block, rawLength: rawLength)
        } catch {
            #expect(error as? Malformed == .compressed(at: 0))
            return nil
        }
    }

    @Test func `every byte sequence survives compression`() throws {
        for bytes in samples {
            let block = compress(bytes)
            #expect(try decompress(block, rawLength: bytes.count) == bytes)
        }
        #expect(compress([]) == [0])
        #expect(compress([UInt8](repeating: 7, count: 65_536)).count < 300)
    }

    @Test func `a block encoded by hand is decompressed`() throws {
        // The block is built by hand: one literal, an overlapping match, five literals.
        let block: [UInt8] = [0x17, 0x61, 0x01, 0x00, 0x50, 0x62, 0x63, 0x64, 0x65, 0x66]
        #expect(
            try decompress(block, rawLength: 17)
                == [UInt8](repeating: 0x61, count: 12) + [0x62, 0x63, 0x64, 0x65, 0x66])
    }

    @Test func `a block refers to the last 65,536 bytes before it`() throws {
        var random = SeededRandom(seed: 6, "history")
        let content = random.bytes(4_096)
        for (distance, isShort) in [(0, true), (61_000, true), (65_537, false)] {
            let history = content + [UInt8](repeating: 7, count: distance)
            let block = content.withUnsafeBytes { content in
                history.withUnsafeBytes { LZ4.compress(content, after: $0) }
            }
            #expect((block.count < 200) == isShort, "\(distance) bytes between")
            func expanded(_ length: Int, _ history: [UInt8]) throws -> [UInt8] {
                try block.withUnsafeBytes { block in
                    try history.withUnsafeBytes {
                        try LZ4.decompress(block, rawLength: length, after: $0)
                    }
                }
            }
            #expect(try expanded(4_096, history) == content)
            // Bytes before the last 65,536 do not matter.
            #expect(try expanded(4_096, [1, 2, 3] + history.suffix(65_536)) == content)
            for length in [4_095, 4_097] {
                #expect(throws: Malformed.compressed(at: 0)) { try expanded(length, history) }
            }
            if isShort {
                #expect(throws: Malformed.compressed(at: 0)) { try expanded(4_096, []) }
            }
        }
    }

    @Test func `an incorrect raw length is refused`() {
        for bytes in samples {
            let block = compress(bytes)
            for length in [0, 1, bytes.count - 1, bytes.count + 1, 2 * bytes.count + 100] {
                guard length != bytes.count, length >= 0 else { continue }
                #expect(expanded(block, rawLength: length) == nil, "\(bytes.count), \(length)")
            }
        }
    }

    @Test func `an impossible raw length is refused`() {
        for length in [255 * 4, 1 << 30, LZ4.maximumRawLength] {
            #expect(expanded([1, 2, 3], rawLength: length) == nil)
        }
        #expect(throws: Malformed.self) { try decompress([0], rawLength: -1) }
        #expect(throws: Malformed.self) { try decompress([0], rawLength: .min) }
        let limit = UInt64(LZ4.maximumRawLength)
        #expect(throws: Malformed.tooLong(at: 0, length: limit + 1, limit: limit)) {
            try decompress([0], rawLength: LZ4.maximumRawLength + 1)
        }
    }

    @Test func `an empty block is refused`() {
        for length in [0, 1, 254] {
            #expect(expanded([], rawLength: length) == nil)
        }
    }

    @Test func `a truncated block and a block with a trailing byte are refused`() {
        for bytes in samples where bytes.count <= 1_000 {
            let block = compress(bytes)
            for cut in 0..<block.count {
                #expect(expanded(Array(block.prefix(cut)), rawLength: bytes.count) == nil)
            }
            #expect(expanded(block + [0], rawLength: bytes.count) == nil)
        }
    }

    @Test func `a damaged block expands to the requested length or is refused`() {
        for bytes in samples where bytes.count <= 256 {
            let block = compress(bytes)
            for bit in 0..<block.count * 8 {
                var damaged = block
                damaged[bit / 8] ^= 1 << (bit % 8)
                // Decompression guarantees the length only; checksums detect damaged content.
                if let result = expanded(damaged, rawLength: bytes.count) {
                    #expect(result.count == bytes.count)
                }
            }
        }
        let seed: UInt64 = 9
        var random = SeededRandom(seed: seed, "noise")
        for round in 0..<20_000 {
            let length = random.below(300)
            if let result = expanded(random.bytes(random.below(40)), rawLength: length) {
                #expect(result.count == length, "seed \(seed), round \(round)")
            }
        }
    }
}
