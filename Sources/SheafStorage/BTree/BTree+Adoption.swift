/// The reason why the pages of a file cannot be used as a tree.
package enum BTreeDamage: Error, Equatable {
    /// The pages extend beyond the end of the file.
    case truncated
    /// The number of pages is zero or greater than the maximum of a tree.
    case pageCount(Int)
    /// The page of this number cannot be from an export.
    case page(Int)
}

extension BTree {
    /// The size of an exported page in bytes.
    package static let pageSize = BTreePage.Layout.size

    /// Opens the tree in `pageCount` exported pages, using them in place.
    ///
    /// Page 1 begins `firstPageOffset` bytes into the mapping. The default is one page, since the
    /// header of a checkpoint precedes the pages. Pages are only read, so the mapping may be
    /// read-only; a page that changes is first copied to memory of the tree. Writing in place would
    /// cost the same, because the kernel would copy the page.
    ///
    /// Every page is validated, because the bytes come from disk. Pages that pass may still differ
    /// from the exported ones, but cause no access out of bounds.
    package init(
        adopting mapping: FileMapping, pageCount: Int,
        firstPageOffset: Int = BTree.pageSize, fanout: Int = BTree.maximumFanout
    ) throws(BTreeDamage) {
        precondition(3...Self.maximumFanout ~= fanout, "A page holds 3 to 340 entries.")
        precondition(firstPageOffset >= 0, "The offset of the first page is not negative.")
        precondition(
            Int(bitPattern: mapping.base + firstPageOffset) % MemoryLayout<UInt64>.alignment == 0,
            "Pages are read in words, so they begin at a multiple of a word.")
        // Page numbers have 32 bits; half of them are left for new pages.
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
