import SheafStorage
import SheafTestSupport
import Testing

/// Pages that removals empty: when they are merged, compacted or released.
@Suite struct BTreeMergeTests {
    private func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    /// Returns a tree of ascending keys: a full leaf, and a leaf with `rest` entries.
    private func tree(
        _ full: Int, _ rest: Int, value: BTreeValue = .empty, fanout: Int = BTree.maximumFanout
    ) -> BTree {
        var tree = BTree(fanout: fanout)
        for number in 0..<full + rest { _ = tree.put(key(number), value) }
        return tree
    }

    /// Removes keys from the first one on until the tree has one page.
    ///
    /// Returns the number of keys left on the first leaf before the merge; nil if none is left.
    private func merge(_ tree: inout BTree, _ full: Int) -> Int? {
        for number in 0..<full {
            guard tree.statistics.pagesInUse == 3 else { return full - number + 1 }
            _ = tree.remove(key(number))
        }
        return nil
    }

    @Test func `a leaf is merged if the result leaves space for new entries`() {
        for (full, rest, valueLength, left) in [
            // A leaf of less than 1,020 bytes is merged if both leaves have at most 3,060 bytes.
            (340, 171, 0, 85), (340, 172, 0, 84), (204, 103, 8, 51), (204, 104, 8, 50),
            // The merged leaf has at most three quarters of the possible entries.
            (100, 20, 0, 56), (100, 70, 0, 6), (10, 5, 0, 3),
        ] {
            // Entries without values fill a leaf by their number, those with values by their bytes.
            let fanout = valueLength == 0 ? full : BTree.maximumFanout
            let value = BTreeValue([UInt8](repeating: 9, count: valueLength))
            var tree = tree(full, rest, value: value, fanout: fanout)
            #expect(tree.statistics.pagesInUse == 3)
            let found = merge(&tree, full)
            #expect(found == left, "\(full) and \(rest)")
            #expect(tree.statistics.depth == 1)
            #expect(tree.count == rest + left - 1)
            #expect(tree.checkInvariants() == [])
        }
    }

    @Test func `a leaf without a next one is merged with the previous one`() {
        // Two leaves of 10 and 3 entries.
        var tree = tree(10, 3, fanout: 10)
        for number in 0..<4 { _ = tree.remove(key(number)) }
        #expect(tree.statistics.pagesInUse == 3)
        // Both leaves have 8 entries then, more than three quarters of 10.
        _ = tree.remove(key(10))
        #expect(tree.statistics.pagesInUse == 3)
        _ = tree.remove(key(11))
        #expect(tree.statistics.pagesInUse == 1)
        #expect(tree.count == 7)
        #expect(tree.checkInvariants() == [])
    }

    @Test func `the last entry of a leaf releases it, and a lone child becomes the root`() {
        var tree = tree(340, 1)
        #expect(tree.statistics.pagesInUse == 3 && tree.statistics.depth == 2)
        _ = tree.remove(key(340))
        #expect(tree.statistics.pagesInUse == 1 && tree.statistics.depth == 1)
        #expect(tree.statistics.pagesFree == 2 && tree.statistics.pagesRetired == 0)
        #expect(tree.count == 340)
        #expect(tree.checkInvariants() == [])
        // The free pages are used again.
        _ = tree.put(key(340), .empty)
        #expect(tree.statistics.pagesInUse == 3 && tree.statistics.pagesFree == 0)
    }

    @Test(arguments: [(33, 1), (32, 3)])
    func `a full leaf is compacted if a sixteenth of it becomes free, or split`(
        removed: Int, pages: Int
    ) {
        // A leaf has 204 entries of 20 bytes; removed records stay in the heap.
        var tree = tree(204, 0, value: BTreeValue(7))
        for number in 0..<removed { _ = tree.remove(key(number)) }
        var next = 204
        while tree.count < 192 {
            _ = tree.put(key(next), BTreeValue(7))
            next += 1
        }
        #expect(tree.statistics.pagesInUse == pages)
        #expect(tree.checkInvariants() == [])
    }

    @Test func `pages of a snapshot are retired, and freed with it`() {
        // A root and three leaves.
        var tree = BTree(fanout: 3)
        for number in 1...9 { _ = tree.put(key(number), .empty) }
        #expect(tree.statistics.pagesInUse == 4)
        var snapshot: BTreeSnapshot? = tree.snapshot()
        #expect(tree.statistics.pagesRetired == 0)
        _ = tree.put(key(1), BTreeValue(1))
        // The root and the first leaf are copied once.
        #expect(tree.statistics.pagesInUse == 4 && tree.statistics.pagesRetired == 2)
        _ = tree.put(key(2), BTreeValue(2))
        #expect(tree.statistics.pagesRetired == 2)
        _ = tree.put(key(9), BTreeValue(9))
        #expect(tree.statistics.pagesRetired == 3)
        var later: BTreeSnapshot? = tree.snapshot()
        _ = tree.put(key(1), BTreeValue(3))
        #expect(tree.statistics.pagesInUse == 4 && tree.statistics.pagesRetired == 5)
        // The pages that only the later snapshot sees are free once it is gone.
        withExtendedLifetime(later) {}
        later = nil
        _ = tree.snapshot()
        _ = tree.put(key(1), BTreeValue(4))
        #expect(tree.statistics.pagesRetired == 3 && tree.statistics.pagesFree == 2)
        withExtendedLifetime(snapshot) {}
        snapshot = nil
        _ = tree.snapshot()
        _ = tree.put(key(1), BTreeValue(5))
        #expect(tree.statistics.pagesInUse == 4 && tree.statistics.pagesRetired == 0)
        #expect(tree.statistics.pagesFree == 5)
        #expect(tree.checkInvariants() == [])
    }
}
