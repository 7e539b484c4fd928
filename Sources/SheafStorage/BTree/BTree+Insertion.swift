extension BTree {
    /// Sets the value of `key` and returns the previous value.
    @discardableResult
    package mutating func put(
        _ key: UnsafeRawBufferPointer, _ value: BTreeValue
    ) -> BTreeValue? {
        precondition(key.count <= Self.maximumKeyCount, "A key has at most 1,032 bytes.")
        guard let key = BTreeKey(key) else { preconditionFailure("A key has at least one byte.") }
        return withUnsafeTemporaryAllocation(
            of: BTreeStep.self, capacity: BTreeView.maximumDepth
        ) { steps in
            guard let steps = steps.baseAddress else { return nil }
            return put(key, value, BTreePath(steps))
        }
    }

    @inline(__always)
    private mutating func put(
        _ key: BTreeKey, _ value: BTreeValue, _ path: BTreePath
    ) -> BTreeValue? {
        let isFound = path.descend(view, to: key)
        makeWritable(path)
        guard isFound else {
            precondition(count < Int(UInt32.max), "Pages count their entries in 32 bits.")
            addToCounts(path, 1)
            addToWeights(path, BTreeWeights(value))
            insert(key, value, path, level: 0)
            return nil
        }
        let leaf = space.page(path.page(0))
        let index = path.index(0)
        let old = leaf.value(index)
        addToWeights(path, BTreeWeights(value) - BTreeWeights(old))
        if !leaf.overwrite(index, value) {
            leaf.remove(index)
            insert(key, value, path, level: 0)
        }
        return old
    }

    /// Inserts an entry before the one on the path at `level`.
    @inline(__always)
    mutating func insert(
        _ key: BTreeKey, _ payload: BTreeValue, _ path: BTreePath, level: Int
    ) {
        let page = space.page(path.page(level))
        if !insertInPlace(key, payload, page, at: path.index(level)) {
            insertByRewriting(key, payload, path, level: level)
        }
    }

    /// Inserts an entry if the page has room and the key has its prefix; returns whether it did.
    @inline(__always)
    func insertInPlace(
        _ key: BTreeKey, _ payload: BTreeValue, _ page: BTreePage, at index: Int
    ) -> Bool {
        guard page.count < fanout, page.hasRoom(for: key, payload), page.sharesPrefix(key) else {
            return false
        }
        page.insert(key, payload, at: index)
        if page.wantsLongerPrefix { rewrite(page) }
        return true
    }

    /// Rewrites a page with the longest prefix that its keys share.
    @inline(never)
    private func rewrite(_ page: BTreePage) {
        var stage = BTreeStage(prefixOfLoneEntry: page.prefixCount)
        stage.append(page, 0..<page.count)
        write(stage, 0..<stage.count, to: page, level: page.level)
    }

    /// Inserts an entry into a page that needs another prefix, compaction or a split.
    @inline(never)
    private mutating func insertByRewriting(
        _ key: BTreeKey, _ payload: BTreeValue, _ path: BTreePath, level: Int
    ) {
        let page = space.page(path.page(level))
        let index = path.index(level)
        var stage = BTreeStage(prefixOfLoneEntry: page.prefixCount)
        stage.append(page, inserting: key, payload, at: index)
        let all = 0..<stage.count
        // Reclaiming less than a sixteenth of the page would soon have to be repeated.
        let worthwhile = BTreePage.Layout.capacity - BTreePage.Layout.capacity / 16
        if all.count <= fanout, stage.size(all, level: level) <= worthwhile {
            write(stage, all, to: page, level: level)
            return
        }
        let middle = splitIndex(stage, newEntry: index, level: level)
        split(stage, at: middle, path, level: level)
    }

    /// Moves the entries at `middle` and after it to a new page.
    private mutating func split(
        _ stage: borrowing BTreeStage, at middle: Int, _ path: BTreePath, level: Int
    ) {
        let left = path.page(level)
        let right = space.allocate()
        let leftRange = 0..<middle
        let rightRange = middle..<stage.count
        write(stage, leftRange, to: space.page(left), level: level)
        write(stage, rightRange, to: space.page(right), level: level)
        let leftTotal = stage.total(leftRange, level: level)
        let rightChild = BTreeValue(
            child: right, entries: stage.total(rightRange, level: level))
        // Between leaves, the shortest key that separates them suffices.
        let key = stage.key(middle)
        let separator = BTreeKey(
            key.base, count: level == 0 ? stage.separatorCount(before: middle) : key.count)
        if left == root {
            growRoot(left, entries: leftTotal, separator, rightChild, level: level + 1)
            return
        }
        let parent = space.page(path.page(level + 1))
        let index = path.index(level + 1)
        parent.setEntriesBelow(index, leftTotal)
        path.set(level + 1, page: path.page(level + 1), index: index + 1)
        insertAbove(separator, rightChild, path, level: level + 1)
    }

    // If inlined, `insert` would contain itself.
    @inline(never)
    private mutating func insertAbove(
        _ key: BTreeKey, _ child: BTreeValue, _ path: BTreePath, level: Int
    ) {
        insert(key, child, path, level: level)
    }

    private mutating func growRoot(
        _ left: UInt32, entries: Int, _ separator: BTreeKey, _ rightChild: BTreeValue,
        level: Int
    ) {
        precondition(level < BTreeView.maximumDepth, "A tree has at most 64 levels.")
        root = space.allocate()
        var stage = BTreeStage(prefixOfLoneEntry: 0)
        stage.append(separator, BTreeValue(child: left, entries: entries))
        stage.append(separator, rightChild)
        write(stage, 0..<2, to: space.page(root), level: level)
    }

    /// Returns the index of the right page's first entry, such that the entries fit on both pages.
    private func splitIndex(
        _ stage: borrowing BTreeStage, newEntry: Int, level: Int
    ) -> Int {
        let wanted = preferredSplitIndex(stage, newEntry: newEntry, level: level)
        if fits(stage, at: wanted, level: level) { return wanted }
        for distance in 1..<stage.count {
            for index in [wanted - distance, wanted + distance]
            where fits(stage, at: index, level: level) {
                return index
            }
        }
        preconditionFailure("A page and one more entry always fit on two pages.")
    }

    /// Returns the split index that halves the bytes, or leaves one page full for keys in sequence.
    private func preferredSplitIndex(
        _ stage: borrowing BTreeStage, newEntry: Int, level: Int
    ) -> Int {
        if newEntry == stage.count - 1 { return newEntry }
        if newEntry == 0 { return 1 }
        let all = 0..<stage.count
        let prefix = stage.prefixCount(all, level: level)
        let half = stage.size(all, prefixCount: prefix, level: level) / 2
        let fixed = BTreePage.Layout.headSize + BTreeStage.slotSize(level)
        var size = 0
        var index = 0
        while index < stage.count - 1 {
            size += fixed + stage.recordSize(index, prefixCount: prefix, level: level)
            index += 1
            if size >= half { break }
        }
        return index
    }

    private func fits(_ stage: borrowing BTreeStage, at index: Int, level: Int) -> Bool {
        guard 1..<stage.count ~= index else { return false }
        for range in [0..<index, index..<stage.count] {
            let size = stage.size(range, level: level)
            guard range.count <= fanout, size <= BTreePage.Layout.capacity else { return false }
        }
        return true
    }
}
