/// A page of the tree, accessed through its address.
///
/// All numbers are in the byte order of the machine, which is little-endian on all platforms.
///
///     offset    size  field
///     0         2     n, the number of entries
///     2         1     level, zero for a leaf
///     3         1     length of the prefix, 0 to 40
///     4         2     offset of the heap
///     6         2     unused bytes in the heap
///     8         8     version that created the page
///     16        8     next page in a list of free or retired pages; zero in use and in files
///     24        40    the prefix that all keys of the page share
///     64        8     the sum of the weights of all leaf entries on or below the page
///     72        8     the number of these entries that have a weight
///     80        8n    heads: the eight key bytes after the prefix, as big-endian numbers
///     80 + 8n   4n    leaf: offset of the record, then suffix length (11 bits) and value length
///     80 + 8n   12n   inner page: the same, then the child's number and its number of entries
///     ...             unused
///     heap      ...   records: key bytes after the head, then the value
///
/// The arrays have no spare capacity and move when an entry is inserted or removed. That costs a
/// few nanoseconds but allows about 200 children on an inner page, which saves one level of the
/// tree.
///
/// The first entry of an inner page has no key: its child holds all keys below the second entry's.
struct BTreePage {
    /// The address of the page.
    let base: UnsafeMutableRawPointer

    /// Creates a view of the page at `base`, whose contents may be uninitialized.
    @inline(__always)
    init(_ base: UnsafeMutableRawPointer) {
        self.base = base
    }

    /// The offsets and sizes of a page's fields.
    enum Layout {
        static let count = 0, level = 2, prefixCount = 3, heap = 4, dead = 6, version = 8
        static let nextPage = 16, prefix = 24, weightSum = 64, weightCount = 72, heads = 80
        /// The size of a page; not a power of two, so that headers use different cache sets.
        static let size = 4160
        /// The space shared by heads, slots and records.
        static let capacity = size - heads
        static let maximumPrefixCount = weightSum - prefix
        static let headSize = 8, leafSlotSize = 4, innerSlotSize = 12
        /// A slot holds the suffix length in its low bits and the value length above them.
        static let suffixBits = 11
        static let suffixMask = 0x7FF
    }

