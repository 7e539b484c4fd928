extension BTreeSnapshot {
    /// Hands out all pages of this state, the root first, in a form that depends on it alone.
    ///
    /// Each page has 4,160 bytes. They come level by level and number their children by this order,
    /// beginning with 1. Holes are closed and whatever is unused is zero, so that the bytes of
    /// removed entries reach no disk.
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
    /// Becomes `source` without holes, version and anything that is not in use.
    fileprivate func copyCompacted(_ source: BTreePage) {
        base.initializeMemory(as: UInt8.self, repeating: 0, count: Layout.size)
        clear(level: source.level, version: 0)
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
