import SheafBytes

/// Puts of many keys in ascending order.
///
/// The next key often belongs on the leaf of the last one, so it is looked up there first:
/// ```
///            root
///         ┌────┴──────┐
///       leaf         leaf
///     a c f m       p  r  t      put b, d, n: one descent; then q: another one
/// ```
/// Counts and weights of the pages above are updated once for each leaf.
extension BTree {
    /// The leaf of the last key, and its changes not yet added to the pages above.
    private struct Leaf {
        let path: BTreePath
        /// Memory for the key at which the next leaf begins.
        let buffer: UnsafeMutableRawPointer
        /// The key at which the next leaf begins; nil if there is none.
        var upperBound: BTreeKey?
        /// Whether the path leads to a leaf.
        var hasPath = false
        var addedCount = 0
        var addedWeights = BTreeWeights()

        func contains(_ key: BTreeKey) -> Bool {
            hasPath && upperBound.map { key.precedes($0) } ?? true
        }
    }

    /// Sets the values of keys in ascending order; calls `replacing` with each previous value.
    package mutating func put(
        ascending count: Int,
        _ entry: (_ index: Int) -> (key: UnsafeRawBufferPointer, value: BTreeValue),
        replacing: (_ index: Int, _ old: BTreeValue?) -> Void
    ) {
        withUnsafeTemporaryAllocation(
            of: BTreeStep.self, capacity: BTreeView.maximumDepth
        ) { steps in
            withUnsafeTemporaryAllocation(byteCount: Self.maximumKeyCount, alignment: 8) { buffer in
                guard let steps = steps.baseAddress, let buffer = buffer.baseAddress else { return }
                var leaf = Leaf(path: BTreePath(steps), buffer: buffer)
                for index in 0..<count {
                    let (bytes, value) = entry(index)
                    precondition(
                        bytes.count <= Self.maximumKeyCount, "A key has at most 1,032 bytes.")
                    guard let key = BTreeKey(bytes) else {
                        preconditionFailure("A key has at least one byte.")
                    }
                    replacing(index, put(key, value, &leaf))
                }
                addPending(&leaf)
            }
        }
    }

    private mutating func put(
        _ key: BTreeKey, _ value: BTreeValue, _ leaf: inout Leaf
    ) -> BTreeValue? {
        let path = leaf.path
        let isFound: Bool
        if leaf.contains(key) {
            let number = path.page(0)
            let (index, isPresent) = space.page(number).pointer(of: key)
            path.set(0, page: number, index: index)
            isFound = isPresent
        } else {
            addPending(&leaf)
            isFound = path.descend(view, to: key)
            makeWritable(path)
            leaf.upperBound = upperBound(of: path, in: leaf.buffer)
            leaf.hasPath = true
        }
        let page = space.page(path.page(0))
        let index = path.index(0)
        let old = isFound ? page.value(index) : nil
        let difference = BTreeWeights(value) - (old.map { BTreeWeights($0) } ?? BTreeWeights())
        // The leaf's own weights are updated immediately: rewriting it recomputes them.
        page.weights = page.weights + difference
        leaf.addedWeights = leaf.addedWeights + difference
        if isFound {
            if page.overwrite(index, value) { return old }
            page.remove(index)
        } else {
            precondition(count < Int(UInt32.max), "Pages count their entries in 32 bits.")
            leaf.addedCount += 1
        }
        if !insertInPlace(key, value, page, at: index) {
            addPending(&leaf)
            insert(key, value, path, level: 0)
            // A split may have changed the path.
            leaf.hasPath = false
        }
        return old
    }

    /// Returns the key at which the next leaf begins; nil if the path leads to the last one.
    private func upperBound(of path: BTreePath, in buffer: UnsafeMutableRawPointer) -> BTreeKey? {
        let top = space.page(root).level
        var level = 1
        while level <= top {
            let page = space.page(path.page(level))
            let next = path.index(level) &+ 1
            if next < page.count { return page.key(next, in: buffer) }
            level &+= 1
        }
        return nil
    }

    /// Adds the leaf's pending count and weights to the pages above it.
    private mutating func addPending(_ leaf: inout Leaf) {
        guard leaf.hasPath else { return }
        if leaf.addedCount != 0 { addToCounts(leaf.path, leaf.addedCount) }
        addToWeights(leaf.path, leaf.addedWeights, from: 1)
        (leaf.addedCount, leaf.addedWeights) = (0, BTreeWeights())
    }
}
