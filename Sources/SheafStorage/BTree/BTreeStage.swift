/// Entries laid out flat, on their way from pages to pages.
///
/// Whatever changes the shape of a page goes through here: a split, a merge, a shorter prefix, bulk
/// loading. The stage knows what a run of entries will take on a page before it is written.
struct BTreeStage: ~Copyable {
    private struct Entry {
        var offset: Int32
        var count: Int32
        var value: BTreeValue
    }

    /// Two full pages and one entry more, which is what a merge and a split bring at most.
    private static let maximumEntries = 2 * BTree.maximumFanout + 1
    private static let maximumBytes =
        2 * BTreePage.Layout.size + BTree.maximumKeyCount
        + maximumEntries * (BTreePage.Layout.maximumPrefixCount + BTreePage.Layout.headSize)

    /// How many entries are on the stage.
    private(set) var count = 0
    private var bytesUsed = 0
    private let entries: UnsafeMutablePointer<Entry>
    private let bytes: UnsafeMutableRawPointer
    /// How long a prefix a lone entry gets, which says nothing about its future neighbors.
    private let lonePrefixCount: Int

    /// An empty stage; a page of one entry will have `prefixOfLoneEntry` bytes of prefix at most.
    init(prefixOfLoneEntry: Int) {
        entries = .allocate(capacity: Self.maximumEntries)
        bytes = .allocate(byteCount: Self.maximumBytes, alignment: 16)
        lonePrefixCount = prefixOfLoneEntry
    }

    deinit {
        entries.deallocate()
        bytes.deallocate()
    }

    /// Takes every entry away.
    mutating func clear() {
        count = 0
        bytesUsed = 0
    }

    /// The key of an entry; it stays valid until the stage is cleared.
    func key(_ index: Int) -> BTreeKey {
        BTreeKey(bytes + Int(entries[index].offset), count: Int(entries[index].count))
    }

    /// The value of an entry, or its child.
    func value(_ index: Int) -> BTreeValue { entries[index].value }

    /// Adds an entry behind the others.
    mutating func append(_ key: BTreeKey, _ value: BTreeValue) {
        let target = reserve(key.count)
        target.copyFew(from: key.base, count: key.count)
        commit(key.count, value)
    }

    /// Adds some entries of a page behind the others.
    mutating func append(_ page: BTreePage, _ range: Range<Int>) {
        for index in range {
            let target = reserve(page.keyCount(index) + BTreePage.Layout.headSize)
            commit(page.key(index, in: target).count, page.payload(index))
        }
    }

    /// Adds all entries of a page and, before `index`, a new one.
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

    /// The prefix of a page that holds these entries.
    func prefixCount(_ range: Range<Int>, level: Int) -> Int {
        // The first entry of an inner page has no key there.
        let keyed = level == 0 ? range : range.dropFirst()
        guard let first = keyed.first, let last = keyed.last else { return 0 }
        let shared =
            first == last
            ? min(lonePrefixCount, key(first).count) : key(first).commonCount(with: key(last))
        return min(shared, BTreePage.Layout.maximumPrefixCount)
    }

    /// How many bytes the record of an entry takes on a page with such a prefix.
    @inline(__always)
    func recordSize(_ index: Int, prefixCount: Int, level: Int) -> Int {
        let rest = Int(entries[index].count) - prefixCount - BTreePage.Layout.headSize
        return max(rest, 0) + (level == 0 ? entries[index].value.count : 0)
    }

    /// How many bytes of a page these entries take.
    func size(_ range: Range<Int>, level: Int) -> Int {
        size(range, prefixCount: prefixCount(range, level: level), level: level)
    }

    /// How many bytes of a page these entries take under a prefix of a known length.
    func size(_ range: Range<Int>, prefixCount: Int, level: Int) -> Int {
        var total = range.count * (BTreePage.Layout.headSize + Self.slotSize(level))
        for index in level == 0 ? range : range.dropFirst() {
            total += recordSize(index, prefixCount: prefixCount, level: level)
        }
        return total
    }

    /// How many bytes the slot of an entry takes.
    @inline(__always)
    static func slotSize(_ level: Int) -> Int {
        level == 0 ? BTreePage.Layout.leafSlotSize : BTreePage.Layout.innerSlotSize
    }

    /// Makes `page` a page of exactly these entries, which must fit.
    func write(_ range: Range<Int>, to page: BTreePage, level: Int, version: UInt64) {
        page.clear(level: level, version: version)
        page.setPrefix(
            range.isEmpty ? UnsafeRawPointer(bytes) : key(range.upperBound - 1).base,
            count: prefixCount(range, level: level))
        // The slots begin behind the last head, so the number of entries has to be known first.
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

    /// How many entries are below, or among, these.
    func total(_ range: Range<Int>, level: Int) -> Int {
        level == 0 ? range.count : range.reduce(0) { $0 + value($1).entries }
    }

    /// How many bytes of the key at `index` tell it from the key before.
    func separatorCount(before index: Int) -> Int {
        let key = key(index)
        // The bound matters only if a damaged file put keys out of order.
        return min(key.commonCount(with: self.key(index - 1)) + 1, key.count)
    }
}
