/// A copy-on-write B+tree in raw memory that maps byte keys to small values.
///
/// This type is the writer and has a single owner. `snapshot()` returns an immutable state in
/// constant time, which any thread may read. A page that a live snapshot can see is copied before
/// its first change.
package struct BTree: ~Copyable, Sendable {
    /// The maximum length of a key in bytes; the minimum is one.
    ///
    /// A removed key of maximum length is stored with a prefix byte, so this is more than the store
    /// allows.
    package static let maximumKeyCount = 1032
    /// The number of entries that fit on a page if they need no space in its heap.
    package static let maximumFanout =
        BTreePage.Layout.capacity / (BTreePage.Layout.headSize + BTreePage.Layout.leafSlotSize)

    /// The maximum number of entries on a page.
    let fanout: Int
    var space: BTreeSpace
    var root: UInt32
    /// The number of entries.
    package internal(set) var count: Int
    /// The newest snapshot, or nil if the tree has changed since.
    private var published: BTreeSnapshot?

    /// Creates an empty tree whose pages hold at most `fanout` entries; `fanout` is at least three.
    package init(fanout: Int = BTree.maximumFanout) {
        precondition(3...Self.maximumFanout ~= fanout, "A page holds 3 to 340 entries.")
        self.fanout = fanout
        space = BTreeSpace()
        root = space.allocate()
        count = 0
        space.page(root).clear(level: 0, version: space.version)
    }

    /// Creates a tree over the pages below `root`, which hold `count` entries.
    init(fanout: Int, space: consuming BTreeSpace, root: UInt32, count: Int) {
        self.fanout = fanout
        self.space = space
        self.root = root
        self.count = count
    }

    /// Creates a tree with the entries of a snapshot, which does not change with it.
    ///
    /// Only the pages that change are copied.
    package init(forking snapshot: BTreeSnapshot, fanout: Int = BTree.maximumFanout) {
        self.init(
            fanout: fanout, space: BTreeSpace(forking: snapshot),
            root: snapshot.view.root, count: snapshot.count)
    }

    /// A view of the writer's state.
    @inline(__always)
    var view: BTreeView { BTreeView(directory: space.directory, root: root) }

    /// Returns a snapshot of the current state.
    ///
    /// The cost is about that of allocating an object, or less if nothing has changed since the
    /// last one.
    package mutating func snapshot() -> BTreeSnapshot {
        if let published { return published }
        let version = space.publish()
        let snapshot = BTreeSnapshot(
            arena: space.arena, view: view, chunkCount: space.chunkCount, version: version,
            count: count)
        published = snapshot
        return snapshot
    }

    /// Makes all pages on the path writable, copying mapped ones and those that a snapshot can see.
    @inline(__always)
    mutating func makeWritable(_ path: BTreePath) {
        // If the leaf has the version of new pages, so do its ancestors.
        if space.page(path.page(0)).version != space.version { copyShared(path) }
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

    /// Returns `number`, or the number of a copy if the page is not writable.
    ///
    /// The page gets the version of new pages, by which `BTreeLeafID` distinguishes contents.
    mutating func writable(_ number: UInt32) -> UInt32 {
        if space.isWritable(number) {
            space.page(number).version = space.version
            return number
        }
        let copy = space.allocate()
        let page = space.page(copy)
        page.copyUsed(space.page(number))
        page.version = space.version
        space.release(number)
        return copy
    }

    /// Adds `difference` to the entry count of the tree and of every page on the path.
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

/// Memory usage and shape of a tree.
package struct BTreeStatistics: Equatable, Sendable {
    /// The number of pages in the writer's state.
    package let pagesInUse: Int
    /// The number of free pages.
    package let pagesFree: Int
    /// The number of pages that only snapshots can see.
    package let pagesRetired: Int
    /// The number of pages on the path from the root to a leaf.
    package let depth: Int
    /// The size of the pages in use, in bytes.
    package let bytesInUse: Int
    /// The number of bytes allocated for pages and their directory, excluding a mapped file.
    package let bytesAllocated: Int
}

extension BTree {
    /// The current memory usage and shape of the tree.
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
