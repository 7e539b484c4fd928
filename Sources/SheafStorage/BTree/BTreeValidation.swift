/// A check that untrusted bytes are the pages of an exported tree.
///
/// Pages are stored level by level, and children are numbered in this order. The child numbers of
/// all pages in sequence must therefore be 2, 3, 4 and so on, which guarantees that every page is
/// reached once and that there is no cycle.
struct BTreeValidation {
    /// The properties of a page that its parent determines.
    private struct Expectation {
        /// The number of leaf entries according to the parent.
        var entries: UInt32 = 0
        /// The page with the lower separator, which exceeds all preceding keys; zero if none.
        var separatorPage: UInt32 = 0
        var separatorIndex: UInt16 = 0
    }

    private let pages: UnsafeRawPointer
    private let pageCount: Int
    private let fanout: Int
    private var expected: [Expectation]
    private var nextChild = 2
    private var lastLeaf: BTreePage?

    /// Checks that the pages are valid and form one tree; returns the number of entries.
    static func validate(
        _ pages: UnsafeRawPointer, pageCount: Int, fanout: Int
    ) throws(BTreeDamage) -> Int {
        var validation = BTreeValidation(pages: pages, pageCount: pageCount, fanout: fanout)
        return try validation.run()
    }

    private init(pages: UnsafeRawPointer, pageCount: Int, fanout: Int) {
        self.pages = pages
        self.pageCount = pageCount
        self.fanout = fanout
        expected = [Expectation](repeating: Expectation(), count: pageCount + 1)
    }

    private func page(_ number: Int) -> BTreePage {
        // The view is mutable, but nothing is written through it.
        BTreePage(UnsafeMutableRawPointer(mutating: pages + (number - 1) * BTreePage.Layout.size))
    }

    private mutating func run() throws(BTreeDamage) -> Int {
        let root = page(1)
        // Half of the maximum depth is reserved for growth.
        guard root.level < BTreeView.maximumDepth / 2 else { throw .page(1) }
        var level = root.level
        var levelEnd = 1
        for number in 1...pageCount {
            if number > levelEnd {
                // After the last page of a level, all children on the next level are known.
                level -= 1
                levelEnd = nextChild - 1
                guard level >= 0, number <= levelEnd else { throw .page(number) }
            }
            try validate(number, level: level)
        }
        guard nextChild == pageCount + 1, level == 0 else { throw .page(pageCount) }
        return Int(expected[1].entries)
    }

    private mutating func validate(_ number: Int, level: Int) throws(BTreeDamage) {
        let page = page(number)
        let isEmptyTree = number == 1 && level == 0
        guard page.isWellFormed(level: level), page.count <= fanout,
            page.count > 0 || isEmptyTree
        else { throw .page(number) }
        var total = page.count
        if level == 0 {
            guard isAfterLastLeaf(page, expected[number]) else { throw .page(number) }
            lastLeaf = page
            let weights = page.weights(ofEntries: 0..<page.count)
            guard weights == page.weights else { throw .page(number) }
        } else {
            total = try expectChildren(of: page, number)
            // The children are checked in turn.
            let weights = page.weights(ofChildren: 0..<page.count) { self.page(Int($0)) }
            guard weights == page.weights else { throw .page(number) }
        }
        if number == 1 {
            guard total <= Int(UInt32.max) else { throw .page(1) }
            expected[1].entries = UInt32(total)
        }
        guard total == Int(expected[number].entries) else { throw .page(number) }
    }

    /// Records what an inner page states about its children; returns its number of leaf entries.
    private mutating func expectChildren(
        of page: BTreePage, _ number: Int
    ) throws(BTreeDamage) -> Int {
        var total = 0
        for index in 0..<page.count {
            guard nextChild <= pageCount, Int(page.child(index)) == nextChild else {
                throw .page(number)
            }
            let entries = page.entriesBelow(index)
            total += entries
            // The first child inherits the separator of its parent.
            var expectation = expected[number]
            expectation.entries = UInt32(truncatingIfNeeded: entries)
            if index > 0 {
                expectation.separatorPage = UInt32(truncatingIfNeeded: number)
                expectation.separatorIndex = UInt16(truncatingIfNeeded: index)
            }
            expected[nextChild] = expectation
            nextChild += 1
        }
        return total
    }

