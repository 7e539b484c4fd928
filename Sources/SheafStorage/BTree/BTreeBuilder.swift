/// Makes a tree of entries that arrive in ascending order, several times as fast as inserting them.
package struct BTreeBuilder: ~Copyable {
    /// A finished page, and what its parent has to know.
    private struct Link {
        /// At least one byte that tells the keys of the page from those before.
        var separator: [UInt8]
        var child: UInt32
        var entries: Int
    }

    private var tree: BTree
    private let limit: Int
    private var stage = BTreeStage(prefixOfLoneEntry: 0)
    /// What the staged entries take on a page.
    private var size = 0
    /// What the staged keys share.
    private var prefixCount = 0
    private var leaves: [Link] = []
    // The first page of a level has no separator, so this one is never written.
    private var nextSeparator: [UInt8] = [0]

    /// A builder of pages that are `fillPercent` full.
    ///
    /// Some room is left, since full pages split when the next random key arrives.
    package init(fanout: Int = BTree.maximumFanout, fillPercent: Int = 95) {
        precondition(50...100 ~= fillPercent, "Pages are filled by half at least.")
        tree = BTree(fanout: fanout)
        limit = BTreePage.Layout.capacity * fillPercent / 100
    }

    /// Adds an entry whose key comes after all others.
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

    /// The tree of all entries.
    package consuming func finish() -> BTree {
        guard stage.count > 0 else { return tree }
        flushLeaf()
        var links = leaves
        var level = 0
        while links.count > 1 {
            level += 1
            links = addLevel(level, over: links)
        }
        tree.space.release(tree.root)
        tree.root = links[0].child
        return tree
    }

    /// Stages an entry, unless the page would become too full.
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
        // Keys arrive in order, so what the first and the last share is shared by all.
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
        // Two entries fit on any page, so that every page but the last of a level has two.
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

    /// Writes what is staged to a page of its own.
    private mutating func flush(level: Int, separator: [UInt8]) -> Link {
        let page = tree.space.allocate()
        let all = 0..<stage.count
        stage.write(all, to: tree.space.page(page), level: level, version: tree.space.version)
        let entries = stage.total(all, level: level)
        stage.clear()
        size = 0
        return Link(separator: separator, child: page, entries: entries)
    }

    /// Writes the pages over `children` and returns what leads to them.
    private mutating func addLevel(_ level: Int, over children: [Link]) -> [Link] {
        var links: [Link] = []
        var separator = children[0].separator
        for child in children {
            let value = BTreeValue(child: child.child, entries: child.entries)
            if !stagesChild(child.separator, value, level: level) {
                links.append(flush(level: level, separator: separator))
                separator = child.separator
                _ = stagesChild(child.separator, value, level: level)
            }
        }
        links.append(flush(level: level, separator: separator))
        return links
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
