import SheafBytes
import SheafStorage

/// The B-tree of the engine.
final class SheafTree: OrderedTree {
    static let peer = TreePeer(name: "sheaf") { _ in SheafTree() }

    private var tree = BTree()
    private var snapshot: BTreeSnapshot?

    func insert(_ entries: Entries, count: Int) {
        // Passing the tree `inout` checks exclusive access once instead of per insertion.
        Self.insert(entries, count: count, into: &tree)
    }

    private static func insert(_ entries: Entries, count: Int, into tree: inout BTree) {
        for index in 0..<UInt64(count) {
            entries.key(index).withBytes { key in
                _ = tree.put(key, BTreeValue(index))
            }
        }
    }

    func publish() {
        snapshot = tree.snapshot()
    }

    func find(_ entries: Entries, count: Int) throws -> UInt64 {
        let snapshot = try reading()
        var sum: UInt64 = 0
        for index in 0..<UInt64(count) {
            let value = entries.key(index).withBytes { snapshot.find($0) }
            guard let value else { throw StoreFailure.missingKey }
            sum &+= value.low
        }
        return sum
    }

    func walk(_ entries: Entries, count: Int, length: Int) throws -> UInt64 {
        let snapshot = try reading()
        var sum: UInt64 = 0
        for index in 0..<UInt64(count) {
            var left = length
            let start = KeyRange(from: entries.key(index).withBytes { Array($0) })
            snapshot.forEach(in: start) { key, value in
                sum &+= value.low &+ UInt64(key[Key.size - 1])
                left -= 1
                return left > 0
            }
        }
        return sum
    }

    func count(from lower: Key) throws -> Int {
        try reading().count(in: KeyRange(from: lower.withBytes { Array($0) }))
    }

    func takeSnapshots(_ count: Int) -> UInt64 {
        Self.takeSnapshots(count, of: &tree)
    }

    private static func takeSnapshots(_ count: Int, of tree: inout BTree) -> UInt64 {
        var sum: UInt64 = 0
        for _ in 0..<count { sum &+= tree.snapshot().version }
        return sum
    }

    func byteCount() -> Int {
        tree.statistics.bytesAllocated
    }

    func close() {
        snapshot = nil
    }

    private func reading() throws -> BTreeSnapshot {
        guard let snapshot else {
            throw StoreFailure(description: "the tree must be published before it is read")
        }
        return snapshot
    }
}
