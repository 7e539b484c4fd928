import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeBuilderTests {
    @Test func `a bulk-loaded tree holds the loaded entries and accepts changes`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            for fanout in [3, 5, BTree.maximumFanout] {
                var random = SeededRandom(seed: UInt64(seed), "bulk")
                var model = BTreeModel()
                for step in 0..<[0, 1, 2, 30, 900][random.below(5)] {
                    _ = model.put(kind.key(step, &random), randomValue(&random))
                }
                var tree = load(model, fanout: fanout, fillPercent: 50 + random.below(51))
                #expect(tree.checkInvariants() == [], "seed \(seed), \(kind), fanout \(fanout)")
                #expect(tree.snapshot().holds(model))
                for step in 900..<1100 {
                    let key = kind.key(step, &random)
                    let value = randomValue(&random)
                    _ = (tree.put(key, value), model.put(key, value))
                    let victim = model.keys[random.below(model.count)]
                    _ = (tree.remove(victim), model.remove(victim))
                    _ = (tree.put(victim, value), model.put(victim, value))
                }
                #expect(tree.checkInvariants() == [], "seed \(seed), \(kind), fanout \(fanout)")
                #expect(tree.snapshot().holds(model))
            }
        }
    }

    private func load(_ model: BTreeModel, fanout: Int, fillPercent: Int) -> BTree {
        var builder = BTreeBuilder(fanout: fanout, fillPercent: fillPercent)
        for (key, value) in zip(model.keys, model.values) {
            key.withUnsafeBytes { builder.append($0, value) }
        }
        return builder.finish()
    }

    @Test func `pages have the requested fill ratio`() {
        var random = SeededRandom(seed: 3, "fill")
        var model = BTreeModel()
        for _ in 0..<5000 { _ = model.put(random.bytes(24), BTreeValue(1)) }
        let full = load(model, fanout: BTree.maximumFanout, fillPercent: 100)
        let half = load(model, fanout: BTree.maximumFanout, fillPercent: 50)
        #expect(full.statistics.bytesInUse < 5000 * 40)
        #expect(half.statistics.pagesInUse >= full.statistics.pagesInUse * 19 / 10)
    }
}
