import SheafBytes
import SheafTestSupport
import Testing

@Suite struct XXH3Tests {
    private static let prime32: UInt64 = 2_654_435_761
    private static let prime64: UInt64 = 11_400_714_785_074_694_797

    /// The input bytes of the reference test suite.
    private let buffer: [UInt8] = {
        var generator = prime32
        return (0..<4_096).map { _ in
            defer { generator &*= prime64 }
            return UInt8(truncatingIfNeeded: generator >> 56)
        }
    }()

    private func hash64(_ bytes: some Collection<UInt8>, seed: UInt64 = 0) -> UInt64 {
        Array(bytes).withUnsafeBytes { XXH3.hash64($0, seed: seed) }
    }

    private func hash128(_ bytes: some Collection<UInt8>, seed: UInt64 = 0) -> XXH3.Hash128 {
        Array(bytes).withUnsafeBytes { XXH3.hash128($0, seed: seed) }
    }

    @Test func `64-bit hashes match the reference values`() {
        let vectors: [(count: Int, plain: UInt64, seeded: UInt64)] = [
            (0, 0x2D06_8005_38D3_94C2, 0xA8A6_B918_B2F0_364A),
            (1, 0xC44B_DFF4_074E_ECDB, 0x032B_E332_DD76_6EF8),
            (6, 0x27B5_6A84_CD2D_7325, 0x8458_9C11_6AB5_9AB9),
            (12, 0xA713_DAF0_DFBB_77E7, 0xE730_3E1B_2336_DE0E),
            (24, 0xA3FE_70BF_9D35_10EB, 0x850E_80FC_35BD_D690),
            (48, 0x397D_A259_ECBA_1F11, 0xADC2_CBAA_44AC_C616),
            (80, 0xBCDE_FBBB_2C47_C90A, 0xC6DD_0CB6_9953_2E73),
            (195, 0xCD94_217E_E362_EC3A, 0xBA68_003D_370C_B3D9),
        ]
        for vector in vectors {
            let bytes = buffer.prefix(vector.count)
            #expect(hash64(bytes) == vector.plain, "\(vector.count) bytes")
            #expect(hash64(bytes, seed: Self.prime64) == vector.seeded, "\(vector.count) bytes")
        }
        let long: [(count: Int, plain: UInt64)] = [
            (403, 0xCDEB_804D_65C6_DEA4), (512, 0x617E_4959_9013_CB6B),
            (2_048, 0xDD59_E2C3_A5F0_38E0), (2_240, 0x6E73_A905_39CF_2948),
            (2_367, 0xCB37_AEB9_E5D3_61ED),
        ]
        for vector in long {
            #expect(hash64(buffer.prefix(vector.count)) == vector.plain, "\(vector.count) bytes")
        }
    }

    @Test func `128-bit hashes match the reference values`() {
        let vectors: [(count: Int, seed: UInt64, low: UInt64, high: UInt64)] = [
            (0, 0, 0x6001_C324_468D_497F, 0x99AA_06D3_0147_98D8),
            (0, Self.prime32, 0x5444_F786_9C67_1AB0, 0x9222_0AE5_5E14_AB50),
            (1, 0, 0xC44B_DFF4_074E_ECDB, 0xA6CD_5E93_9200_0F6A),
            (1, Self.prime32, 0xB53D_5557_E7F7_6F8D, 0x89B9_9554_BA22_467C),
            (6, 0, 0x3E70_39BD_DA43_CFC6, 0x082A_FE0B_8162_D12A),
            (12, 0, 0x061A_1927_13F6_9AD9, 0x6E3E_FD8F_C780_2B18),
            (24, 0, 0x1E70_44D2_8B1B_901D, 0x0CE9_66E4_678D_3761),
            (48, 0, 0xF942_219A_ED80_F67B, 0xA002_AC4E_5478_227E),
            (81, 0, 0x5E8B_AFB9_F95F_B803, 0x4952_F581_81AB_0042),
            (222, 0, 0xF1AE_BD59_7CEC_6B3A, 0x337E_0964_1B94_8717),
        ]
        for vector in vectors {
            let hash = hash128(buffer.prefix(vector.count), seed: vector.seed)
            #expect(
                hash == XXH3.Hash128(low: vector.low, high: vector.high),
                "\(vector.count) bytes, seed \(vector.seed)")
        }
    }

    @Test func `a stream in two parts has the hash of the complete input`() {
        for count in [0, 1, 16, 17, 128, 129, 240, 241, 256, 257, 512, 1_024, 1_025, 2_367] {
            let bytes = Array(buffer.prefix(count))
            let whole = hash64(bytes)
            bytes.withUnsafeBytes { bytes in
                for cut in 0...count {
                    var stream = XXH3.Stream()
                    stream.update(UnsafeRawBufferPointer(rebasing: bytes[..<cut]))
                    stream.update(UnsafeRawBufferPointer(rebasing: bytes[cut...]))
                    #expect(stream.finish() == whole, "\(count) bytes cut at \(cut)")
                }
            }
        }
    }

    @Test func `a stream continues after an intermediate hash`() {
        let seed: UInt64 = 4
        var random = SeededRandom(seed: seed, "pieces")
        buffer.withUnsafeBytes { bytes in
            for round in 0..<50 {
                var stream = XXH3.Stream()
                var offset = 0
                while offset < bytes.count {
                    let next = min(bytes.count, offset + random.below(400))
                    stream.update(UnsafeRawBufferPointer(rebasing: bytes[offset..<next]))
                    offset = next
                    let prefix = UnsafeRawBufferPointer(rebasing: bytes[..<offset])
                    #expect(stream.finish() == XXH3.hash64(prefix), "seed \(seed), \(round)")
                }
            }
        }
    }

    @Test func `an empty buffer hashes the same with and without an address`() {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(XXH3.hash64(nothing) == 0x2D06_8005_38D3_94C2)
        #expect(XXH3.hash128(nothing) == hash128([]))
        var stream = XXH3.Stream()
        #expect(stream.finish() == 0x2D06_8005_38D3_94C2)
        stream.update(nothing)
        #expect(stream.finish() == 0x2D06_8005_38D3_94C2)
    }

    @Test func `each bit of the input and of the seed changes the hash`() {
        for count in [1, 8, 100, 300] {
            let bytes = Array(buffer.prefix(count))
            var seen: Set<UInt64> = [hash64(bytes)]
            for bit in 0..<count * 8 {
                var changed = bytes
                changed[bit / 8] ^= 1 << (bit % 8)
                #expect(seen.insert(hash64(changed)).inserted)
            }
            // For short inputs, the hash adds the seed to the bytes, so their changes may coincide.
            seen = [hash64(bytes)]
            for bit in 0..<64 as Range<UInt64> {
                #expect(seen.insert(hash64(bytes, seed: 1 << bit)).inserted)
            }
        }
    }
}
