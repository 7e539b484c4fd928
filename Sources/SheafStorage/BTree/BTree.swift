/// A sorted map from byte keys to small values, kept in pages of raw memory.
///
/// This is the writer's side; it has one owner. `snapshot()` hands out states that never change, in
/// constant time, which other threads may read for as long as they like. A page is copied before it
/// is changed only if a snapshot that is still alive can see it, and then once.
package struct BTree: ~Copyable, Sendable {
    /// The most bytes that a key may have; a key has at least one.
    ///
    /// The longest key of a store goes into the tree behind one more byte when it is removed.
    package static let maximumKeyCount = 1032
    /// As many entries as fit on a page if they take no more than their place in the arrays.
    package static let maximumFanout =
        BTreePage.Layout.capacity / (BTreePage.Layout.headSize + BTreePage.Layout.leafSlotSize)

    /// The most entries that a page may have.
    let fanout: Int
    var space: BTreeSpace
    var root: UInt32
    /// How many entries there are.
    package internal(set) var count: Int
    /// The newest snapshot, until the tree changes.
    private var published: BTreeSnapshot?

    /// An empty tree whose pages hold no more than `fanout` entries, which is at least three.
    package init(fanout: Int = BTree.maximumFanout) {
        precondition(3...Self.maximumFanout ~= fanout, "A page holds 3 to 341 entries.")
        self.fanout = fanout
        space = BTreeSpace()
        root = space.allocate()
        count = 0
        space.page(root).clear(level: 0, version: space.version)
    }

    /// A tree over pages that are there already.
    init(fanout: Int, space: consuming BTreeSpace, root: UInt32, count: Int) {
        self.fanout = fanout
        self.space = space
        self.root = root
        self.count = count
    }

    /// What it takes to read the writer's state.
    @inline(__always)
    var view: BTreeView { BTreeView(directory: space.directory, root: root) }

    /// The state as it is now.
    ///
    /// It costs about as much as allocating an object, or less if nothing has changed since.
    package mutating func snapshot() -> BTreeSnapshot {
        if let published { return published }
        let version = space.publish()
        let snapshot = BTreeSnapshot(
            arena: space.arena, view: view, version: version, count: count)
        published = snapshot
        return snapshot
    }

    /// Makes all pages on the way writable, copying those that a snapshot can see.
    @inline(__always)
    mutating func makeWritable(_ path: BTreePath) {
        // If the leaf is writable then so is all above it, since a copy changes its parent.
        if !space.isWritable(path.page(0)) { copyShared(path) }
    }

    @inline(never)
    private mutating func copyShared(_ path: BTreePath) {
        published = nil
        space.reclaim()
        var level = view.page(root).level
        var parent: BTreePage?
        while level >= 0 {
            let index = path.index(level)
            let number = writable(path.page(level))
            path.set(level, page: number, index: index)
            if let parent {
                parent.setChild(path.index(level + 1), number)
            } else {
                root = number
            }
            parent = space.page(number)
            level -= 1
        }
    }

    /// The page itself, or a copy of it if a snapshot can see it.
    mutating func writable(_ number: UInt32) -> UInt32 {
        if space.isWritable(number) { return number }
        let copy = space.allocate()
        let page = space.page(copy)
        page.copyUsed(space.page(number))
        page.version = space.version
        space.release(number)
        return copy
    }

    /// Adds `difference` to the number of entries, here and in every page on the way.
    @inline(__always)
    mutating func addToCounts(_ path: BTreePath, _ difference: Int) {
        count += difference
        let top = space.page(root).level
        var level = 1
        while level <= top {
            let page = space.page(path.page(level))
            let index = path.index(level)
            page.setEntriesBelow(index, page.entriesBelow(index) &+ difference)
            level &+= 1
        }
    }
}

/// What a tree takes.
package struct BTreeStatistics: Equatable, Sendable {
    /// Pages that the writer's state consists of.
    package let pagesInUse: Int
    /// Pages that wait to be used again.
    package let pagesFree: Int
    /// Pages that only snapshots see.
    package let pagesRetired: Int
    /// How many pages there are from the root to a leaf.
    package let depth: Int
    /// Bytes of the pages that are in use.
    package let bytesInUse: Int
    /// Bytes got from the system, without those of a mapped file.
    package let bytesAllocated: Int
}

extension BTree {
    /// What the tree takes at the moment.
    package var statistics: BTreeStatistics {
        let retired = space.retiredPages
        let free = space.freePages
        let used = space.allocatedPages - retired - free - space.droppedPages
        return BTreeStatistics(
            pagesInUse: used, pagesFree: free, pagesRetired: retired,
            depth: space.page(root).level + 1, bytesInUse: used * BTreePage.Layout.size,
            bytesAllocated: space.byteCount)
    }
}
