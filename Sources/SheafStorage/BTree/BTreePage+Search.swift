extension BTreePage {
    /// Returns the index of `key` on a leaf, or the index at which to insert it.
    @inline(__always)
    func pointer(of key: BTreeKey) -> (index: Int, isFound: Bool) {
        let order = comparePrefix(with: key)
        guard order == 0 else { return (order < 0 ? 0 : count, false) }
        let head = key.head(at: prefixCount)
        let index = headsBelow(head)
        guard index < count, heads[index] == head else { return (index, false) }
        return indexAmongEqualHeads(from: index, key)
    }

    /// Returns the index of the inner entry whose child may hold `key`.
    @inline(__always)
    func childIndex(for key: BTreeKey) -> Int {
        let order = comparePrefix(with: key)
        guard order == 0 else { return order < 0 ? 0 : count &- 1 }
        let head = key.head(at: prefixCount)
        let index = headsUpTo(head) &- 1
        // The first entry has no key and a head of zero, so at least one head is less or equal.
        guard index > 0, heads[index] == head else { return max(index, 0) }
        return childIndexAmongEqualHeads(upTo: index, key)
    }

    /// Compares `key` with the prefix; zero means that the key begins with the prefix.
    @inline(__always)
    private func comparePrefix(with key: BTreeKey) -> Int {
        let count = prefixCount
        if count == 0 { return 0 }
        if count <= 8, key.count >= 8 {
            let unused = UInt64(truncatingIfNeeded: 64 &- 8 &* count)
            let mine = UInt64(bigEndian: prefix.load(as: UInt64.self)) &>> unused
            let other = key.head(at: 0) &>> unused
            return mine == other ? 0 : (other < mine ? -1 : 1)
        }
        let order = BTreeKey.compare(key.base, prefix, count: min(count, key.count))
        return order != 0 ? order : (key.count < count ? -1 : 0)
    }

    /// Returns the number of heads less than `head`, without branches that depend on the heads.
    ///
    /// The last head of each cache line determines the line to search. All lines are thus loaded in
    /// parallel, where a binary search would load them one after the other; this saves a tenth of a
    /// lookup.
    @inline(__always)
    private func headsBelow(_ head: UInt64) -> Int {
        let headsPerLine = 8
        let heads = heads
        let count = count
        var lines = 0
        var last = headsPerLine &- 1
        while last < count {
            lines &+= heads[last] < head ? 1 : 0
            last &+= headsPerLine
        }
        let start = lines &* headsPerLine
        var left = min(count &- start, headsPerLine)
        if left == 0 { return start }
        var first = heads + start
        while left > 1 {
            let half = left &>> 1
            first = first[half &- 1] < head ? first + half : first
            left &-= half
        }
        return (first - heads) &+ (first.pointee < head ? 1 : 0)
    }

    /// Returns the number of heads less than or equal to `head`.
    @inline(__always)
    private func headsUpTo(_ head: UInt64) -> Int {
        head == .max ? count : headsBelow(head &+ 1)
    }

    @inline(__always)
    private func indexAmongEqualHeads(
        from first: Int, _ key: BTreeKey
    ) -> (index: Int, isFound: Bool) {
        let order = compareEqualHead(first, key)
        if order >= 0 { return (first, order == 0) }
        let next = first &+ 1
        guard next < count, heads[next] == heads[first] else { return (next, false) }
        return indexInRun(from: next, key)
    }

    /// Searches a run of equal heads, which occurs if keys share more bytes than a prefix can hold.
    @inline(never)
    private func indexInRun(from first: Int, _ key: BTreeKey) -> (index: Int, isFound: Bool) {
        var low = first
        var high = headsUpTo(heads[first])
        let next = key.head(at: prefixCount &+ Layout.headSize)
        while low < high {
            let middle = (low &+ high) &>> 1
            let order = compareEqualHead(middle, key, next)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    @inline(never)
    private func childIndexAmongEqualHeads(upTo last: Int, _ key: BTreeKey) -> Int {
        var low = headsBelow(heads[last])
        var high = last &+ 1
        let next = key.head(at: prefixCount &+ Layout.headSize)
        while low < high {
            let middle = (low &+ high) &>> 1
            if compareEqualHead(middle, key, next) <= 0 { low = middle &+ 1 } else { high = middle }
        }
        return max(low &- 1, 0)
    }

    /// Compares an entry with a key; `next` are the eight bytes of the key after its head.
    ///
    /// These usually decide, with two loads.
    @inline(__always)
    private func compareEqualHead(_ index: Int, _ key: BTreeKey, _ next: UInt64) -> Int {
        let slot = slot(index).load(as: UInt32.self)
        let rest = Int(slot &>> 16) & Layout.suffixMask &- Layout.headSize
        guard rest > 0 else { return compareEqualHead(index, key) }
        // The word that ends with the last of these bytes is within the page, unlike the one that
        // begins with the first of them.
        let (used, record) = (min(rest, 8), base + Int(slot & 0xFFFF))
        let unused = UInt64(truncatingIfNeeded: 64 &- 8 &* used)
        let word = UInt64(bigEndian: (record + (used &- 8)).loadUnaligned(as: UInt64.self))
        let (mine, other) = (word & (UInt64.max &>> unused), next &>> unused)
        return mine == other ? compareEqualHead(index, key) : (mine < other ? -1 : 1)
    }

    /// Compares an entry with a key that has the same prefix and the same head.
    @inline(__always)
    private func compareEqualHead(_ index: Int, _ key: BTreeKey) -> Int {
        let mine = suffixCount(index)
        let other = key.count &- prefixCount
        let shared = min(mine, other) &- Layout.headSize
        if shared > 0 {
            let order = BTreeKey.compareEnds(
                base + recordOffset(index), key.base + (prefixCount &+ Layout.headSize),
                count: shared)
            if order != 0 { return order }
        }
        return mine &- other
    }

    /// Whether `key` begins with the prefix of the page.
    @inline(__always)
    func sharesPrefix(_ key: BTreeKey) -> Bool {
        comparePrefix(with: key) == 0
    }

    /// Returns the length of an entry's key in bytes.
    @inline(__always)
    func keyCount(_ index: Int) -> Int { prefixCount &+ suffixCount(index) }

    /// Writes the prefix to `buffer`; `writeSuffix` completes the key.
    @inline(__always)
    func writePrefix(to buffer: UnsafeMutableRawPointer) {
        buffer.copyFew(from: prefix, count: prefixCount)
    }

    /// Writes an entry's suffix after the prefix in `buffer`; returns the length of the key.
    ///
    /// The buffer must have room for 48 bytes, or for the key if it is longer.
    @inline(__always)
    func writeSuffix(_ index: Int, to buffer: UnsafeMutableRawPointer) -> Int {
        let prefixCount = prefixCount
        let slot = slot(index).load(as: UInt32.self)
        let suffix = Int(slot &>> 16) & Layout.suffixMask
        let target = buffer + prefixCount
        target.storeBytes(of: heads[index].bigEndian, as: UInt64.self)
        if suffix > Layout.headSize {
            (target + Layout.headSize).copyFew(
                from: base + Int(slot & 0xFFFF), count: suffix &- Layout.headSize)
        }
        return prefixCount &+ suffix
    }

    /// Loads one word of every cache line of the heap, so that the lines are fetched in parallel.
    ///
    /// Records are stored in the order of insertion, so a scan would otherwise wait for each cache
    /// line. This makes long scans faster by a quarter. The loaded words are written to the end of
    /// `buffer`, a key buffer, only to prevent the compiler from removing the loads.
    @inline(__always)
    func fetchRecords(noting buffer: UnsafeMutableRawPointer) {
        var offset = heap & ~63
        var trace: UInt64 = 0
        while offset < Layout.size {
            trace |= base.load(fromByteOffset: offset, as: UInt64.self)
            offset &+= 64
        }
        buffer.storeBytes(
            of: trace, toByteOffset: BTree.maximumKeyCount &- 8, as: UInt64.self)
    }

    /// Writes the key of an entry to `buffer` and returns it.
    @inline(__always)
    func key(_ index: Int, in buffer: UnsafeMutableRawPointer) -> BTreeKey {
        writePrefix(to: buffer)
        return BTreeKey(buffer, count: writeSuffix(index, to: buffer))
    }
}
