extension BTreeSnapshot {
    /// Returns descriptions of all violated invariants in the pages of this snapshot.
    ///
    /// `expected` is the number of entries; nil is the number that the snapshot has counted.
    package func checkInvariants(count expected: Int? = nil) -> [String] {
        var check = BTreeCheck(view: view, fanout: BTree.maximumFanout)
        check.run(count: expected ?? count)
        return check.violations
    }
}

extension BTree {
    /// Returns descriptions of all violated invariants in the tree.
    package func checkInvariants() -> [String] {
        var check = BTreeCheck(view: view, fanout: fanout)
        check.run(count: count)
        let reachable = check.reached.count { space.isCounted($0) }
        let idle = space.idlePages()
        for page in idle where !check.reached.insert(page).inserted {
            check.violations.append("page \(page) is both in use and idle, or idle twice")
        }
        let dropped = space.droppedPages
        if reachable + idle.count + dropped != space.allocatedPages {
            check.violations.append(
                "of \(space.allocatedPages) pages, \(reachable) are reachable, \(idle.count) idle "
                    + "and \(dropped) dropped")
        }
        return check.violations
    }
}

/// A walk over all pages of a tree that collects violated invariants.
private struct BTreeCheck {
    let view: BTreeView
    let fanout: Int
    var violations: [String] = []
    var reached: Set<UInt32> = []
    private var lastKey: [UInt8]?

    init(view: BTreeView, fanout: Int) {
        self.view = view
        self.fanout = fanout
    }

    /// Checks all pages and compares the number of entries with `count`.
    mutating func run(count: Int) {
        let level = view.page(view.root).level
        let total = visit(view.root, level: level, from: nil, to: nil)
        if total != count { violations.append("\(total) entries found, but \(count) counted") }
    }

    /// Checks a page and its descendants; returns the number of entries.
    private mutating func visit(
        _ number: UInt32, level: Int, from lower: [UInt8]?, to upper: [UInt8]?
    ) -> Int {
        guard reached.insert(number).inserted else {
            violations.append("page \(number) is reached twice")
            return 0
        }
        let page = view.page(number)
        if page.level != level {
            violations.append("page \(number) has level \(page.level) instead of \(level)")
            return 0
        }
        checkHeader(page, number)
        checkHeap(page, number)
        let keys = checkedKeys(page, number)
        let weights =
            level == 0
            ? page.weights(ofEntries: 0..<page.count)
            : page.weights(ofChildren: 0..<page.count) { view.page($0) }
        if weights != page.weights {
            violations.append(
                "page \(number) has the weights \(page.weights) instead of \(weights)")
        }
        if level == 0 {
            for key in keys { checkLeafKey(key, number, lower, upper) }
            return page.count
        }
        var total = 0
        for index in keys.indices {
            let from = index == 0 ? lower : keys[index]
            let to = index + 1 < keys.count ? keys[index + 1] : upper
            let below = visit(page.child(index), level: level - 1, from: from, to: to)
            if below != page.entriesBelow(index) {
                violations.append(
                    "page \(number) counts \(page.entriesBelow(index)) of \(below) entries "
                        + "below its entry \(index)")
            }
            total += below
        }
        return total
    }

    private mutating func checkHeader(_ page: BTreePage, _ number: UInt32) {
        if page.count > fanout { violations.append("page \(number) has too many entries") }
        if page.count == 0, number != view.root || !page.isLeaf {
            violations.append("page \(number) is empty")
        }
        if page.prefixCount > BTreePage.Layout.maximumPrefixCount {
            violations.append("page \(number) has too long a prefix")
        }
        if page.free < 0 { violations.append("the arrays of page \(number) reach into its heap") }
    }

    private mutating func checkHeap(_ page: BTreePage, _ number: UInt32) {
        let records = (0..<page.count)
            .map { (offset: page.recordOffset($0), size: page.recordSize($0)) }
            .filter { $0.size > 0 }
            .sorted { $0.offset < $1.offset }
        var end = page.heap
        for record in records {
            if record.offset < end { violations.append("records of page \(number) overlap") }
            end = record.offset + record.size
        }
        if end > BTreePage.Layout.size {
            violations.append("a record of page \(number) ends after the page")
        }
        let live = records.reduce(0) { $0 + $1.size }
        if page.heap + live + page.dead != BTreePage.Layout.size {
            violations.append("page \(number) has a wrong count of unused heap bytes")
        }
    }

    /// Returns the keys of the page after checking their order and their heads.
    private mutating func checkedKeys(_ page: BTreePage, _ number: UInt32) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        withUnsafeTemporaryAllocation(
            byteCount: BTree.maximumKeyCount + BTreePage.Layout.headSize, alignment: 8
        ) { buffer in
            guard let base = buffer.baseAddress else { return }
            for index in 0..<page.count {
                let key = page.key(index, in: base)
                if key.head(at: page.prefixCount) != page.heads[index] {
                    violations.append("head \(index) of page \(number) does not match its key")
                }
                keys.append(Array(key.bytes))
            }
        }
        // The first entry of an inner page has no key.
        let first = page.isLeaf ? 0 : 1
        for index in keys.indices where index > first {
            if !precedes(keys[index - 1], keys[index]) {
                violations.append(
                    "keys \(index - 1) and \(index) of page \(number) are not in order")
            }
        }
        return keys
    }

    private mutating func checkLeafKey(
        _ key: [UInt8], _ number: UInt32, _ lower: [UInt8]?, _ upper: [UInt8]?
    ) {
        if key.isEmpty { violations.append("page \(number) holds a key without bytes") }
        if let lastKey, !precedes(lastKey, key) {
            violations.append("a key of page \(number) is not above the key before it")
        }
        if let lower, precedes(key, lower) {
            violations.append("a key of page \(number) is below the separator before the page")
        }
        if let upper, !precedes(key, upper) {
            violations.append("a key of page \(number) is not below the separator after the page")
        }
        lastKey = key
    }

    /// Whether `left` sorts before `right` in the order of the tree.
    private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let right = BTreeKey(right) else { return false }
                guard let left = BTreeKey(left) else { return true }
                return left.compare(right) < 0
            }
        }
    }
}