    /// The number of entries.
    @inline(__always)
    var count: Int {
        get { Int(base.load(fromByteOffset: Layout.count, as: UInt16.self)) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue), toByteOffset: Layout.count,
                as: UInt16.self)
        }
    }

    /// The height of the page above the leaves.
    @inline(__always)
    var level: Int { Int(base.load(fromByteOffset: Layout.level, as: UInt8.self)) }

    /// Whether the entries hold values rather than children.
    @inline(__always)
    var isLeaf: Bool { level == 0 }

    /// The length of the prefix that all keys of the page share.
    @inline(__always)
    var prefixCount: Int { Int(base.load(fromByteOffset: Layout.prefixCount, as: UInt8.self)) }

    /// The offset of the heap.
    @inline(__always)
    var heap: Int {
        get { Int(base.load(fromByteOffset: Layout.heap, as: UInt16.self)) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue), toByteOffset: Layout.heap,
                as: UInt16.self)
        }
    }

    /// The number of unused bytes in the heap.
    @inline(__always)
    var dead: Int {
        get { Int(base.load(fromByteOffset: Layout.dead, as: UInt16.self)) }
        nonmutating set {
            base.storeBytes(
                of: UInt16(truncatingIfNeeded: newValue), toByteOffset: Layout.dead,
                as: UInt16.self)
        }
    }

    /// The version that created the page.
    @inline(__always)
    var version: UInt64 {
        get { base.load(fromByteOffset: Layout.version, as: UInt64.self) }
        nonmutating set {
            base.storeBytes(of: newValue, toByteOffset: Layout.version, as: UInt64.self)
        }
    }

    /// The next page in a list of free or retired pages.
    ///
    /// Snapshots may still read the page, but not this field.
    @inline(__always)
    var nextPage: UInt32 {
        get { base.load(fromByteOffset: Layout.nextPage, as: UInt32.self) }
        nonmutating set {
            base.storeBytes(of: newValue, toByteOffset: Layout.nextPage, as: UInt32.self)
        }
    }

    /// The weights of the leaf entries on or below the page.
    @inline(__always)
    var weights: BTreeWeights {
        get {
            BTreeWeights(
                count: base.load(fromByteOffset: Layout.weightCount, as: Int.self),
                sum: base.load(fromByteOffset: Layout.weightSum, as: UInt64.self))
        }
        nonmutating set {
            base.storeBytes(of: newValue.sum, toByteOffset: Layout.weightSum, as: UInt64.self)
            base.storeBytes(of: newValue.count, toByteOffset: Layout.weightCount, as: Int.self)
        }
    }

    /// The address of the prefix.
    @inline(__always)
    var prefix: UnsafeMutableRawPointer { base + Layout.prefix }

    /// The array of heads, in ascending order.
    @inline(__always)
    var heads: UnsafeMutablePointer<UInt64> {
        (base + Layout.heads).assumingMemoryBound(to: UInt64.self)
    }

    /// The size of a slot on this page.
    @inline(__always)
    var slotSize: Int { isLeaf ? Layout.leafSlotSize : Layout.innerSlotSize }

    /// The address of the slots.
    @inline(__always)
    var slots: UnsafeMutableRawPointer { base + (Layout.heads &+ Layout.headSize &* count) }

    /// Returns the address of the slot at `index`.
    @inline(__always)
    func slot(_ index: Int) -> UnsafeMutableRawPointer { slots + slotSize &* index }

    /// Returns the offset of an entry's record from the start of the page.
    @inline(__always)
    func recordOffset(_ index: Int) -> Int { Int(slot(index).load(as: UInt16.self)) }

    /// Returns the number of bytes of an entry's key after the prefix.
    @inline(__always)
    func suffixCount(_ index: Int) -> Int {
        Int(slot(index).load(fromByteOffset: 2, as: UInt16.self)) & Layout.suffixMask
    }

    /// Returns the size of an entry's record in bytes.
    @inline(__always)
    func recordSize(_ index: Int) -> Int {
        let lengths = Int(slot(index).load(fromByteOffset: 2, as: UInt16.self))
        return max((lengths & Layout.suffixMask) &- Layout.headSize, 0)
            &+ lengths &>> Layout.suffixBits
    }

    /// Stores the offset of an entry's record and the lengths of its parts.
    @inline(__always)
    func setSlot(_ index: Int, offset: Int, suffixCount: Int, valueCount: Int) {
        let lengths = suffixCount | valueCount &<< Layout.suffixBits
        slot(index).storeBytes(
            of: UInt32(truncatingIfNeeded: offset | lengths &<< 16), as: UInt32.self)
    }

    /// Returns the value of a leaf entry.
    @inline(__always)
    func value(_ index: Int) -> BTreeValue {
        let slot = slots + Layout.leafSlotSize &* index
        let lengths = Int(slot.load(fromByteOffset: 2, as: UInt16.self))
        let count = lengths &>> Layout.suffixBits
        let rest = max((lengths & Layout.suffixMask) &- Layout.headSize, 0)
        let end = Int(slot.load(as: UInt16.self)) &+ rest &+ count
        return BTreeValue(endingAt: base + end, count: count)
    }

    /// Returns the child of an inner entry.
    @inline(__always)
    func child(_ index: Int) -> UInt32 {
        (slots + Layout.innerSlotSize &* index).load(fromByteOffset: 4, as: UInt32.self)
    }

    /// Returns the number of leaf entries below an inner entry.
    @inline(__always)
    func entriesBelow(_ index: Int) -> Int {
        Int((slots + Layout.innerSlotSize &* index).load(fromByteOffset: 8, as: UInt32.self))
    }

    /// Sets the child of an inner entry.
    @inline(__always)
    func setChild(_ index: Int, _ child: UInt32) {
        slot(index).storeBytes(of: child, toByteOffset: 4, as: UInt32.self)
    }

    /// Sets the number of leaf entries below an inner entry.
    @inline(__always)
    func setEntriesBelow(_ index: Int, _ entries: Int) {
        slot(index).storeBytes(
            of: UInt32(truncatingIfNeeded: entries), toByteOffset: 8, as: UInt32.self)
    }

    /// Returns the value of a leaf entry, or an inner entry's child and count encoded as a value.
    @inline(__always)
    func payload(_ index: Int) -> BTreeValue {
        isLeaf ? value(index) : BTreeValue(child: child(index), entries: entriesBelow(index))
    }

    /// The number of free bytes between the arrays and the heap.
    @inline(__always)
    var free: Int { heap &- Layout.heads &- (Layout.headSize &+ slotSize) &* count }

    /// The number of bytes that the entries use.
    @inline(__always)
    var used: Int {
        (Layout.headSize &+ slotSize) &* count &+ (Layout.size &- heap &- dead)
    }

    /// Initializes the page as an empty one.
    func clear(level: Int, version: UInt64) {
        base.storeBytes(of: 0, as: UInt64.self)
        base.storeBytes(of: 0, toByteOffset: Layout.nextPage, as: UInt64.self)
        base.storeBytes(
            of: UInt8(truncatingIfNeeded: level), toByteOffset: Layout.level, as: UInt8.self)
        heap = Layout.size
        weights = BTreeWeights()
        self.version = version
    }

    /// Sets the prefix of an empty page to the first `count` bytes of `key`.
    func setPrefix(_ key: UnsafeRawPointer, count: Int) {
        base.storeBytes(
            of: UInt8(truncatingIfNeeded: count), toByteOffset: Layout.prefixCount,
            as: UInt8.self)
        prefix.copyMemory(from: key, byteCount: count)
    }
}

extension BTreeValue {
    /// Encodes a child and its number of entries as a value, as used for inner entries.
    @inline(__always)
    init(child: UInt32, entries: Int) {
        self.init(UInt64(child) | UInt64(truncatingIfNeeded: entries) << 32)
    }

    /// The child encoded in an inner entry's payload.
    @inline(__always)
    var child: UInt32 { UInt32(truncatingIfNeeded: low) }

    /// The number of entries below the child.
    @inline(__always)
    var entries: Int { Int(low >> 32) }
}
