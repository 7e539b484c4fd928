import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeScanTests {
    private struct Stop: Error, Equatable { let count: Int }

    @Test func `ranges, ranks and counts match those of a sorted array`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            for fanout in [3, BTree.maximumFanout] {
                var random = SeededRandom(seed: UInt64(seed), "scans")
                var tree = BTree(fanout: fanout)
                var model = BTreeModel()
                for step in 0..<400 {
                    let key = kind.key(step, &random)
                    let value = randomValue(&random)
                    _ = (tree.put(key, value), model.put(key, value))
                }
                let snapshot = tree.snapshot()
                for _ in 0..<60 {
                    let range = randomRange(kind, model, &random)
                    let indices = model.pointers(in: range)
                    let forward = snapshot.entries(in: range)
                    let backward = snapshot.entries(in: range, reversed: true)
                    #expect(forward.keys == Array(model.keys[indices]), "seed \(seed), \(kind)")
                    #expect(forward.values == Array(model.values[indices]))
                    #expect(backward.keys == model.keys[indices].reversed())
                    #expect(backward.values == model.values[indices].reversed())
                    #expect(snapshot.count(in: range) == indices.count)
                    #expect(tree.count(in: range) == indices.count)
                    #expect(snapshot.rank(of: range.lower) == indices.lowerBound)
                    #expect(tree.rank(of: range.lower) == indices.lowerBound)
                }
            }
        }
    }

    private func randomRange(
        _ kind: KeyKind, _ model: BTreeModel, _ random: inout SeededRandom
    ) -> KeyRange {
        func bound(_ random: inout SeededRandom) -> [UInt8] {
            switch random.below(4) {
            case 0: []
            case 1: kind.key(random.below(400), &random)
            case 2: model.keys[random.below(model.count)] + [0]
            default: model.keys[random.below(model.count)]
            }
        }
        let lower = bound(&random)
        return KeyRange(from: lower, to: random.chance(1, in: 5) ? nil : bound(&random))
    }

    @Test func `a cursor seeks to entries and moves to their neighbors`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            var random = SeededRandom(seed: UInt64(seed), "cursors")
            var tree = BTree(fanout: seed % 2 == 0 ? 3 : BTree.maximumFanout)
            var model = BTreeModel()
            for step in 0..<300 {
                let key = kind.key(step, &random)
                let value = BTreeValue(UInt64(step))
                _ = (tree.put(key, value), model.put(key, value))
            }
            let cursor = tree.snapshot().cursor()
            #expect(!cursor.isValid)
            // The index is nil before the first and after the last entry.
            var index: Int?
            for _ in 0..<500 {
                switch random.below(8) {
                case 0:
                    index = model.count > 0 ? 0 : nil
                    #expect(cursor.seekFirst() == (index != nil))
                case 1:
                    index = model.count > 0 ? model.count - 1 : nil
                    #expect(cursor.seekLast() == (index != nil))
                case 2:
                    let key = kind.key(random.below(300), &random)
                    let rank = model.rank(of: key)
                    index = rank < model.count ? rank : nil
                    #expect(key.withUnsafeBytes { cursor.seek($0) } == (index != nil))
                case 3:
                    let rank = random.below(model.count + 1)
                    index = rank < model.count ? rank : nil
                    #expect(cursor.seek(rank: rank) == (index != nil))
                case 4, 5:
                    index = index.flatMap { $0 + 1 < model.count ? $0 + 1 : nil }
                    #expect(cursor.next() == (index != nil))
                default:
                    index = index.flatMap { $0 > 0 ? $0 - 1 : nil }
                    #expect(cursor.previous() == (index != nil))
                }
                #expect(cursor.isValid == (index != nil))
                if let index {
                    #expect(Array(cursor.key) == model.keys[index], "seed \(seed), \(kind)")
                    #expect(cursor.value == model.values[index])
                }
            }
        }
    }

    @Test func `a cursor visits every entry in both directions`() {
        var tree = BTree(fanout: 3)
        for number in 0..<200 { _ = tree.put([UInt8(number)], BTreeValue(UInt64(number))) }
        let cursor = tree.snapshot().cursor()
        cursor.seekFirst()
        for number in 0..<200 {
            #expect(cursor.value == BTreeValue(UInt64(number)))
            #expect(cursor.next() == (number < 199))
        }
        cursor.seekLast()
        for number in (0..<200).reversed() {
            #expect(cursor.value == BTreeValue(UInt64(number)))
            #expect(cursor.previous() == (number > 0))
        }
    }

    @Test func `a scan ends when its body returns false or throws`() {
        var tree = BTree(fanout: 4)
        for number in 0..<100 { _ = tree.put([UInt8(number)], .empty) }
        let snapshot = tree.snapshot()
        for limit in [1, 7, 100] {
            for reversed in [false, true] {
                var seen = 0
                tree.forEach(reversed: reversed) { _, _ in
                    seen += 1
                    return seen < limit
                }
                #expect(seen == limit)
                seen = 0
                #expect(throws: Stop(count: limit)) {
                    try snapshot.forEach(reversed: reversed) { _, _ throws(Stop) in
                        seen += 1
                        if seen == limit { throw Stop(count: seen) }
                        return true
                    }
                }
            }
        }
    }
}