    /// Whether the last key of the previous leaf, the separator and the first key are in order.
    ///
    /// Each pair of adjacent leaves has one separator in some inner page. If this holds for all
    /// leaves, the separators of all levels are in order.
    private func isAfterLastLeaf(_ page: BTreePage, _ expectation: Expectation) -> Bool {
        guard let lastLeaf else { return true }
        return withUnsafeTemporaryAllocation(
            byteCount: 2 * BTree.maximumKeyCount, alignment: 8
        ) { buffer in
            guard let base = buffer.baseAddress else { return false }
            let other = base + BTree.maximumKeyCount
            let separator = self.page(Int(expectation.separatorPage))
                .key(Int(expectation.separatorIndex), in: base)
            let last = lastLeaf.key(lastLeaf.count - 1, in: other)
            guard last.compare(separator) < 0 else { return false }
            return separator.compare(page.key(0, in: other)) <= 0
        }
    }
}

extension BTreePage {
    /// Whether the page is one that an export can write, judging by this page alone.
    ///
    /// Assumes nothing about the bytes: every offset is checked before it is read.
    func isWellFormed(level: Int) -> Bool {
        guard self.level == level, version == 0, dead == 0,
            base.load(fromByteOffset: Layout.nextPage, as: UInt64.self) == 0,
            prefixCount <= Layout.maximumPrefixCount,
            count <= Layout.capacity / (Layout.headSize + slotSize),
            heap <= Layout.size, free >= 0
        else { return false }
        return hasPackedRecords && hasHeadsInOrder
    }

    /// Whether the records are contiguous up to the end of the page and have valid lengths.
    private var hasPackedRecords: Bool {
        let isLeaf = isLeaf
        let heap = heap
        let slotSize = slotSize
        let maximumSuffix = BTree.maximumKeyCount - prefixCount
        var slot = UnsafeRawPointer(slots)
        var offset = Layout.size
        for index in 0..<count {
            let lengths = Int(slot.load(fromByteOffset: 2, as: UInt16.self))
            let suffix = lengths & Layout.suffixMask
            let value = lengths &>> Layout.suffixBits
            offset &-= max(suffix &- Layout.headSize, 0) &+ value
            guard suffix <= maximumSuffix, offset >= heap,
                Int(slot.load(as: UInt16.self)) == offset,
                isLeaf ? BTreeValue.isValid(count: value) : value == 0
            else { return false }
            if suffix < Layout.headSize {
                // Missing key bytes are zero in the head; otherwise the entry would sort
                // incorrectly.
                let unused = UInt64.max >> UInt64(truncatingIfNeeded: 8 * suffix)
                guard heads[index] & unused == 0 else { return false }
                guard suffix > 0 || prefixCount > 0 || !isLeaf else { return false }
            }
            slot += slotSize
        }
        return offset == heap
    }

    private var hasHeadsInOrder: Bool {
        // The first entry of an inner page has no key.
        let first = isLeaf ? 0 : 1
        if !isLeaf, count > 0 {
            guard heads[0] == 0, suffixCount(0) == 0 else { return false }
        }
        guard count > first + 1 else { return true }
        let heads = heads
        for index in first + 1..<count where heads[index - 1] >= heads[index] {
            guard heads[index - 1] == heads[index], precedesNext(index - 1) else { return false }
        }
        return true
    }

    /// Whether an entry sorts before the next one, which has the same head.
    private func precedesNext(_ index: Int) -> Bool {
        let (mine, next) = (suffixCount(index), suffixCount(index + 1))
        let shared = min(mine, next) - Layout.headSize
        if shared > 0 {
            let order = BTreeKey.compare(
                base + recordOffset(index), base + recordOffset(index + 1), count: shared)
            if order != 0 { return order < 0 }
        }
        return mine < next
    }
}
