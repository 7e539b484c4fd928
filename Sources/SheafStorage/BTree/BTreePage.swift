/// One page of the tree, seen through its address.
///
/// All numbers are in the byte order of the machine, which is little-endian wherever this runs.
///
///     offset    size  field
///     0         2     n, the number of entries
///     2         1     level, zero for a leaf
///     3         1     length of the prefix, 0 to 40
///     4         2     where the heap begins
///     6         2     bytes of the heap that belong to no entry
///     8         8     the version that made the page
///     16        8     zero
///     24        40    the prefix that all keys of the page share
///     64        8n    heads: the eight key bytes after the prefix, as big-endian numbers
///     64 + 8n   4n    leaf: offset of the record, then suffix length (11 bits) and value length
///     64 + 8n   12n   inner page: the same, then the child's number and how many entries it holds
///     ...             unused
///     heap      ...   records: key bytes after the head, then the value
///
/// The arrays have no spare room: they move when an entry comes or goes. That costs a few
/// nanoseconds, and in return an inner page has about 200 children and the tree one level less.
///
/// An inner page's first entry has no key: its child takes whatever is below the second.
struct BTreePage {
    /// The address of the page.
    let base: UnsafeMutableRawPointer

    /// The page at `base`.
    @inline(__always)
    init(_ base: UnsafeMutableRawPointer) {
        self.base = base
    }

    /// Where things are on a page.
    enum Layout {
        static let count = 0, level = 2, prefixCount = 3, heap = 4, dead = 6, version = 8
        static let link = 16, prefix = 24, heads = 64
        /// A page is not a power of two, so that headers spread over the sets of the caches.
        static let size = 4160
        /// What heads, slots and records share.
        static let capacity = size - heads
        static let maximumPrefixCount = heads - prefix
        static let headSize = 8, leafSlotSize = 4, innerSlotSize = 12
        /// A slot keeps the length of the suffix in its low bits, the length of the value above.
        static let suffixBits = 11
        static let suffixMask = 0x7FF
    }

