import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeTests {
    @Test func `a value returns its bytes`() {
        for count in 0...BTreeValue.maximumCount {
            let bytes = (0..<count).map { UInt8(200 + $0) }
            let value = BTreeValue(bytes)
            #expect(value.bytes == bytes)
            #expect(value == BTreeValue(low: value.low, high: value.high, count: count))
            #expect(BTreeValue(low: .max, high: .max, count: count).bytes.allSatisfy { $0 == 255 })
        }
        #expect(BTreeValue(7).bytes == [7, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `an empty tree contains no entries`() {
        var tree = BTree()
        #expect(tree.count == 0)
        #expect(tree.find([1]) == nil)
        #expect(tree.remove([1]) == nil)
        #expect(tree.rank(of: [1]) == 0)
        #expect(tree.snapshot().holds(BTreeModel()))
        #expect(tree.checkInvariants() == [])
    }

    @Test func `random changes have the same results as in a sorted array`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            for fanout in [3, 4, BTree.maximumFanout] {
                let steps = kind == .long ? 500 : 3000
                change(kind, fanout: fanout, steps: steps, seed: UInt64(seed))
            }
        }
    }

    private func change(_ kind: KeyKind, fanout: Int, steps: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed, "changes")
        var tree = BTree(fanout: fanout)
        var model = BTreeModel()
        // Many comparisons share one expectation, because an expectation costs more than a
        // comparison.
        var differences = 0
        for step in 0..<steps {
            // The tree mostly grows in the first two thirds, then mostly shrinks.
            let grows = random.chance(step < steps * 2 / 3 ? 3 : 1, in: 4)
            let isKnown = random.chance(grows ? 1 : 9, in: grows ? 5 : 10) && model.count > 0
            let key = isKnown ? model.keys[random.below(model.count)] : kind.key(step, &random)
            if grows {
                let value = randomValue(&random)
                if tree.put(key, value) != model.put(key, value) { differences += 1 }
            } else if tree.remove(key) != model.remove(key) {
                differences += 1
            }
            let other = kind.key(random.below(steps), &random)
            if tree.find(other) != model.find(other) { differences += 1 }
            if step % 500 == 499 {
                differences += compare(&tree, model)
                #expect(tree.checkInvariants() == [], "\(kind), fanout \(fanout), seed \(seed)")
            }
        }
        for key in model.keys.shuffled(using: &random)
        where tree.remove(key) != model.remove(key) {
            differences += 1
        }
        #expect(differences == 0, "\(kind), fanout \(fanout), seed \(seed)")
        #expect(tree.checkInvariants() == [], "\(kind), fanout \(fanout), seed \(seed)")
        #expect(tree.statistics.pagesInUse == 1)
        #expect(tree.count == 0)
    }

    /// Returns the number of results that differ from the model.
    private func compare(_ tree: inout BTree, _ model: BTreeModel) -> Int {
        var differences = tree.snapshot().holds(model) ? 0 : 1
        for (index, key) in model.keys.enumerated() where tree.find(key) != model.values[index] {
            differences += 1
        }
        return differences
    }

    @Test func `keys inserted in ascending or descending order produce full pages`() {
        for kind in [KeyKind.ascending, .descending] {
            var random = SeededRandom(seed: 0)
            var tree = BTree()
            let count = 5000
            for number in 0..<count {
                _ = tree.put(kind.key(number, &random), BTreeValue(UInt64(number)))
            }
            #expect(tree.checkInvariants() == [])
            // An entry has 8 bytes of head, 4 of slot and 8 of value; its key needs no more.
            let leaves = count * 20 / 4096
            #expect(tree.statistics.pagesInUse <= leaves + leaves / 8 + 2)
        }
    }

    @Test func `a value grows and shrinks in a full page`() {
        var tree = BTree()
        var model = BTreeModel()
        var random = SeededRandom(seed: 1)
        var differences = 0
        let keys = (0..<400).map { KeyKind.ascending.key($0, &random) }
        for count in [0, 16, 3, 8, 16, 0] {
            for key in keys {
                let value = BTreeValue(random.bytes(count))
                differences += tree.put(key, value) == model.put(key, value) ? 0 : 1
            }
            #expect(tree.checkInvariants() == [])
            #expect(tree.snapshot().holds(model))
        }
        #expect(differences == 0)
    }

    @Test func `a tree of a few entries uses little memory`() {
        var tree = BTree()
        for number in 0..<100 { _ = tree.put([UInt8(number)], .empty) }
        let statistics = tree.statistics
        #expect(statistics.pagesInUse == 1)
        #expect(statistics.depth == 1)
        #expect(statistics.bytesAllocated < 100_000)
    }

    /// A leaf has 4,080 bytes.
    ///
    /// An entry takes 12, its value, and the key bytes after the eighth.
    @Test(arguments: [
        (2, 0, 340), (8, 0, 340), (2, 3, 272), (8, 3, 272), (8, 8, 204), (9, 7, 204), (10, 3, 240),
        (16, 4, 170),
    ])
    func `a leaf is split when it has no byte left for another entry`(
        keyLength: Int, valueLength: Int, count: Int
    ) {
        var random = SeededRandom(seed: 5, "full leaf")
        let value = BTreeValue([UInt8](repeating: 9, count: valueLength))
        let keys = (0...count).map { number in
            [UInt8(number >> 8), UInt8(number & 0xFF)]
                + [UInt8](repeating: 3, count: keyLength - 2)
        }
        let shuffled = keys.shuffled(using: &random)
        var tree = BTree()
        for key in shuffled.dropLast() { _ = tree.put(key, value) }
        #expect(tree.statistics.pagesInUse == 1)
        // Values of the same length need no more room.
        for key in shuffled.dropLast() { _ = tree.put(key, value) }
        #expect(tree.statistics.pagesInUse == 1)
        #expect(tree.checkInvariants() == [])
        _ = tree.put(shuffled[count], value)
        #expect(tree.statistics.pagesInUse == 3)
        #expect(tree.count == count + 1)
        #expect(tree.checkInvariants() == [])
    }

    @Test func `a tree of many pages allocates little memory besides them`() {
        var tree = BTree(fanout: 3)
        for number in 0..<100 { _ = tree.put([UInt8(number)], .empty) }
        // Each snapshot keeps the pages that the next change copies.
        var snapshots: [BTreeSnapshot] = []
        var pages = 0
        while pages < 3_000, snapshots.count < 5_000 {
            for number in 0..<50 {
                snapshots.append(tree.snapshot())
                _ = tree.put([UInt8(number)], BTreeValue(UInt64(snapshots.count)))
            }
            let statistics = tree.statistics
            pages = statistics.pagesInUse + statistics.pagesFree + statistics.pagesRetired
        }
        #expect(pages >= 3_000)
        #expect(tree.statistics.bytesAllocated >= pages * BTree.pageSize)
        #expect(tree.statistics.bytesAllocated < pages * BTree.pageSize * 5 / 4)
        withExtendedLifetime(snapshots) {}
    }
}
