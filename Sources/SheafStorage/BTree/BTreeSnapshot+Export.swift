import SheafBytes

extension BTreeSnapshot {
    /// Passes all pages of the snapshot to `body`, the root first, in a canonical form.
    ///
    /// Each page has 4,160 bytes. Pages are written level by level and numbered in this order,
    /// starting from 1. They are compacted and unused bytes are zero, so that no bytes of removed
    /// entries reach the disk.
    package func exportPages<Failure: Error>(
        _ body: (_ page: UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let scratch = BTreePage(.allocate(byteCount: BTreePage.Layout.size, alignment: 64))
        defer { scratch.base.deallocate() }
        var pages = [view.root]
        var nextNumber: UInt32 = 2
        while !pages.isEmpty {
            var children: [UInt32] = []
            for number in pages {
                let page = view.page(number)
                scratch.copyCompacted(page)
                if !page.isLeaf {
                    for index in 0..<page.count {
                        children.append(page.child(index))
                        scratch.setChild(index, nextNumber)
                        nextNumber += 1
                    }
                }
                try body(
                    UnsafeRawBufferPointer(start: scratch.base, count: BTreePage.Layout.size))
            }
            pages = children
        }
    }
}

extension BTreePage {
    /// Copies `source` without its version and without unused bytes.
    fileprivate func copyCompacted(_ source: BTreePage) {
        UnsafeMutableRawBufferPointer(start: base, count: Layout.size).fillWithZeros()
        clear(level: source.level, version: 0)
        weights = source.weights
        setPrefix(source.prefix, count: source.prefixCount)
        count = source.count
        UnsafeMutableRawPointer(heads).copyMemory(
            from: source.heads, byteCount: Layout.headSize * count)
        slots.copyMemory(from: source.slots, byteCount: slotSize * count)
        var offset = Layout.size
        for index in 0..<count {
            let size = source.recordSize(index)
            offset -= size
            (base + offset).copyMemory(
                from: source.base + source.recordOffset(index), byteCount: size)
            slot(index).storeBytes(of: UInt16(truncatingIfNeeded: offset), as: UInt16.self)
        }
        heap = offset
    }
}
