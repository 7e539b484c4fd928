extension BTreePage {
    /// Where `key` is on a leaf, or where it would have to be inserted.
    @inline(__always)
    func place(of key: BTreeKey) -> (index: Int, isFound: Bool) {
        let order = comparePrefix(with: key)
        guard order == 0 else { return (order < 0 ? 0 : count, false) }
        let head = key.head(at: prefixCount)
        let index = headsBelow(head)
        guard index < count, heads[index] == head else { return (index, false) }
        return placeAmongEqualHeads(from: index, key)
    }

    /// The entry of an inner page whose child may hold `key`.
    @inline(__always)
    func childIndex(for key: BTreeKey) -> Int {
        let order = comparePrefix(with: key)
        guard order == 0 else { return order < 0 ? 0 : count &- 1 }
        let head = key.head(at: prefixCount)
        let index = headsUpTo(head) &- 1
        // The first entry has no key and a head of zero, so there is always one at or below.
        guard index > 0, heads[index] == head else { return max(index, 0) }
        return childIndexAmongEqualHeads(upTo: index, key)
    }

    /// Less than, equal to or greater than zero, as `key` is below, within or above the prefix.
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

    /// How many heads are less than `head`; no branch depends on the heads.
    ///
    /// The last head of each cache line tells which line to look in. So all lines are fetched at once,
    /// where halving from the middle would wait for one after the other: a tenth of a whole lookup.
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

    /// How many heads are `head` or less.
    @inline(__always)
    private func headsUpTo(_ head: UInt64) -> Int {
        head == .max ? count : headsBelow(head &+ 1)
    }

    @inline(__always)
    private func placeAmongEqualHeads(
        from first: Int, _ key: BTreeKey
    ) -> (index: Int, isFound: Bool) {
        let order = compareEqualHead(first, key)
        if order >= 0 { return (first, order == 0) }
        let next = first &+ 1
        guard next < count, heads[next] == heads[first] else { return (next, false) }
        return placeInRun(from: next, key)
    }

    /// Long runs happen where keys share more bytes than the prefix can hold.
    @inline(never)
    private func placeInRun(from first: Int, _ key: BTreeKey) -> (index: Int, isFound: Bool) {
        var low = first
        var high = headsUpTo(heads[first])
        while low < high {
            let middle = (low &+ high) &>> 1
            let order = compareEqualHead(middle, key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    @inline(never)
    private func childIndexAmongEqualHeads(upTo last: Int, _ key: BTreeKey) -> Int {
        var low = headsBelow(heads[last])
        var high = last &+ 1
        while low < high {
            let middle = (low &+ high) &>> 1
            if compareEqualHead(middle, key) <= 0 { low = middle &+ 1 } else { high = middle }
        }
        return max(low &- 1, 0)
    }

    /// Compares an entry with a key whose prefix and head are known to be the same.
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

    /// How many bytes the key of an entry has.
    @inline(__always)
    func keyCount(_ index: Int) -> Int { prefixCount &+ suffixCount(index) }

    /// Writes the prefix to `buffer`, where `writeSuffix` completes it to a key.
    @inline(__always)
    func writePrefix(to buffer: UnsafeMutableRawPointer) {
        buffer.copyFew(from: prefix, count: prefixCount)
    }

    /// Writes what follows the prefix in a key behind the prefix in `buffer`; returns the length.
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

    /// Reads a word of every cache line with records, so that they are fetched all at once.
    ///
    /// Records lie in the order in which they came, so a scan that went for one after the other would
    /// wait for each: this makes long ones faster by a quarter. The words leave a trace at the end of
    /// `buffer`, a buffer for keys, only because the compiler would not read them for nothing.
    @inline(__always)
    func fetchRecords(noting buffer: UnsafeMutableRawPointer) {
        var place = heap & ~63
        var trace: UInt64 = 0
        while place < Layout.size {
            trace |= base.load(fromByteOffset: place, as: UInt64.self)
            place &+= 64
        }
        buffer.storeBytes(
            of: trace, toByteOffset: BTree.maximumKeyCount &- 8, as: UInt64.self)
    }

    /// Writes the key of an entry to `buffer`.
    @inline(__always)
    func key(_ index: Int, in buffer: UnsafeMutableRawPointer) -> BTreeKey {
        writePrefix(to: buffer)
        return BTreeKey(buffer, count: writeSuffix(index, to: buffer))
    }
}
