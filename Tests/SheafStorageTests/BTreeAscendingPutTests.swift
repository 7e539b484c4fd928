import SheafStorage
import SheafTestSupport
import Testing

@Suite struct BTreeAscendingPutTests {
    @Test func `ascending puts have the same results as single puts`() {
        for (seed, kind) in KeyKind.allCases.enumerated() {
            for fanout in [3, 4, BTree.maximumFanout] {
                putRuns(of: kind, fanout: fanout, seed: UInt64(seed))
            }
        }
    }

    private func putRuns(of kind: KeyKind, fanout: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed, "ascending puts")
        var tree = BTree(fanout: fanout)
        var model = BTreeModel()
        var snapshots: [(BTreeSnapshot, BTreeModel)] = []
        var (differences, number) = (0, 0)
        for run in 0..<12 {
            if random.chance(1, in: 2) { snapshots.append((tree.snapshot(), model)) }
            let count = random.below(kind == .long ? 20 : [3, 40, 300][random.below(3)])
            var entries = (0..<count).map { _ in
                number += 1
                let isKnown = random.chance(1, in: 3) && model.count > 0
                let key =
                    isKnown ? model.keys[random.below(model.count)] : kind.key(number, &random)
                return (key: key, value: randomValue(&random))
            }
            // Equal keys keep their order, so that the last value wins.
            entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
            var replaced: [BTreeValue?] = []
            entries.withContiguousKeys { keys in
                tree.put(ascending: count) {
                    (keys[$0], entries[$0].value)
                } replacing: {
                    differences += $0 == replaced.count ? 0 : 1
                    replaced.append($1)
                }
            }
            for (index, entry) in entries.enumerated()
            where model.put(entry.key, entry.value) != replaced[index] { differences += 1 }
            // Removals make pages that are not full.
            for key in model.keys.shuffled(using: &random).prefix(random.below(20))
            where tree.remove(key) != model.remove(key) { differences += 1 }
            if !tree.snapshot().holds(model) { differences += 1 }
            #expect(
                tree.checkInvariants() == [], "\(kind), fanout \(fanout), seed \(seed), run \(run)")
        }
        for (snapshot, model) in snapshots where !snapshot.holds(model) { differences += 1 }
        #expect(differences == 0, "\(kind), fanout \(fanout), seed \(seed)")
    }
}

extension [(key: [UInt8], value: BTreeValue)] {
    /// Calls `body` with the keys, one after the other in memory that does not move.
    fileprivate func withContiguousKeys(_ body: ([UnsafeRawBufferPointer]) -> Void) {
        let bytes = flatMap(\.key)
        bytes.withUnsafeBytes { bytes in
            var start = 0
            body(
                map { entry in
                    defer { start += entry.key.count }
                    return UnsafeRawBufferPointer(
                        rebasing: bytes[start..<start + entry.key.count])
                })
        }
    }
}
