/// One page on the way from the root to an entry, and the entry of it that the way goes through.
struct BTreeStep {
    var page: UInt32
    var index: UInt32
}

/// The way from the root of a tree to one entry of a leaf: a step for each level, the leaf first.
///
/// Trees that copy on write have no links between neighbors, so walking goes up and down the way.
struct BTreePath {
    /// As many steps as a tree can have levels.
    let steps: UnsafeMutablePointer<BTreeStep>

    /// A way that is written to `steps`, which has room for `BTreeView.maximumDepth` of them.
    @inline(__always)
    init(_ steps: UnsafeMutablePointer<BTreeStep>) {
        self.steps = steps
    }

    /// The page at a level.
    @inline(__always)
    func page(_ level: Int) -> UInt32 { steps[level].page }

    /// The entry on the page at a level.
    @inline(__always)
    func index(_ level: Int) -> Int { Int(steps[level].index) }

    /// Sets the step at a level.
    @inline(__always)
    func set(_ level: Int, page: UInt32, index: Int) {
        steps[level] = BTreeStep(page: page, index: UInt32(truncatingIfNeeded: index))
    }

    /// Goes to where `key` is, or where it would have to be inserted, and says whether it is there.
    @inline(__always)
    func descend(_ view: BTreeView, to key: BTreeKey) -> Bool {
        var number = view.root
        var page = view.page(number)
        var level = page.level
        while level > 0 {
            let index = page.childIndex(for: key)
            set(level, page: number, index: index)
            number = page.child(index)
            page = view.page(number)
            level &-= 1
        }
        let (index, isFound) = page.place(of: key)
        set(0, page: number, index: index)
        return isFound
    }

    /// Goes from the child at the step of `level` down to the first entry.
    @inline(__always)
    func descendToFirst(_ view: BTreeView, from level: Int) {
        var level = level
        while level > 0 {
            let child = view.page(page(level)).child(index(level))
            level &-= 1
            set(level, page: child, index: 0)
        }
    }

    /// Goes from the child at the step of `level` down to the last entry.
    @inline(__always)
    func descendToLast(_ view: BTreeView, from level: Int) {
        var level = level
        while level > 0 {
            let child = view.page(page(level)).child(index(level))
            level &-= 1
            set(level, page: child, index: max(view.page(child).count &- 1, 0))
        }
    }

    /// Goes to the first entry of the tree.
    func first(_ view: BTreeView) {
        let level = view.page(view.root).level
        set(level, page: view.root, index: 0)
        descendToFirst(view, from: level)
    }

    /// Goes to the last entry of the tree.
    func last(_ view: BTreeView) {
        let page = view.page(view.root)
        set(page.level, page: view.root, index: max(page.count &- 1, 0))
        descendToLast(view, from: page.level)
    }

    /// Goes to the entry that has `rank` others before it; there must be one.
    func descend(_ view: BTreeView, toRank rank: Int) {
        var rank = rank
        var number = view.root
        var page = view.page(number)
        while !page.isLeaf {
            var index = 0
            var below = page.entriesBelow(0)
            while rank >= below, index &+ 1 < page.count {
                rank &-= below
                index &+= 1
                below = page.entriesBelow(index)
            }
            set(page.level, page: number, index: index)
            number = page.child(index)
            page = view.page(number)
        }
        set(0, page: number, index: rank)
    }

    /// Goes to the first entry of the next leaf, if there is one.
    @inline(__always)
    func nextLeaf(_ view: BTreeView) -> Bool {
        let top = view.page(view.root).level
        var level = 1
        while level <= top {
            let next = index(level) &+ 1
            if next < view.page(page(level)).count {
                set(level, page: page(level), index: next)
                descendToFirst(view, from: level)
                return true
            }
            level &+= 1
        }
        return false
    }

    /// Goes to the last entry of the leaf before, if there is one.
    @inline(__always)
    func previousLeaf(_ view: BTreeView) -> Bool {
        let top = view.page(view.root).level
        var level = 1
        while level <= top {
            let index = index(level)
            if index > 0 {
                set(level, page: page(level), index: index &- 1)
                descendToLast(view, from: level)
                return true
            }
            level &+= 1
        }
        return false
    }
}
