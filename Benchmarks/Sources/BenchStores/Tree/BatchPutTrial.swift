import BenchHarness
import SheafBytes
import SheafStorage

/// Puts of random keys, a batch at a time, into a tree of a million entries.
final class BatchPutTrial: Trial {
    private let isSorted: Bool
    private let batch: Int
    private let count: Int
    private let entries = Entries(.random)
    private var tree = BTree()
    private var next: Int

    init(_ stage: Stage, batch: Int, isSorted: Bool) {
        self.isSorted = isSorted
        self.batch = batch
        count = stage.scale.pick(1_000_000, quick: 200_000)
        next = count
        for index in 0..<UInt64(count) {
            entries.key(index).withBytes { _ = tree.put($0, BTreeValue(index)) }
        }
    }

    /// Returns the nanoseconds per key.
    func run(round: Int) -> Sample {
        // The pages that a snapshot can see are copied, as in a store with readers.
        let snapshot = tree.snapshot()
        let keys = (0..<batch).flatMap { index in
            entries.key(UInt64(next + index)).withBytes { Array($0) }
        }
        let start = now()
        keys.withUnsafeBytes { keys in
            func key(_ index: Int) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: keys[index * Key.size..<(index + 1) * Key.size])
            }
            if isSorted {
                let order = KeyOrder.sorted(batch, key)
                tree.put(ascending: batch) {
                    (key(order[$0]), BTreeValue(UInt64($0)))
                } replacing: {
                    _, _ in
                }
            } else {
                for index in 0..<batch { tree.put(key(index), BTreeValue(UInt64(index))) }
            }
        }
        let duration = now() - start
        next += batch
        sink(snapshot.version)
        return Sample(Double(duration) / Double(batch))
    }

    func finish() {}
}
