package import SheafBytes

/// The weights of some entries: how many have one, and their sum modulo 2^64.
///
/// Each page has the weights of all leaf entries on or below it. So the sum over a range of keys
/// costs a path in the tree.
package struct BTreeWeights: Equatable, Sendable {
    package var count = 0
    package var sum: UInt64 = 0

    package init(count: Int = 0, sum: UInt64 = 0) {
        self.count = count
        self.sum = sum
    }

    /// Creates the weights of one entry.
    @inline(__always)
    init(_ value: BTreeValue) {
        count = value.weight == nil ? 0 : 1
        sum = value.weightOrZero
    }

    @inline(__always)
    static func + (left: BTreeWeights, right: BTreeWeights) -> BTreeWeights {
        BTreeWeights(count: left.count &+ right.count, sum: left.sum &+ right.sum)
    }

    @inline(__always)
    static func - (left: BTreeWeights, right: BTreeWeights) -> BTreeWeights {
        BTreeWeights(count: left.count &- right.count, sum: left.sum &- right.sum)
    }
}

extension BTreePage {
    /// Returns the weights of the entries of a leaf in `range`.
    func weights(ofEntries range: Range<Int>) -> BTreeWeights {
        var weights = BTreeWeights()
        for index in range { weights = weights + BTreeWeights(value(index)) }
        return weights
    }

    /// Returns the weights below the children of an inner page in `range`.
    func weights(ofChildren range: Range<Int>, _ page: (UInt32) -> BTreePage) -> BTreeWeights {
        var weights = BTreeWeights()
        for index in range { weights = weights + page(child(index)).weights }
        return weights
    }
}

extension BTree {
    /// Adds to the weights of the pages on the path from a level up.
    @inline(__always)
    func addToWeights(_ path: BTreePath, _ difference: BTreeWeights, from first: Int = 0) {
        guard difference != BTreeWeights() else { return }
        let top = space.page(root).level
        var level = first
        while level <= top {
            let page = space.page(path.page(level))
            page.weights = page.weights + difference
            level &+= 1
        }
    }

    /// Overwrites a page with staged entries and the weights on or below them.
    func write(
        _ stage: borrowing BTreeStage, _ range: Range<Int>, to page: BTreePage, level: Int
    ) {
        stage.write(range, to: page, level: level, version: space.version)
        page.weights =
            level == 0
            ? page.weights(ofEntries: 0..<page.count)
            : page.weights(ofChildren: 0..<page.count) { space.page($0) }
    }
}

extension BTreeView {
    /// Returns the weights of the entries in a range.
    func weights(in range: KeyRange) -> BTreeWeights {
        let end = range.upper.map { weights(before: $0) } ?? page(root).weights
        guard !range.lower.isEmpty else { return end }
        // An empty range may have its bounds in the wrong order.
        if let upper = range.upper, !range.lower.lexicographicallyPrecedes(upper) {
            return BTreeWeights()
        }
        return end - weights(before: range.lower)
    }

    private func weights(before key: [UInt8]) -> BTreeWeights {
        key.withUnsafeBytes { bytes in
            BTreeKey(bytes).map { weights(before: $0) } ?? BTreeWeights()
        }
    }

    private func weights(before key: BTreeKey) -> BTreeWeights {
        var page = page(root)
        var weights = BTreeWeights()
        while true {
            let index = page.isLeaf ? page.pointer(of: key).index : page.childIndex(for: key)
            // The sum is taken over the smaller side.
            if index <= page.count / 2 {
                weights = weights + partial(page, 0..<index)
            } else {
                weights = weights + page.weights - partial(page, index..<page.count)
            }
            if page.isLeaf { return weights }
            page = self.page(page.child(index))
        }
    }

    private func partial(_ page: BTreePage, _ range: Range<Int>) -> BTreeWeights {
        page.isLeaf
            ? page.weights(ofEntries: range)
            : page.weights(ofChildren: range) { self.page($0) }
    }

    /// Returns up to `most` entries without a weight whose keys are in a range, in order.
    ///
    /// Pages on which all entries have one are skipped.
    func unweighted(in range: KeyRange, most: Int) -> [(key: [UInt8], value: BTreeValue)] {
        var found: [(key: [UInt8], value: BTreeValue)] = []
        withUnsafeTemporaryAllocation(byteCount: BTree.maximumKeyCount, alignment: 8) { buffer in
            guard let buffer = buffer.baseAddress else { return }
            _ = collectUnweighted(page(root), range, most, buffer, &found)
        }
        return found
    }

    /// Returns false if the end of the range, or the maximum, is reached.
    private func collectUnweighted(
        _ page: BTreePage, _ range: KeyRange, _ most: Int, _ buffer: UnsafeMutableRawPointer,
        _ found: inout [(key: [UInt8], value: BTreeValue)]
    ) -> Bool {
        let first = range.lower.withUnsafeBytes { bytes in
            BTreeKey(bytes).map {
                page.isLeaf ? page.pointer(of: $0).index : page.childIndex(for: $0)
            } ?? 0
        }
        for index in first..<max(first, page.count) {
            guard page.isLeaf else {
                let child = self.page(page.child(index))
                if child.weights.count < page.entriesBelow(index) {
                    let goesOn = collectUnweighted(child, range, most, buffer, &found)
                    guard goesOn else { return false }
                } else if let upper = range.upper, index + 1 < page.count {
                    let next = Array(page.key(index + 1, in: buffer).bytes)
                    guard next.lexicographicallyPrecedes(upper) else { return false }
                }
                continue
            }
            let value = page.value(index)
            guard value.weight == nil else { continue }
            let key = Array(page.key(index, in: buffer).bytes)
            if let upper = range.upper, !key.lexicographicallyPrecedes(upper) { return false }
            guard found.count < most else { return false }
            found.append((key, value))
        }
        return true
    }
}

extension BTreeSnapshot {
    /// Returns the weights of the entries whose keys are in `range`.
    package func weights(in range: KeyRange) -> BTreeWeights { view.weights(in: range) }

    /// Returns up to `most` entries without a weight whose keys are in `range`, in order.
    package func unweighted(
        in range: KeyRange, most: Int
    ) -> [(key: [UInt8], value: BTreeValue)] {
        view.unweighted(in: range, most: most)
    }
}
