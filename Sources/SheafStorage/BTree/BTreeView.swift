import SheafBytes

/// What it takes to read one state of a tree; whoever copies it keeps the pages alive.
struct BTreeView: Sendable {
    /// A page number is a chunk's number above these bits and a place in the chunk below.
    static let chunkBits = 9
    /// No tree can become higher: the number of entries has 32 bits.
    static let maximumDepth = 64

    // The entries and pages that can be reached from the root are immutable while this is in use.
    nonisolated(unsafe) let directory: UnsafeMutablePointer<UnsafeMutableRawPointer>
    let root: UInt32

    /// The page with this number.
    @inline(__always)
    func page(_ number: UInt32) -> BTreePage {
        let chunk = directory[Int(number &>> UInt32(Self.chunkBits))]
        let place = Int(number) & ((1 << Self.chunkBits) - 1)
        return BTreePage(chunk + place &* BTreePage.Layout.size)
    }

    /// The value of `key`.
    @inline(__always)
    func find(_ key: BTreeKey) -> BTreeValue? {
        var page = page(root)
        while !page.isLeaf { page = self.page(page.child(page.childIndex(for: key))) }
        let (index, isFound) = page.place(of: key)
        return isFound ? page.value(index) : nil
    }

    /// How many of the `count` entries come before `key`.
    func rank(of key: BTreeKey, count: Int) -> Int {
        var page = page(root)
        var count = count
        var rank = 0
        while !page.isLeaf {
            let index = page.childIndex(for: key)
            // The shorter side is added up.
            if index <= page.count / 2 {
                for other in 0..<index { rank += page.entriesBelow(other) }
            } else {
                rank += count
                for other in index..<page.count { rank -= page.entriesBelow(other) }
            }
            count = page.entriesBelow(index)
            page = self.page(page.child(index))
        }
        return rank + page.place(of: key).index
    }

    /// How many of the `count` entries come before the end of a range and not before its start.
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
