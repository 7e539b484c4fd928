import SheafBytes

/// The field names that a store has numbered.
///
/// A name is longer than most values, so documents store its number. Names are only added, so a
/// newer table has all numbers of an older document.
package struct NameTable: Sendable, Equatable {
    /// Maximum number of names; numbers have two bytes.
    package static let maximumCount = 1 << 16
    /// Maximum length of a numbered name; longer names are always spelled out.
    package static let maximumNameLength = 64

    /// Random seed, so that chosen names cannot cause hash collisions.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// The names, which are not changed while several tables share them; nil while there are none.
    private var storage: NameStorage?

    package init() {}

    /// Creates a table that numbers names from zero on; nil if `add` refuses a name.
    package init?(_ names: [String]) {
        for name in names {
            guard add(Array(name.utf8)) != nil else { return nil }
        }
    }

    package var count: Int { storage?.count ?? 0 }

    /// Returns the name with this number; nil if there is none.
    package func name(_ number: Int) -> String? {
        guard let storage, number >= 0, number < storage.count else { return nil }
        return storage.names[number]
    }

    /// Returns the number of a name.
    package func number(of spelling: [UInt8]) -> UInt16? {
        spelling.withUnsafeBytes { number(of: $0) }
    }

    /// Returns the number of a name.
    package func number(of spelling: UnsafeRawBufferPointer) -> UInt16? {
        guard let storage, spelling.count <= Self.maximumNameLength else { return nil }
        return storage.number(of: spelling, seed: Self.seed)
    }

    /// Returns the number of a name, checking a guess first.
    @inline(__always)
    func number(of spelling: UnsafeRawBufferPointer, guess: Int) -> UInt16? {
        guard let storage else { return nil }
        return storage.isSpelled(guess, spelling) ? UInt16(guess) : number(of: spelling)
    }

    /// Assigns the next number to a name; nil if it has one, is too long, or no number is left.
    package mutating func add(_ spelling: [UInt8]) -> UInt16? {
        guard count < Self.maximumCount, spelling.count <= Self.maximumNameLength,
            number(of: spelling) == nil
        else { return nil }
        if storage == nil || !isKnownUniquelyReferenced(&storage) {
            storage = NameStorage(copying: storage, seed: Self.seed)
        }
        storage?.append(spelling, seed: Self.seed)
        return UInt16(count - 1)
    }

    package static func == (left: NameTable, right: NameTable) -> Bool {
        left.storage === right.storage
            || (left.storage?.names ?? []) == (right.storage?.names ?? [])
    }
}

/// The storage of a name table.
///
/// It is raw memory, because arrays would be retained in each lookup.
private final class NameStorage: Sendable {
    /// The place of a spelling in `spellings`.
    private struct Place: BitwiseCopyable {
        var start: Int
        var length: Int
    }

    // A table changes its storage only while it is the only owner.
    nonisolated(unsafe) private(set) var names: [String] = []
    nonisolated(unsafe) private(set) var count = 0
    /// The spellings of all names, one after the other, and their places.
    nonisolated(unsafe) private var spellings = UnsafeMutableRawPointer.allocate(
        byteCount: 1_024, alignment: 8)
    nonisolated(unsafe) private var spellingCapacity = 1_024
    nonisolated(unsafe) private var spellingCount = 0
    nonisolated(unsafe) private var places = UnsafeMutablePointer<Place>.allocate(capacity: 64)
    /// A hash table of numbers plus one, with linear probing; zero is an empty slot.
    ///
    /// There are twice as many slots as places.
    nonisolated(unsafe) private var slots = UnsafeMutablePointer<UInt32>.allocate(capacity: 128)
    nonisolated(unsafe) private var slotCount = 128

    init(copying other: NameStorage?, seed: UInt64) {
        slots.initialize(repeating: 0, count: slotCount)
        for name in other?.names ?? [] { append(Array(name.utf8), seed: seed) }
    }

    deinit {
        spellings.deallocate()
        places.deallocate()
        slots.deallocate()
    }

    func append(_ spelling: [UInt8], seed: UInt64) {
        if count * 2 >= slotCount { grow(seed) }
        reserve(spelling.count)
        names.append(String(decoding: spelling, as: UTF8.self))
        spelling.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: spellings + spellingCount, count: $0.count)
                .copyMemory(from: $0)
        }
        places[count] = Place(start: spellingCount, length: spelling.count)
        spellingCount += spelling.count
        count += 1
        enter(count - 1, seed)
    }

    private func reserve(_ length: Int) {
        guard spellingCapacity - spellingCount < length else { return }
        let capacity = max(spellingCapacity * 2, spellingCount + length)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        larger.copyMemory(from: spellings, byteCount: spellingCount)
        spellings.deallocate()
        (spellings, spellingCapacity) = (larger, capacity)
    }

    private func grow(_ seed: UInt64) {
        let larger = UnsafeMutablePointer<Place>.allocate(capacity: slotCount)
        larger.update(from: places, count: count)
        places.deallocate()
        slots.deallocate()
        slotCount *= 2
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: 0, count: slotCount)
        places = larger
        for number in 0..<count { enter(number, seed) }
    }

    private func enter(_ number: Int, _ seed: UInt64) {
        let place = places[number]
        let spelling = UnsafeRawBufferPointer(start: spellings + place.start, count: place.length)
        slots[slot(of: spelling, seed)] = UInt32(number + 1)
    }

    /// Returns the number of a name; nil if it has none.
    @inline(__always)
    func number(of spelling: UnsafeRawBufferPointer, seed: UInt64) -> UInt16? {
        let found = slots[slot(of: spelling, seed)]
        return found == 0 ? nil : UInt16(found - 1)
    }

    /// Returns the slot of a name, or the free slot for it.
    @inline(__always)
    private func slot(of spelling: UnsafeRawBufferPointer, _ seed: UInt64) -> Int {
        let mask = slotCount &- 1
        var slot = Int(truncatingIfNeeded: XXH3.hash64(spelling, seed: seed)) & mask
        while slots[slot] != 0, !isSpelled(Int(slots[slot]) &- 1, spelling) {
            slot = (slot &+ 1) & mask
        }
        return slot
    }

    @inline(__always)
    func isSpelled(_ number: Int, _ spelling: UnsafeRawBufferPointer) -> Bool {
        guard number >= 0, number < count else { return false }
        let place = places[number]
        return UnsafeRawBufferPointer(start: spellings + place.start, count: place.length)
            .hasSameBytes(as: spelling)
    }
}
