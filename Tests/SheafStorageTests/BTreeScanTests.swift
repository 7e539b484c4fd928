import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeScanTests {
    private struct Stop: Error, Equatable { let count: Int }

    @Test func `ranges, ranks and counts are those of a sorted array`() {
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
                    let places = model.places(in: range)
                    let forward = snapshot.entries(in: range)
                    let backward = snapshot.entries(in: range, reversed: true)
                    #expect(forward.keys == Array(model.keys[places]), "seed \(seed), \(kind)")
                    #expect(forward.values == Array(model.values[places]))
                    #expect(backward.keys == model.keys[places].reversed())
                    #expect(backward.values == model.values[places].reversed())
                    #expect(snapshot.count(in: range) == places.count)
                    #expect(tree.count(in: range) == places.count)
                    #expect(snapshot.rank(of: range.lower) == places.lowerBound)
                    #expect(tree.rank(of: range.lower) == places.lowerBound)
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

    @Test func `a cursor goes where it is sent and to the neighbors from there`() {
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
            // Behind either end the place is none.
            var place: Int?
            for _ in 0..<500 {
                switch random.below(8) {
                case 0:
                    place = model.count > 0 ? 0 : nil
                    #expect(cursor.seekFirst() == (place != nil))
                case 1:
                    place = model.count > 0 ? model.count - 1 : nil
                    #expect(cursor.seekLast() == (place != nil))
                case 2:
                    let key = kind.key(random.below(300), &random)
                    let rank = model.rank(of: key)
                    place = rank < model.count ? rank : nil
                    #expect(key.withUnsafeBytes { cursor.seek($0) } == (place != nil))
                case 3:
                    let rank = random.below(model.count + 1)
                    place = rank < model.count ? rank : nil
                    #expect(cursor.seek(rank: rank) == (place != nil))
                case 4, 5:
                    place = place.flatMap { $0 + 1 < model.count ? $0 + 1 : nil }
                    #expect(cursor.next() == (place != nil))
                default:
                    place = place.flatMap { $0 > 0 ? $0 - 1 : nil }
                    #expect(cursor.previous() == (place != nil))
                }
                #expect(cursor.isValid == (place != nil))
                if let place {
                    #expect(Array(cursor.key) == model.keys[place], "seed \(seed), \(kind)")
                    #expect(cursor.value == model.values[place])
                }
            }
        }
    }

    @Test func `a cursor walks over every entry both ways`() {
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

    @Test func `a scan ends when it is told to or when its body throws`() {
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
