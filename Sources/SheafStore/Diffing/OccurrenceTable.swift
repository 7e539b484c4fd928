/// The positions of keys, as a hash table with open addressing.
///
/// A key with several positions has one slot and a chain, so few keys with many positions take no
/// more time than many different keys.
struct OccurrenceTable: ~Copyable {
    // It is not private: the compiler cannot find a private type whose memory another file frees.
    struct Slot: BitwiseCopyable {
        var key: UInt64
        /// The first remaining position, or a mark.
        var first: Int32
    }

    private enum Mark {
        /// The mark of an unused slot.
        static let free: Int32 = -1
        /// The mark of a key without remaining positions, and of the end of a chain.
        static let end: Int32 = -2
    }

    private let slots: FlatMemory<Slot>
    private let following: FlatMemory<Int32>
    private let shift: Int
    private let mask: Int

    /// Creates a table for keys at positions below `count`.
    init(count: Int) {
        // At most half of the slots are used, so a search soon reaches a free one.
        let bits = Int.bitWidth - max(count * 2 - 1, 1).leadingZeroBitCount
        slots = FlatMemory(repeating: Slot(key: 0, first: Mark.free), count: 1 << bits)
        following = FlatMemory(capacity: count)
        shift = UInt64.bitWidth - bits
        mask = (1 << bits) - 1
    }

    /// Adds a key at a position, which precedes all positions added before.
    @inline(__always)
    func prepend(_ key: UInt64, at position: Int) {
        let slot = slot(of: key)
        let first = slots[slot].first
        following[position] = first == Mark.free ? Mark.end : first
        slots[slot] = Slot(key: key, first: Int32(truncatingIfNeeded: position))
    }

    /// Removes and returns the first remaining position of a key; nil if there is none.
    @inline(__always)
    func takeFirst(_ key: UInt64) -> Int? {
        let slot = slot(of: key)
        let first = slots[slot].first
        guard first >= 0 else { return nil }
        slots[slot].first = following[Int(first)]
        return Int(first)
    }

    /// Returns the slot of a key, or the free slot where it would be.
    @inline(__always)
    private func slot(of key: UInt64) -> Int {
        // Keys may be log positions, most of whose differences are in a few bits.
        var slot = Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> UInt64(shift))
        while slots[slot].first != Mark.free, slots[slot].key != key { slot = (slot &+ 1) & mask }
        return slot
    }
}
