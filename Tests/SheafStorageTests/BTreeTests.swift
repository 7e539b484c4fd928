import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeTests {
    @Test func `a value gives back its bytes`() {
        for count in 0...BTreeValue.maximumCount {
            let bytes = (0..<count).map { UInt8(200 + $0) }
            let value = BTreeValue(bytes)
            #expect(value.bytes == bytes)
            #expect(value == BTreeValue(low: value.low, high: value.high, count: count))
            #expect(BTreeValue(low: .max, high: .max, count: count).bytes.allSatisfy { $0 == 255 })
        }
        #expect(BTreeValue(7).bytes == [7, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `an empty tree holds nothing`() {
        var tree = BTree()
        #expect(tree.count == 0)
        #expect(tree.find([1]) == nil)
        #expect(tree.remove([1]) == nil)
        #expect(tree.rank(of: [1]) == 0)
        #expect(tree.snapshot().holds(BTreeModel()))
        #expect(tree.checkInvariants().isEmpty)
    }

    @Test func `random changes leave what they leave in a sorted array`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            for fanout in [3, 4, BTree.maximumFanout] {
                let steps = kind == .long ? 500 : 1500
                change(kind, fanout: fanout, steps: steps, seed: UInt64(seed))
            }
        }
    }

    private func change(_ kind: KeyKind, fanout: Int, steps: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed, "changes")
        var tree = BTree(fanout: fanout)
        var model = BTreeModel()
        for step in 0..<steps {
            // First the tree mostly grows, then it mostly shrinks.
            if random.chance(step < steps * 2 / 3 ? 3 : 1, in: 4) {
                let isKnown = random.chance(1, in: 5) && model.count > 0
                let key =
                    isKnown ? model.keys[random.below(model.count)] : kind.key(step, &random)
                let value = randomValue(&random)
                #expect(tree.put(key, value) == model.put(key, value))
            } else {
                let isKnown = random.chance(9, in: 10) && model.count > 0
                let key =
                    isKnown ? model.keys[random.below(model.count)] : kind.key(step, &random)
                #expect(tree.remove(key) == model.remove(key))
            }
            let key = kind.key(random.below(steps), &random)
            #expect(tree.find(key) == model.find(key))
            if step % 250 == 249 { expect(&tree, holds: model, kind, fanout, seed) }
        }
        for key in model.keys.shuffled(using: &random) {
            #expect(tree.remove(key) == model.remove(key))
        }
        expect(&tree, holds: model, kind, fanout, seed)
        #expect(tree.statistics.pagesInUse == 1)
    }

    private func expect(
        _ tree: inout BTree, holds model: BTreeModel, _ kind: KeyKind, _ fanout: Int, _ seed: UInt64
    ) {
        let violations = tree.checkInvariants()
        #expect(violations.isEmpty, "\(kind), fanout \(fanout), seed \(seed)")
        #expect(tree.snapshot().holds(model), "\(kind), fanout \(fanout), seed \(seed)")
        for key in model.keys { #expect(tree.find(key) == model.find(key)) }
    }

    @Test func `keys that come in order leave full pages behind`() {
        for kind in [KeyKind.ascending, .descending] {
            var random = SeededRandom(seed: 0)
            var tree = BTree()
            let count = 5000
            for number in 0..<count {
                #expect(tree.put(kind.key(number, &random), BTreeValue(UInt64(number))) == nil)
            }
            #expect(tree.checkInvariants().isEmpty)
            // 8 bytes of head, 4 of slot and 8 of value: no key byte has to be kept beside them.
            let leaves = count * 20 / 4096
            #expect(tree.statistics.pagesInUse <= leaves + leaves / 8 + 2)
        }
    }

    @Test func `a value may grow and shrink where its page is full`() {
        var tree = BTree()
        var model = BTreeModel()
        var random = SeededRandom(seed: 1)
        let keys = (0..<400).map { KeyKind.ascending.key($0, &random) }
        for count in [0, 16, 3, 8, 16, 0] {
            for key in keys {
                let value = BTreeValue(random.bytes(count))
                #expect(tree.put(key, value) == model.put(key, value))
            }
            #expect(tree.checkInvariants().isEmpty)
            #expect(tree.snapshot().holds(model))
        }
    }

    @Test func `a tree of a few entries takes little memory`() {
        var tree = BTree()
        for number in 0..<100 { _ = tree.put([UInt8(number)], .empty) }
        let statistics = tree.statistics
        #expect(statistics.pagesInUse == 1)
        #expect(statistics.depth == 1)
        #expect(statistics.bytesAllocated < 100_000)
    }
}
