/// A buffer of decoded entries that are moved between pages.
///
/// Every change of a page's shape uses a stage: a split, a merge, another prefix, bulk loading.
/// It computes the size of a range of entries before they are written.
struct BTreeStage: ~Copyable {
    private struct Entry {
        var offset: Int32
        var count: Int32
        var value: BTreeValue
    }

    /// The entries of two full pages and one more, the maximum for a merge or a split.
    private static let maximumEntries = 2 * BTree.maximumFanout + 1
    private static let maximumBytes =
        2 * BTreePage.Layout.size + BTree.maximumKeyCount
        + maximumEntries * (BTreePage.Layout.maximumPrefixCount + BTreePage.Layout.headSize)

    /// The number of staged entries.
    private(set) var count = 0
    private var bytesUsed = 0
    private let entries: UnsafeMutablePointer<Entry>
    private let bytes: UnsafeMutableRawPointer
    /// The prefix length for a single entry, which has no neighbors to derive it from.
    private let lonePrefixCount: Int

    /// Creates an empty stage; `prefixOfLoneEntry` limits the prefix of a single entry.
    init(prefixOfLoneEntry: Int) {
        entries = .allocate(capacity: Self.maximumEntries)
        bytes = .allocate(byteCount: Self.maximumBytes, alignment: 16)
        lonePrefixCount = prefixOfLoneEntry
    }

    deinit {
        entries.deallocate()
        bytes.deallocate()
    }

    /// Removes all entries.
    mutating func clear() {
        count = 0
        bytesUsed = 0
    }

    /// Returns the key of an entry, valid until the stage is cleared.
    func key(_ index: Int) -> BTreeKey {
        BTreeKey(bytes + Int(entries[index].offset), count: Int(entries[index].count))
    }

    /// Returns the value of a leaf entry, or the child of an inner entry.
    func value(_ index: Int) -> BTreeValue { entries[index].value }

    /// Appends an entry and copies its key.
    mutating func append(_ key: BTreeKey, _ value: BTreeValue) {
        let target = reserve(key.count)
        target.copyFew(from: key.base, count: key.count)
        commit(key.count, value)
    }

    /// Appends a range of entries of a page.
    mutating func append(_ page: BTreePage, _ range: Range<Int>) {
        for index in range {
            let target = reserve(page.keyCount(index) + BTreePage.Layout.headSize)
            commit(page.key(index, in: target).count, page.payload(index))
        }
    }

    /// Appends all entries of a page, with a new one inserted before `index`.
    mutating func append(
        _ page: BTreePage, inserting key: BTreeKey, _ value: BTreeValue, at index: Int
    ) {
        append(page, 0..<index)
        append(key, value)
        append(page, index..<page.count)
    }

    @inline(__always)
    private func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
        precondition(
            count < Self.maximumEntries && bytesUsed + byteCount <= Self.maximumBytes,
            "A stage never holds more than two pages.")
        return bytes + bytesUsed
    }

    @inline(__always)
    private mutating func commit(_ keyCount: Int, _ value: BTreeValue) {
        (entries + count).initialize(
            to: Entry(
                offset: Int32(truncatingIfNeeded: bytesUsed),
                count: Int32(truncatingIfNeeded: keyCount), value: value))
        bytesUsed += keyCount
        count += 1
    }

    /// Returns the prefix length of a page that holds these entries.
    func prefixCount(_ range: Range<Int>, level: Int) -> Int {
        // The first entry of an inner page has no key.
        let keyed = level == 0 ? range : range.dropFirst()
        guard let first = keyed.first, let last = keyed.last else { return 0 }
        let shared =
            first == last
            ? min(lonePrefixCount, key(first).count) : key(first).commonCount(with: key(last))
        return min(shared, BTreePage.Layout.maximumPrefixCount)
    }

    /// Returns the size of an entry's record on a page with this prefix length.
    @inline(__always)
    func recordSize(_ index: Int, prefixCount: Int, level: Int) -> Int {
        let rest = Int(entries[index].count) - prefixCount - BTreePage.Layout.headSize
        return max(rest, 0) + (level == 0 ? entries[index].value.count : 0)
    }

    /// Returns the size of these entries on a page, in bytes.
    func size(_ range: Range<Int>, level: Int) -> Int {
        size(range, prefixCount: prefixCount(range, level: level), level: level)
    }

    /// Returns the size of these entries on a page with the given prefix length, in bytes.
    func size(_ range: Range<Int>, prefixCount: Int, level: Int) -> Int {
        var total = range.count * (BTreePage.Layout.headSize + Self.slotSize(level))
        for index in level == 0 ? range : range.dropFirst() {
            total += recordSize(index, prefixCount: prefixCount, level: level)
        }
        return total
    }

    /// Returns the size of a slot at `level`.
    @inline(__always)
    static func slotSize(_ level: Int) -> Int {
        level == 0 ? BTreePage.Layout.leafSlotSize : BTreePage.Layout.innerSlotSize
    }

    /// Overwrites `page` with exactly these entries, which must fit.
    func write(_ range: Range<Int>, to page: BTreePage, level: Int, version: UInt64) {
        page.clear(level: level, version: version)
        page.setPrefix(
            range.isEmpty ? UnsafeRawPointer(bytes) : key(range.upperBound - 1).base,
            count: prefixCount(range, level: level))
        // Slots follow the heads, so the number of entries must be set first.
        page.count = range.count
        var target = 0
        for index in range {
            if level > 0 && target == 0 {
                page.writeEntry(
                    BTreeKey(page.prefix, count: page.prefixCount), value(index), at: 0)
            } else {
                page.writeEntry(key(index), value(index), at: target)
            }
            target += 1
        }
    }

    /// Returns the number of leaf entries among or below these entries.
    func total(_ range: Range<Int>, level: Int) -> Int {
        level == 0 ? range.count : range.reduce(0) { $0 + value($1).entries }
    }

    /// Returns the length of the shortest prefix of the key at `index` above the previous key.
    func separatorCount(before index: Int) -> Int {
        let key = key(index)
        // The bound matters only if a damaged file contains keys out of order.
        return min(key.commonCount(with: self.key(index - 1)) + 1, key.count)
    }
}
