/// A page on a path, and the index of the entry through which the path leads.
struct BTreeStep {
    var page: UInt32
    var index: UInt32
}

/// A path from the root of a tree to a leaf entry: one step per level, the leaf first.
///
/// Pages have no sibling pointers, because copying a page would change its neighbors. Moving to the
/// next leaf therefore goes up and down the path.
struct BTreePath {
    /// The steps, with a capacity of `BTreeView.maximumDepth`.
    let steps: UnsafeMutablePointer<BTreeStep>

    /// Creates a path in `steps`, whose capacity must be `BTreeView.maximumDepth`.
    @inline(__always)
    init(_ steps: UnsafeMutablePointer<BTreeStep>) {
        self.steps = steps
    }

    /// Returns the page at a level.
    @inline(__always)
    func page(_ level: Int) -> UInt32 { steps[level].page }

    /// Returns the index of the entry at a level.
    @inline(__always)
    func index(_ level: Int) -> Int { Int(steps[level].index) }

    /// Sets the step at a level.
    @inline(__always)
    func set(_ level: Int, page: UInt32, index: Int) {
        steps[level] = BTreeStep(page: page, index: UInt32(truncatingIfNeeded: index))
    }

    /// Descends to `key` or to its insertion point; returns whether the key exists.
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
        let (index, isFound) = page.pointer(of: key)
        set(0, page: number, index: index)
        return isFound
    }

    /// Descends from the child at `level` to its first leaf entry.
    @inline(__always)
    func descendToFirst(_ view: BTreeView, from level: Int) {
        var level = level
        while level > 0 {
            let child = view.page(page(level)).child(index(level))
            level &-= 1
            set(level, page: child, index: 0)
        }
    }

    /// Descends from the child at `level` to its last leaf entry.
    @inline(__always)
    func descendToLast(_ view: BTreeView, from level: Int) {
        var level = level
        while level > 0 {
            let child = view.page(page(level)).child(index(level))
            level &-= 1
            set(level, page: child, index: max(view.page(child).count &- 1, 0))
        }
    }

    /// Moves to the first entry of the tree.
    func first(_ view: BTreeView) {
        let level = view.page(view.root).level
        set(level, page: view.root, index: 0)
        descendToFirst(view, from: level)
    }

    /// Moves to the last entry of the tree.
    func last(_ view: BTreeView) {
        let page = view.page(view.root)
        set(page.level, page: view.root, index: max(page.count &- 1, 0))
        descendToLast(view, from: page.level)
    }

    /// Descends to the entry with `rank` entries before it, which must exist.
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

    /// Moves to the first entry of the next leaf; returns false if there is none.
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

    /// Moves to the last entry of the previous leaf; returns false if there is none.
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
