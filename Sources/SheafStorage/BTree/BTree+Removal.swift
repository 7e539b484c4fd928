extension BTree {
    /// Removes the entry of `key` and returns its value.
    @discardableResult
    package mutating func remove(_ key: UnsafeRawBufferPointer) -> BTreeValue? {
        guard let key = BTreeKey(key) else { return nil }
        return withUnsafeTemporaryAllocation(
            of: BTreeStep.self, capacity: BTreeView.maximumDepth
        ) { steps in
            guard let steps = steps.baseAddress else { return nil }
            return remove(key, BTreePath(steps))
        }
    }

    private mutating func remove(_ key: BTreeKey, _ path: BTreePath) -> BTreeValue? {
        guard path.descend(view, to: key) else { return nil }
        makeWritable(path)
        let leaf = space.page(path.page(0))
        let index = path.index(0)
        let old = leaf.value(index)
        leaf.remove(index)
        addToCounts(path, -1)
        addToWeights(path, BTreeWeights() - BTreeWeights(old))
        if isUnderfull(leaf) { mergeUpward(path) }
        return old
    }

    private func isUnderfull(_ page: BTreePage) -> Bool {
        page.used < BTreePage.Layout.capacity / 4
    }

    /// Merges underfull pages on the path and removes a root that has one child.
    private mutating func mergeUpward(_ path: BTreePath) {
        let top = space.page(root).level
        var level = 0
        while level < top {
            let page = space.page(path.page(level))
            if page.count == 0 {
                space.page(path.page(level + 1)).removeChild(path.index(level + 1))
                space.release(path.page(level))
            } else if !isUnderfull(page) || !mergeWithNeighbor(path, level: level) {
                break
            }
            level += 1
        }
        lowerRoot()
    }

    private mutating func lowerRoot() {
        while true {
            let page = space.page(root)
            guard !page.isLeaf, page.count < 2 else { return }
            if page.count == 0 { return page.clear(level: 0, version: space.version) }
            let child = page.child(0)
            space.release(root)
            root = child
            // A snapshot may see the new root; it is copied when it changes.
        }
    }

    /// Merges the page at `level` with a neighbor if both fit on one page.
    private mutating func mergeWithNeighbor(_ path: BTreePath, level: Int) -> Bool {
        let parent = space.page(path.page(level + 1))
        let index = path.index(level + 1)
        if index + 1 < parent.count, merge(parent, index, level: level) { return true }
        return index > 0 && merge(parent, index - 1, level: level)
    }

    /// Merges the child at `index` of `parent` with the next one if the result has spare room.
    private mutating func merge(_ parent: BTreePage, _ index: Int, level: Int) -> Bool {
        let leftNumber = parent.child(index)
        let rightNumber = parent.child(index + 1)
        let left = space.page(leftNumber)
        let right = space.page(rightNumber)
        // A merged page that is nearly full would soon be split again.
        let limit = BTreePage.Layout.capacity * 3 / 4
        guard left.count + right.count <= fanout * 3 / 4, left.used + right.used <= limit else {
            return false
        }
        var stage = BTreeStage(prefixOfLoneEntry: left.prefixCount)
        stage.append(left, 0..<left.count)
        if level == 0 {
            stage.append(right, 0..<right.count)
        } else {
            // The first entry of the right page has no key; the parent's separator becomes its key.
            appendChildren(of: right, separatedBy: parent, index + 1, to: &stage)
        }
        let all = 0..<stage.count
        guard stage.size(all, level: level) <= limit else { return false }
        let target = writable(leftNumber)
        write(stage, all, to: space.page(target), level: level)
        space.release(rightNumber)
        parent.setChild(index, target)
        parent.setEntriesBelow(index, stage.total(all, level: level))
        parent.removeChild(index + 1)
        return true
    }

    private func appendChildren(
        of page: BTreePage, separatedBy parent: BTreePage, _ index: Int,
        to stage: inout BTreeStage
    ) {
        withUnsafeTemporaryAllocation(byteCount: Self.maximumKeyCount, alignment: 8) { buffer in
            guard let buffer = buffer.baseAddress else { return }
            stage.append(parent.key(index, in: buffer), page.payload(0))
        }
        stage.append(page, 1..<page.count)
    }
}
