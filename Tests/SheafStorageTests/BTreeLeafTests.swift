import SheafBytes
import SheafStorage
import SheafTestSupport
import Testing

/// The identity of leaves, by which caches recognize unchanged ones.
@Suite struct BTreeLeafTests {
    /// The values on a leaf, in key order.
    private typealias Contents = [BTreeValue]

    @Test func `leaves with one identity have the same entries in all snapshots`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            var random = SeededRandom(seed: UInt64(seed), "leaves")
            var tree = BTree(fanout: seed % 2 == 0 ? 3 : 20)
            var known: [BTreeLeafID: Contents] = [:]
            var keys: [[UInt8]] = []
            var kept: [BTreeSnapshot] = []
            var shared = 0
            for step in 0..<2_000 {
                let key =
                    random.chance(1, in: 2) && !keys.isEmpty
                    ? keys[random.below(keys.count)] : kind.key(step, &random)
                if random.chance(3, in: 5) {
                    _ = tree.put(key, randomValue(&random))
                    keys.append(key)
                } else {
                    _ = tree.remove(key)
                }
                guard random.chance(1, in: 3) else { continue }
                let snapshot = tree.snapshot()
                snapshot.forEachLeaf(in: .all) { id, values in
                    let contents = (0..<values.count).map { values[$0] }
                    if let earlier = known[id] {
                        shared += 1
                        #expect(earlier == contents, "seed \(seed), \(kind), step \(step)")
                    }
                    known[id] = contents
                }
                // Most snapshots are released, so that the next change is made in place.
                if random.chance(1, in: 20) { kept.append(snapshot) }
                if random.chance(1, in: 40) { kept.removeAll() }
            }
            #expect(shared > 0)
        }
    }

    @Test func `a leaf that changes in place gets another identity`() {
        var tree = BTree()
        _ = tree.put([1], BTreeValue(1))
        let first = ids(of: tree.snapshot())
        // No snapshot is live, so the page need not be copied.
        _ = tree.put([1], BTreeValue(2))
        #expect(ids(of: tree.snapshot()) != first)
    }

    @Test func `leaves of different trees have different identities`() {
        var known: Set<BTreeLeafID> = []
        for _ in 0..<100 {
            var tree = BTree()
            _ = tree.put([1], BTreeValue(1))
            // The memory of the earlier trees is used again.
            for id in ids(of: tree.snapshot()) { #expect(known.insert(id).inserted) }
        }
    }

    private func ids(of snapshot: BTreeSnapshot) -> [BTreeLeafID] {
        var ids: [BTreeLeafID] = []
        snapshot.forEachLeaf(in: .all) { id, _ in ids.append(id) }
        return ids
    }
}
