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

    /// At most one element, so that copying the table retains one reference instead of four.
    private var contents: [NameContents] = []

    package init() {}

    /// Creates a table that numbers names from zero on; nil if `add` refuses a name.
    package init?(_ names: [String]) {
        for name in names {
            guard add(Array(name.utf8)) != nil else { return nil }
        }
    }

    package var count: Int { contents.isEmpty ? 0 : contents[0].names.count }

    /// Returns the name with this number; nil if there is none.
    package func name(_ number: Int) -> String? {
        number >= 0 && number < count ? contents[0].names[number] : nil
    }

    /// Returns the number of a name.
    package func number(of spelling: [UInt8]) -> UInt16? {
        spelling.withUnsafeBytes { number(of: $0) }
    }

    /// Returns the number of a name.
    package func number(of spelling: UnsafeRawBufferPointer) -> UInt16? {
        guard !contents.isEmpty, spelling.count <= Self.maximumNameLength else { return nil }
        // The storage is borrowed, which avoids reference counting in each lookup.
        let found = contents.withUnsafeBufferPointer {
            $0.baseAddress?.pointee.number(of: spelling, seed: Self.seed) ?? 0
        }
        return found == 0 ? nil : UInt16(found - 1)
    }

    /// Returns the number of a name, checking a guess first.
    @inline(__always)
    func number(of spelling: UnsafeRawBufferPointer, guess: Int) -> UInt16? {
        let isGuessed = contents.withUnsafeBufferPointer {
            $0.count == 1 && $0[0].isSpelled(guess, spelling)
        }
        return isGuessed ? UInt16(guess) : number(of: spelling)
    }

    /// Assigns the next number to a name; nil if it has one, is too long, or no number is left.
    package mutating func add(_ spelling: [UInt8]) -> UInt16? {
        guard count < Self.maximumCount, spelling.count <= Self.maximumNameLength,
            number(of: spelling) == nil
        else { return nil }
        if contents.isEmpty { contents.append(NameContents()) }
        contents[0].append(spelling, seed: Self.seed)
        return UInt16(count - 1)
    }
}

/// The storage of a name table.
private struct NameContents: Equatable {
    private(set) var names: [String] = []
    /// Concatenated spellings of all names, and their ends.
    private var spellings: [UInt8] = []
    private var ends: [Int] = []
    /// Open-addressing hash table of numbers plus one; zero is an empty slot.
    private var slots: [UInt32] = Array(repeating: 0, count: 64)

    mutating func append(_ spelling: [UInt8], seed: UInt64) {
        names.append(String(decoding: spelling, as: UTF8.self))
        spellings += spelling
        ends.append(spellings.count)
        if names.count * 2 > slots.count {
            slots = Array(repeating: 0, count: slots.count * 2)
            for number in names.indices { enter(number, seed) }
        } else {
            enter(names.count - 1, seed)
        }
    }

    private mutating func enter(_ number: Int, _ seed: UInt64) {
        let range = range(of: number)
        let target = spellings.withUnsafeBytes { bytes in
            slot(of: UnsafeRawBufferPointer(rebasing: bytes[range]), seed: seed)
        }
        slots[target] = UInt32(number + 1)
    }

    @inline(__always)
    private func range(of number: Int) -> Range<Int> {
        (number == 0 ? 0 : ends[number - 1])..<ends[number]
    }

    /// Returns the number of a name plus one; zero if it has none.
    @inline(__always)
    func number(of spelling: UnsafeRawBufferPointer, seed: UInt64) -> UInt32 {
        slots[slot(of: spelling, seed: seed)]
    }

    /// Returns the slot of a name, or the free slot for it.
    @inline(__always)
    private func slot(of spelling: UnsafeRawBufferPointer, seed: UInt64) -> Int {
        // A closure over the slots would retain the four arrays.
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: XXH3.hash64(spelling, seed: seed)) & mask
        while slots[slot] != 0, !isSpelled(Int(slots[slot]) - 1, spelling) {
            slot = (slot + 1) & mask
        }
        return slot
    }

    @inline(__always)
    func isSpelled(_ number: Int, _ spelling: UnsafeRawBufferPointer) -> Bool {
        guard number < ends.count else { return false }
        let range = range(of: number)
        guard range.count == spelling.count, let other = spelling.baseAddress else {
            return range.isEmpty && spelling.isEmpty
        }
        return spellings.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return equalBytes(base + range.lowerBound, other, range.count)
        }
    }
}
