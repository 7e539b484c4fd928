/// Why pages of a file cannot be used as a tree.
package enum BTreeDamage: Error, Equatable {
    /// The pages do not lie within the file.
    case truncated
    /// There is no page, or there are more than a tree can have.
    case pageCount(Int)
    /// This page is not one that an export could have written in this place.
    case page(Int)
}

extension BTree {
    /// How many bytes an exported page has.
    package static let pageSize = BTreePage.Layout.size

    /// Opens the tree that `pageCount` exported pages are, using them where they lie.
    ///
    /// Page 1 begins `firstPageOffset` bytes into the mapping, which defaults to one page, since a
    /// checkpoint keeps its own header in front. The pages are only read: a page that changes is
    /// copied to memory of the tree's own first. Writing them in place would cost the same, for the
    /// kernel would copy them; so the mapping may be one that cannot be written.
    ///
    /// Every page is validated, for the bytes come from a disk. What passes may still not be what was
    /// exported, but no operation will read or write out of bounds because of it.
    package init(
        adopting mapping: FileMapping, pageCount: Int,
        firstPageOffset: Int = BTree.pageSize, fanout: Int = BTree.maximumFanout
    ) throws(BTreeDamage) {
        precondition(3...Self.maximumFanout ~= fanout, "A page holds 3 to 341 entries.")
        precondition(firstPageOffset >= 0, "The first page does not begin before the file.")
        precondition(
            Int(bitPattern: mapping.base + firstPageOffset) % MemoryLayout<UInt64>.alignment == 0,
            "Pages are read in words, so they begin at a multiple of a word.")
        // More entries than have a count of 32 bits would not fit on more pages than this.
        guard 1...Int(Int32.max) ~= pageCount else { throw .pageCount(pageCount) }
        let (byteCount, overflow) = pageCount.multipliedReportingOverflow(by: Self.pageSize)
        guard !overflow, firstPageOffset <= mapping.count,
            byteCount <= mapping.count - firstPageOffset
        else { throw .truncated }
        let pages = UnsafeRawPointer(mapping.base) + firstPageOffset
        let count = try BTreeValidation.validate(pages, pageCount: pageCount, fanout: fanout)
        self.init(
            fanout: fanout,
            space: BTreeSpace(
                mapping: mapping, pageCount: pageCount, firstPageOffset: firstPageOffset),
            root: 1, count: count)
    }
}
