/// Incremental SHA-256, for content whose integrity must withstand forgery.
package struct SHA256 {
    /// Length of a hash, in bytes.
    package static let length = 32
    private static let blockLength = 64

    private var state = SIMD8<UInt32>(
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB,
        0x5BE0_CD19)
    /// Bytes of an incomplete block.
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    /// Creates a hasher without input.
    package init() {}

    /// Returns the hash of `bytes`.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }

    /// Appends input.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        var piece = bytes
        if !rest.isEmpty {
            let taken = min(Self.blockLength - rest.count, piece.count)
            rest.append(contentsOf: piece.prefix(taken))
            piece = UnsafeRawBufferPointer(rebasing: piece.dropFirst(taken))
            guard rest.count == Self.blockLength else { return }
            rest.withUnsafeBytes { Self.compress(&state, $0) }
            rest.removeAll(keepingCapacity: true)
        }
        let whole = piece.count / Self.blockLength * Self.blockLength
        Self.compress(&state, UnsafeRawBufferPointer(rebasing: piece.prefix(whole)))
        rest.append(contentsOf: piece.dropFirst(whole))
    }

    /// Appends input.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Returns the hash of all input so far; more input may follow.
    package func finish() -> [UInt8] {
        // The padding is one set bit, zeros to the end of a block, and the length in bits.
        var end = rest
        end.append(0x80)
        let excess = (end.count + 8) % Self.blockLength
        if excess > 0 { end.append(contentsOf: repeatElement(0, count: Self.blockLength - excess)) }
        withUnsafeBytes(of: (count &* 8).bigEndian) { end.append(contentsOf: $0) }
        var state = state
        end.withUnsafeBytes { Self.compress(&state, $0) }
        var hash: [UInt8] = []
        hash.reserveCapacity(Self.length)
        for index in state.indices {
            withUnsafeBytes(of: state[index].bigEndian) { hash.append(contentsOf: $0) }
        }
        return hash
    }
}

extension SHA256 {
    /// Fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1,
        0x923F_82A4, 0xAB1C_5ED5, 0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3,
        0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174, 0xE49B_69C1, 0xEFBE_4786,
        0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147,
        0x06CA_6351, 0x1429_2967, 0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13,
        0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85, 0xA2BF_E8A1, 0xA81A_664B,
        0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A,
        0x5B9C_CA4F, 0x682E_6FF3, 0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208,
        0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]

    /// Applies complete blocks to the state.
    private static func compress(_ state: inout SIMD8<UInt32>, _ blocks: UnsafeRawBufferPointer) {
        guard let base = blocks.baseAddress, !blocks.isEmpty else { return }
        precondition(blocks.count % blockLength == 0, "The input is complete blocks.")
        constants.withUnsafeBufferPointer { constants in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
                var block = base
                for _ in 0..<blocks.count / blockLength {
                    fill(schedule, from: block)
                    state &+= rounds(state, schedule, constants)
                    block += blockLength
                }
            }
        }
    }

    /// Expands the sixteen words of a block to the message schedule of 64 words.
    @inline(__always)
    private static func fill(
        _ words: UnsafeMutableBufferPointer<UInt32>, from block: UnsafeRawPointer
    ) {
        for index in 0..<16 {
            words[index] = UInt32(
                bigEndian: block.loadUnaligned(fromByteOffset: 4 &* index, as: UInt32.self))
        }
        var index = 16
        while index < 64 {
            let (early, late) = (words[index &- 15], words[index &- 2])
            words[index] =
                words[index &- 16] &+ words[index &- 7]
                &+ (rotated(early, 7) ^ rotated(early, 18) ^ early &>> 3)
                &+ (rotated(late, 17) ^ rotated(late, 19) ^ late &>> 10)
            index &+= 1
        }
    }

    /// Returns the state after 64 rounds.
    @inline(__always)
    private static func rounds(
        _ state: SIMD8<UInt32>, _ words: UnsafeMutableBufferPointer<UInt32>,
        _ constants: UnsafeBufferPointer<UInt32>
    ) -> SIMD8<UInt32> {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        var index = 0
        // Eight rounds are unrolled, so that the variables rotate by renaming and not by copying.
        while index < 64 {
            @inline(__always) func word(_ next: Int) -> UInt32 {
                words[index &+ next] &+ constants[index &+ next]
            }
            round(a, b, c, &d, e, f, g, &h, word(0))
            round(h, a, b, &c, d, e, f, &g, word(1))
            round(g, h, a, &b, c, d, e, &f, word(2))
            round(f, g, h, &a, b, c, d, &e, word(3))
            round(e, f, g, &h, a, b, c, &d, word(4))
            round(d, e, f, &g, h, a, b, &c, word(5))
            round(c, d, e, &f, g, h, a, &b, word(6))
            round(b, c, d, &e, f, g, h, &a, word(7))
            index &+= 8
        }
        return SIMD8(a, b, c, d, e, f, g, h)
    }

    @inline(__always)
    private static func round(
        _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32,
        _ g: UInt32, _ h: inout UInt32, _ word: UInt32
    ) {
        let mixed =
            h &+ word &+ (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25))
            &+ (g ^ (e & (f ^ g)))
        d &+= mixed
        h =
            mixed &+ (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22))
            &+ ((a & b) | (c & (a | b)))
    }

    @inline(__always)
    private static func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 {
        word &>> bits | word &<< (32 &- bits)
    }
}
