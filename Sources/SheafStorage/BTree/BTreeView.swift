import SheafBytes

/// The root and page directory of one state of a tree; the holder of a copy keeps the pages alive.
struct BTreeView: Sendable {
    /// The number of low bits of a page number that index a page in its chunk.
    static let chunkBits = 9
    /// The maximum depth of a tree, which a 32-bit number of entries never reaches.
    static let maximumDepth = 64

    // The entries and pages of a snapshot are immutable; only the writer uses its own view.
    nonisolated(unsafe) let directory: UnsafeMutablePointer<UnsafeMutableRawPointer>
    let root: UInt32

    /// Returns the page with this number.
    @inline(__always)
    func page(_ number: UInt32) -> BTreePage {
        let chunk = directory[Int(number &>> UInt32(Self.chunkBits))]
        let index = Int(number) & ((1 << Self.chunkBits) - 1)
        return BTreePage(chunk + index &* BTreePage.Layout.size)
    }

    /// Returns the value of `key`, or nil if there is no such entry.
    @inline(__always)
    func find(_ key: BTreeKey) -> BTreeValue? {
        var page = page(root)
        while !page.isLeaf { page = self.page(page.child(page.childIndex(for: key))) }
        let (index, isFound) = page.pointer(of: key)
        return isFound ? page.value(index) : nil
    }

    /// Returns the number of entries before `key`; `count` is the total.
    func rank(of key: BTreeKey, count: Int) -> Int {
        var page = page(root)
        var count = count
        var rank = 0
        while !page.isLeaf {
            let index = page.childIndex(for: key)
            // The sum is taken over the smaller side.
            if index <= page.count / 2 {
                for other in 0..<index { rank += page.entriesBelow(other) }
            } else {
                rank += count
                for other in index..<page.count { rank -= page.entriesBelow(other) }
            }
            count = page.entriesBelow(index)
            page = self.page(page.child(index))
        }
        return rank + page.pointer(of: key).index
    }

    /// Returns the number of entries in a range; `count` is the total.
    func count(in range: KeyRange, of count: Int) -> Int {
        let end = range.upper.map { rank(of: $0, count: count) } ?? count
        return max(end - rank(of: range.lower, count: count), 0)
    }

    private func rank(of key: [UInt8], count: Int) -> Int {
        key.withUnsafeBytes { bytes in
            BTreeKey(bytes).map { rank(of: $0, count: count) } ?? 0
        }
    }
}
