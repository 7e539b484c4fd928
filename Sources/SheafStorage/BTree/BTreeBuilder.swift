/// A bulk loader of trees from ascending entries, several times as fast as inserting them.
package struct BTreeBuilder: ~Copyable {
    /// The parent's entry for a finished page.
    private struct FinishedPage {
        /// A nonempty key that separates the page from the previous one.
        var separator: [UInt8]
        var child: UInt32
        var entries: Int
    }

    private var tree: BTree
    private let limit: Int
    private var stage = BTreeStage(prefixOfLoneEntry: 0)
    /// The size of the staged entries on a page, in bytes.
    private var size = 0
    /// The length of the prefix that the staged keys share.
    private var prefixCount = 0
    private var leaves: [FinishedPage] = []
    // The first page of a level has no separator, so this initial value is never written.
    private var nextSeparator: [UInt8] = [0]

    /// Creates a builder whose pages are `fillPercent` full.
    ///
    /// The reserve avoids a split when the next random key arrives.
    package init(fanout: Int = BTree.maximumFanout, fillPercent: Int = 95) {
        precondition(50...100 ~= fillPercent, "Pages are filled to 50 to 100 percent.")
        tree = BTree(fanout: fanout)
        limit = BTreePage.Layout.capacity * fillPercent / 100
    }

    /// Appends an entry, whose key must be greater than all earlier ones.
    package mutating func append(_ key: UnsafeRawBufferPointer, _ value: BTreeValue) {
        precondition(key.count <= BTree.maximumKeyCount, "A key has at most 1,032 bytes.")
        guard let key = BTreeKey(key) else { preconditionFailure("A key has at least one byte.") }
        if stage.count > 0 {
            precondition(stage.key(stage.count - 1).precedes(key), "Keys arrive in order.")
        }
        if stages(key, value, level: 0) { return }
        let shared = key.commonCount(with: stage.key(stage.count - 1))
        flushLeaf()
        nextSeparator = Array(key.bytes.prefix(shared + 1))
        _ = stages(key, value, level: 0)
    }

    /// Returns the tree of all entries.
    package consuming func finish() -> BTree {
        guard stage.count > 0 else { return tree }
        flushLeaf()
        var children = leaves
        var level = 0
        while children.count > 1 {
            level += 1
            children = addLevel(level, over: children)
        }
        tree.space.release(tree.root)
        tree.root = children[0].child
        return tree
    }

    /// Stages an entry; returns false if the page would become too full.
    @inline(__always)
    private mutating func stages(_ key: BTreeKey, _ value: BTreeValue, level: Int) -> Bool {
        let fixed = BTreePage.Layout.headSize &+ BTreeStage.slotSize(level)
        // The first entry of an inner page has no key.
        let firstKeyed = level == 0 ? 0 : 1
        guard stage.count >= firstKeyed else {
            stage.append(key, value)
            size = fixed
            return true
        }
        // Keys are in order, so the prefix that the first and the last share is common to all.
        let newPrefixCount =
            stage.count > firstKeyed
            ? BTreeKey(stage.key(firstKeyed).base, count: prefixCount).commonCount(with: key)
            : min(key.count, BTreePage.Layout.maximumPrefixCount)
        var newSize = size
        if newPrefixCount != prefixCount {
            newSize = stage.size(0..<stage.count, prefixCount: newPrefixCount, level: level)
        }
        newSize &+= fixed &+ max(key.count &- newPrefixCount &- BTreePage.Layout.headSize, 0)
        if level == 0 { newSize &+= value.count }
        // Two entries fit on any page, so every page except the last of a level has at least two.
        guard stage.count < 2 || (newSize <= limit && stage.count < tree.fanout) else {
            return false
        }
        stage.append(key, value)
        size = newSize
        prefixCount = newPrefixCount
        return true
    }

    private mutating func flushLeaf() {
        leaves.append(flush(level: 0, separator: nextSeparator))
        tree.count += leaves[leaves.count - 1].entries
    }

    /// Writes the staged entries to a new page.
    private mutating func flush(level: Int, separator: [UInt8]) -> FinishedPage {
        let page = tree.space.allocate()
        let all = 0..<stage.count
        tree.write(stage, all, to: tree.space.page(page), level: level)
        let entries = stage.total(all, level: level)
        stage.clear()
        size = 0
        return FinishedPage(separator: separator, child: page, entries: entries)
    }

    /// Writes the parent pages of `children` and returns them.
    private mutating func addLevel(_ level: Int, over children: [FinishedPage]) -> [FinishedPage] {
        var pages: [FinishedPage] = []
        var separator = children[0].separator
        for child in children {
            let value = BTreeValue(child: child.child, entries: child.entries)
            if !stagesChild(child.separator, value, level: level) {
                pages.append(flush(level: level, separator: separator))
                separator = child.separator
                _ = stagesChild(child.separator, value, level: level)
            }
        }
        pages.append(flush(level: level, separator: separator))
        return pages
    }

    private mutating func stagesChild(
        _ separator: [UInt8], _ child: BTreeValue, level: Int
    ) -> Bool {
        separator.withUnsafeBytes { bytes in
            guard let key = BTreeKey(bytes) else {
                preconditionFailure("A separator has at least one byte.")
            }
            return stages(key, child, level: level)
        }
    }
}
