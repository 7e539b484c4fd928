extension BTreePage {
    /// Whether `key`, which shares the prefix, fits between the arrays and the heap.
    @inline(__always)
    func hasRoom(for key: BTreeKey, _ payload: BTreeValue) -> Bool {
        let rest = max(key.count &- prefixCount &- Layout.headSize, 0)
        let value = isLeaf ? payload.count : 0
        return free >= Layout.headSize &+ slotSize &+ rest &+ value
    }

    /// Inserts an entry before `index`; the caller has checked that it fits and shares the prefix.
    @inline(__always)
    func insert(_ key: BTreeKey, _ payload: BTreeValue, at index: Int) {
        let oldCount = count
        let slotSize = slotSize
        let oldSlots = slots
        let split = oldSlots + slotSize &* index
        (split + (Layout.headSize &+ slotSize)).copyMemory(
            from: split, byteCount: slotSize &* (oldCount &- index))
        (oldSlots + Layout.headSize).copyMemory(from: oldSlots, byteCount: slotSize &* index)
        let head = heads + index
        UnsafeMutableRawPointer(head + 1).copyMemory(
            from: head, byteCount: Layout.headSize &* (oldCount &- index))
        count = oldCount &+ 1
        writeEntry(key, payload, at: index)
    }

    /// Writes the head, slot and record of an entry whose array slots are already reserved.
    @inline(__always)
    func writeEntry(_ key: BTreeKey, _ payload: BTreeValue, at index: Int) {
        let prefixCount = prefixCount
        let suffix = key.count &- prefixCount
        let rest = max(suffix &- Layout.headSize, 0)
        heads[index] = key.head(at: prefixCount)
        let isLeaf = isLeaf
        let valueCount = isLeaf ? payload.count : 0
        let offset = heap &- rest &- valueCount
        heap = offset
        setSlot(index, offset: offset, suffixCount: suffix, valueCount: valueCount)
        let record = base + offset
        if rest > 0 {
            record.copyFew(from: key.base + (prefixCount &+ Layout.headSize), count: rest)
        }
        if isLeaf {
            payload.store(to: record + rest)
        } else {
            setChild(index, payload.child)
            setEntriesBelow(index, payload.entries)
        }
    }

    /// Replaces the value of an entry; returns false if the new value does not fit.
    @inline(__always)
    func overwrite(_ index: Int, _ value: BTreeValue) -> Bool {
        let offset = recordOffset(index)
        let suffix = suffixCount(index)
        let rest = max(suffix &- Layout.headSize, 0)
        let size = recordSize(index)
        let newSize = rest &+ value.count
        if newSize == size {
            value.store(to: base + (offset &+ rest))
            return true
        }
        guard newSize <= free else { return false }
        let newOffset = heap &- newSize
        (base + newOffset).copyFew(from: base + offset, count: rest)
        value.store(to: base + (newOffset &+ rest))
        heap = newOffset
        dead &+= size
        setSlot(index, offset: newOffset, suffixCount: suffix, valueCount: value.count)
        return true
    }

    /// Removes an entry and discards its record.
    @inline(__always)
    func remove(_ index: Int) {
        discardRecord(index)
        let newCount = count &- 1
        let slotSize = slotSize
        let oldSlots = slots
        let following = newCount &- index
        let head = heads + index
        UnsafeMutableRawPointer(head).copyMemory(
            from: head + 1, byteCount: Layout.headSize &* following)
        let newSlots = oldSlots - Layout.headSize
        newSlots.copyMemory(from: oldSlots, byteCount: slotSize &* index)
        (newSlots + slotSize &* index).copyMemory(
            from: oldSlots + slotSize &* (index &+ 1), byteCount: slotSize &* following)
        count = newCount
    }

    /// Removes a child from an inner page; an entry that becomes the first one loses its key.
    func removeChild(_ index: Int) {
        remove(index)
        guard index == 0, count > 0 else { return }
        discardRecord(0)
        heads[0] = 0
        setSlot(0, offset: Layout.size, suffixCount: 0, valueCount: 0)
    }

    /// Copies `source` except for its free bytes between the arrays and the heap.
    func copyUsed(_ source: BTreePage) {
        let heap = source.heap
        base.copyMemory(from: source.base, byteCount: heap &- source.free)
        (base + heap).copyMemory(from: source.base + heap, byteCount: Layout.size &- heap)
    }

    /// Adds the bytes of an entry's record to the free ones or to the unused ones in the heap.
    @inline(__always)
    private func discardRecord(_ index: Int) {
        let size = recordSize(index)
        if recordOffset(index) == heap {
            heap &+= size
        } else {
            dead &+= size
        }
    }

    /// Whether all heads are equal although the prefix could be longer.
    ///
    /// The prefix of a page created with one or two keys may be too short. Checked only when the
    /// number of entries is a power of two, which bounds the cost for keys that no prefix can
    /// separate.
    @inline(__always)
    var wantsLongerPrefix: Bool {
        let count = count
        guard count >= 4, count & (count &- 1) == 0 else { return false }
        let first = isLeaf ? 0 : 1
        return heads[first] == heads[count &- 1] && prefixCount < Layout.maximumPrefixCount
    }
}