    /// How many entries there are.
    @inline(__always)
    var count: Int {
        get { Int(base.load(fromByteOffset: Layout.count, as: UInt16.self)) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue), toByteOffset: Layout.count,
                as: UInt16.self)
        }
    }

    /// How far the page is above the leaves.
    @inline(__always)
    var level: Int { Int(base.load(fromByteOffset: Layout.level, as: UInt8.self)) }

    /// Whether the entries carry values rather than children.
    @inline(__always)
    var isLeaf: Bool { level == 0 }

    /// How many bytes all keys of the page share without storing them.
    @inline(__always)
    var prefixCount: Int { Int(base.load(fromByteOffset: Layout.prefixCount, as: UInt8.self)) }

    /// Where the records begin.
    @inline(__always)
    var heap: Int {
        get { Int(base.load(fromByteOffset: Layout.heap, as: UInt16.self)) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue), toByteOffset: Layout.heap,
                as: UInt16.self)
        }
    }

    /// How many bytes of the heap are holes.
    @inline(__always)
    var dead: Int {
        get { Int(base.load(fromByteOffset: Layout.dead, as: UInt16.self)) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue), toByteOffset: Layout.dead,
                as: UInt16.self)
        }
    }

    /// The version that made the page.
    @inline(__always)
    var version: UInt64 {
        get { base.load(fromByteOffset: Layout.version, as: UInt64.self) }
        nonmutating set {
            base.storeBytes(of: newValue, toByteOffset: Layout.version, as: UInt64.self)
        }
    }

    /// The page that follows in a chain of pages which the writer no longer uses.
    ///
    /// Snapshots may still read the page, but not this.
    @inline(__always)
    var link: UInt32 {
        get { base.load(fromByteOffset: Layout.link, as: UInt32.self) }
        nonmutating set {
            base.storeBytes(of: newValue, toByteOffset: Layout.link, as: UInt32.self)
        }
    }

    /// Where the prefix is.
    @inline(__always)
    var prefix: UnsafeMutableRawPointer { base + Layout.prefix }

    /// The heads, in order.
    @inline(__always)
    var heads: UnsafeMutablePointer<UInt64> {
        (base + Layout.heads).assumingMemoryBound(to: UInt64.self)
    }

    /// How many bytes a slot takes here.
    @inline(__always)
    var slotSize: Int { isLeaf ? Layout.leafSlotSize : Layout.innerSlotSize }

    /// Where the slots begin.
    @inline(__always)
    var slots: UnsafeMutableRawPointer { base + (Layout.heads &+ Layout.headSize &* count) }

    /// The slot at `index`.
    @inline(__always)
    func slot(_ index: Int) -> UnsafeMutableRawPointer { slots + slotSize &* index }

    /// Where the record of an entry begins, counted from the start of the page.
    @inline(__always)
    func recordOffset(_ index: Int) -> Int { Int(slot(index).load(as: UInt16.self)) }

    /// How many bytes of an entry's key come after the prefix.
    @inline(__always)
    func suffixCount(_ index: Int) -> Int {
        Int(slot(index).load(fromByteOffset: 2, as: UInt16.self)) & Layout.suffixMask
    }

    /// How many bytes an entry's record takes.
    @inline(__always)
    func recordSize(_ index: Int) -> Int {
        let lengths = Int(slot(index).load(fromByteOffset: 2, as: UInt16.self))
        return max((lengths & Layout.suffixMask) &- Layout.headSize, 0)
            &+ lengths &>> Layout.suffixBits
    }

    /// Writes where the record of an entry is, and how long its parts are.
    @inline(__always)
    func setSlot(_ index: Int, offset: Int, suffixCount: Int, valueCount: Int) {
        let lengths = suffixCount | valueCount &<< Layout.suffixBits
        slot(index).storeBytes(
            of: UInt32(truncatingIfNeeded: offset | lengths &<< 16), as: UInt32.self)
    }

    /// The value of a leaf's entry.
    @inline(__always)
    func value(_ index: Int) -> BTreeValue {
        let slot = slots + Layout.leafSlotSize &* index
        let lengths = Int(slot.load(fromByteOffset: 2, as: UInt16.self))
        let count = lengths &>> Layout.suffixBits
        let rest = max((lengths & Layout.suffixMask) &- Layout.headSize, 0)
        let end = Int(slot.load(as: UInt16.self)) &+ rest &+ count
        return BTreeValue(endingAt: base + end, count: count)
    }

    /// The child of an inner page's entry.
    @inline(__always)
    func child(_ index: Int) -> UInt32 {
        (slots + Layout.innerSlotSize &* index).load(fromByteOffset: 4, as: UInt32.self)
    }

    /// How many entries are in the leaves below an inner page's entry.
    @inline(__always)
    func entriesBelow(_ index: Int) -> Int {
        Int((slots + Layout.innerSlotSize &* index).load(fromByteOffset: 8, as: UInt32.self))
    }

    /// Points an inner page's entry at another child.
    @inline(__always)
    func setChild(_ index: Int, _ child: UInt32) {
        slot(index).storeBytes(of: child, toByteOffset: 4, as: UInt32.self)
    }

    /// Sets how many entries are below an inner page's entry.
    @inline(__always)
    func setEntriesBelow(_ index: Int, _ entries: Int) {
        slot(index).storeBytes(
            of: UInt32(truncatingIfNeeded: entries), toByteOffset: 8, as: UInt32.self)
    }

    /// The value of a leaf's entry, or child and count of an inner page's in the form of a value.
    @inline(__always)
    func payload(_ index: Int) -> BTreeValue {
        isLeaf ? value(index) : BTreeValue(child: child(index), entries: entriesBelow(index))
    }

    /// How many entries are in the leaves below this page, or on it if it is a leaf.
    var total: Int {
        if isLeaf { return count }
        return (0..<count).reduce(0) { $0 + entriesBelow($1) }
    }

    /// How many bytes are left between the arrays and the heap.
    @inline(__always)
    var free: Int { heap &- Layout.heads &- (Layout.headSize &+ slotSize) &* count }

    /// How many bytes the entries really take.
    @inline(__always)
    var used: Int {
        (Layout.headSize &+ slotSize) &* count &+ (Layout.size &- heap &- dead)
    }

    /// Makes the page an empty one.
    func clear(level: Int, version: UInt64) {
        base.storeBytes(of: 0, as: UInt64.self)
        base.storeBytes(of: 0, toByteOffset: Layout.link, as: UInt64.self)
        base.storeBytes(
            of: UInt8(truncatingIfNeeded: level), toByteOffset: Layout.level, as: UInt8.self)
        heap = Layout.size
        self.version = version
    }

    /// Takes the first `count` bytes of `key` as the prefix of an empty page.
    func setPrefix(_ key: UnsafeRawPointer, count: Int) {
        base.storeBytes(
            of: UInt8(truncatingIfNeeded: count), toByteOffset: Layout.prefixCount,
            as: UInt8.self)
        prefix.copyMemory(from: key, byteCount: count)
    }
}

extension BTreeValue {
    /// A child and the number of entries below it, so that inner entries travel as leaf ones do.
    @inline(__always)
    init(child: UInt32, entries: Int) {
        self.init(UInt64(child) | UInt64(truncatingIfNeeded: entries) << 32)
    }

    /// The child in the payload of an inner entry.
    @inline(__always)
    var child: UInt32 { UInt32(truncatingIfNeeded: low) }

    /// The number of entries below that child.
    @inline(__always)
    var entries: Int { Int(low >> 32) }
}
