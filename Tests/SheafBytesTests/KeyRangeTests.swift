import SheafBytes
import SheafTestSupport
import Testing

@Suite struct KeyRangeTests {
    /// All keys of at most three bytes from an alphabet of four, sorted.
    private let keys: [[UInt8]] = {
        let alphabet: [UInt8] = [0x00, 0x01, 0xFE, 0xFF]
        var keys: [[UInt8]] = [[]]
        var last: [[UInt8]] = [[]]
        for _ in 0..<3 {
            last = last.flatMap { key in alphabet.map { key + [$0] } }
            keys += last
        }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }
    }()

    /// Returns the keys in a range, by definition.
    private func members(_ range: KeyRange) -> Set<[UInt8]> {
        Set(
            keys.filter { key in
                let isBelow = key.lexicographicallyPrecedes(range.lower)
                let isAbove = range.upper.map { !key.lexicographicallyPrecedes($0) } ?? false
                return !isBelow && !isAbove
            })
    }

    private func someRange(_ random: inout SeededRandom) -> KeyRange {
        let lower = keys[random.below(keys.count)]
        guard random.chance(5, in: 6) else { return KeyRange(from: lower) }
        return KeyRange(from: lower, to: keys[random.below(keys.count)])
    }

    @Test func `a range contains exactly the keys from its lower bound up to its upper bound`() {
        var random = SeededRandom(seed: 1, "contains")
        for _ in 0..<500 {
            let range = someRange(&random)
            let expected = members(range)
            #expect(Set(keys.filter(range.contains)) == expected, "\(range)")
            if range.isEmpty { #expect(expected.isEmpty, "\(range)") }
            // The lower bound is the smallest key of a nonempty range.
            #expect(range.isEmpty == !range.contains(range.lower), "\(range)")
        }
        #expect(Set(keys.filter(KeyRange.all.contains)) == Set(keys))
        #expect(KeyRange(from: [], to: []).isEmpty)
    }

    @Test func `ranges of one key, after a key and between two keys contain the expected keys`() {
        for key in keys {
            #expect(keys.filter(KeyRange.only(key).contains) == [key])
            #expect(!KeyRange.only(key).isEmpty)
            let later = keys.filter { key.lexicographicallyPrecedes($0) }
            #expect(keys.filter(KeyRange.after(key).contains) == later)
            for other in keys {
                let between = keys.filter {
                    !$0.lexicographicallyPrecedes(key) && !other.lexicographicallyPrecedes($0)
                }
                #expect(keys.filter(KeyRange.through(key, other).contains) == between)
            }
        }
    }

    @Test func `a prefix range contains the keys with that prefix, also if it ends in 0xFF`() {
        for prefix in keys {
            let range = KeyRange.prefix(prefix)
            #expect(
                keys.filter(range.contains) == keys.filter { $0.starts(with: prefix) },
                "\(prefix)")
            #expect(range.contains(prefix + [0xFF, 0xFF, 0xFF, 0xFF]))
        }
        #expect(KeyRange.prefix([]) == .all)
        #expect(KeyRange.prefix([0xFF, 0xFF]) == KeyRange(from: [0xFF, 0xFF]))
        #expect(KeyRange.prefix([1, 0xFF]) == KeyRange(from: [1, 0xFF], to: [2]))
    }

    @Test func `an intersection contains the keys of both ranges`() {
        let seed: UInt64 = 2
        var random = SeededRandom(seed: seed, "intersection")
        for round in 0..<3_000 {
            let one = someRange(&random)
            let other = someRange(&random)
            let both = one.intersection(other)
            #expect(
                members(both) == members(one).intersection(members(other)),
                "seed \(seed), round \(round)")
            #expect(both == other.intersection(one), "seed \(seed), round \(round)")
        }
        #expect(KeyRange.all.intersection(.all) == .all)
    }

    @Test func `a union contains the keys of all ranges, in as few disjoint ranges as possible`() {
        let seed: UInt64 = 3
        var random = SeededRandom(seed: seed, "union")
        for round in 0..<2_000 {
            let ranges = (0..<random.below(6)).map { _ in someRange(&random) }
            let union = KeyRange.union(ranges)
            let expected = ranges.reduce(into: Set()) { $0.formUnion(members($1)) }
            let found = union.reduce(into: Set()) { $0.formUnion(members($1)) }
            #expect(found == expected, "seed \(seed), round \(round)")
            #expect(union.allSatisfy { !$0.isEmpty }, "seed \(seed), round \(round)")
            for (one, next) in zip(union, union.dropFirst()) {
                // There is a gap after the upper bound, so the ranges cannot be merged.
                let gap = one.upper.map { $0.lexicographicallyPrecedes(next.lower) } ?? false
                #expect(gap, "seed \(seed), round \(round)")
            }
            #expect(KeyRange.union(ranges.shuffled(using: &random)) == union)
            #expect(KeyRange.union(union) == union)
        }
    }

    @Test func `adjacent ranges are merged`() {
        let one = KeyRange(from: [1], to: [2])
        let two = KeyRange(from: [2], to: [3])
        #expect(KeyRange.union([two, one]) == [KeyRange(from: [1], to: [3])])
        #expect(KeyRange.union([one, .only([2])]) == [KeyRange(from: [1], to: [2, 0])])
        #expect(KeyRange.union([one, .after([2])]) == [one, KeyRange(from: [2, 0])])
        #expect(KeyRange.union([]) == [])
        #expect(KeyRange.union([.all, one]) == [.all])
    }
}
