/// Where each of some keys occurs, as a table with open addressing.
///
/// A key that occurs several times has one slot and a chain, so also very many occurrences of one
/// key, or of a few, are found in the time that as many keys take.
struct OccurrenceTable: ~Copyable {
    // Not private: the compiler loses a private type whose memory another file frees.
    struct Slot: BitwiseCopyable {
        var key: UInt64
        /// The first position that is left, or one of the marks.
        var first: Int32
    }

    private enum Mark {
        /// Nobody has the slot.
        static let free: Int32 = -1
        /// All positions of the key have been taken, or the chain ends.
        static let end: Int32 = -2
    }

    private let slots: FlatMemory<Slot>
    private let following: FlatMemory<Int32>
    private let shift: Int
    private let mask: Int

    /// A table for keys at positions below `count`.
    init(count: Int) {
        // At most half of the slots are taken, so that a search soon comes to a free one.
        let bits = Int.bitWidth - max(count * 2 - 1, 1).leadingZeroBitCount
        slots = FlatMemory(repeating: Slot(key: 0, first: Mark.free), count: 1 << bits)
        following = FlatMemory(capacity: count)
        shift = UInt64.bitWidth - bits
        mask = (1 << bits) - 1
    }

    /// Notes a key at a position, which lies before all that were noted already.
    @inline(__always)
    func prepend(_ key: UInt64, at position: Int) {
        let slot = slot(of: key)
        let first = slots[slot].first
        following[position] = first == Mark.free ? Mark.end : first
        slots[slot] = Slot(key: key, first: Int32(truncatingIfNeeded: position))
    }

    /// Takes the first position of a key that was not taken yet.
    @inline(__always)
    func takeFirst(_ key: UInt64) -> Int? {
        let slot = slot(of: key)
        let first = slots[slot].first
        guard first >= 0 else { return nil }
        slots[slot].first = following[Int(first)]
        return Int(first)
    }

    /// The slot of the key, or the free one that it would have.
    @inline(__always)
    private func slot(of key: UInt64) -> Int {
        // Keys may be places in a log, which have most of their differences in a few bits.
        var slot = Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> UInt64(shift))
        while slots[slot].first != Mark.free, slots[slot].key != key { slot = (slot &+ 1) & mask }
        return slot
    }
}
