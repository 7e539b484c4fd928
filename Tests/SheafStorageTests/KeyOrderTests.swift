import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the order of keys in large batches.
struct KeyOrderTests {
    /// Returns the numbers of keys in the order in which they are sorted.
    private func order(_ keys: [[UInt8]]) -> [Int] {
        let bytes = Array(keys.joined())
        var starts = [0]
        for key in keys { starts.append(starts[starts.count - 1] + key.count) }
        return bytes.withUnsafeBytes { bytes in
            KeyOrder.sorted(keys.count) { number in
                UnsafeRawBufferPointer(rebasing: bytes[starts[number]..<starts[number + 1]])
            }
        }
    }

    /// Returns a key that often equals another one, or differs from it in a late byte only.
    private func key(_ prefix: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        let values: [UInt8] = [0, 1, 0x80, 0xFF]
        let count = 1 + random.below(11)
        return prefix
            + (0..<count).map { _ in random.chance(3, in: 4) ? 0 : values[random.below(4)] }
    }

    @Test func `keys are sorted by their bytes, and equal ones by their numbers`() {
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededRandom(seed: seed, "key order")
            let prefix = random.bytes(random.below(12))
            var keys: [[UInt8]] = []
            for _ in 0..<random.below(40) { keys.append(key(prefix, &random)) }
            if seed % 5 == 0, !keys.isEmpty { keys.append([prefix.first ?? 7]) }
            let expected = keys.indices.sorted { left, right in
                keys[left] == keys[right]
                    ? left < right : keys[left].lexicographicallyPrecedes(keys[right])
            }
            #expect(order(keys) == expected, "seed \(seed)")
            let sorted = expected.map { keys[$0] }
            #expect(order(sorted) == Array(keys.indices), "seed \(seed)")
        }
    }

    @Test func `keys that differ after eight bytes of a common prefix are sorted`() {
        let common: [UInt8] = [9, 9, 9]
        let keys = [
            common + [1, 1, 1, 1, 1, 1, 1, 1, 3], common + [1, 1, 1, 1, 1, 1, 1, 1, 2],
            common + [1, 1, 1, 1, 1, 1, 1, 1], common + [1, 1, 1, 1, 1, 1, 1, 0, 9], common,
            common + [0], common,
        ]
        #expect(order(keys) == [4, 6, 5, 3, 2, 1, 0])
        #expect(order([]) == [])
        #expect(order([[1]]) == [0])
    }
}
