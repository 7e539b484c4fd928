import SheafBytes

/// The names that a store has numbers for.
///
/// A name costs more than many a value, so documents have numbers in their place. Names are only
/// ever added, so a table that is newer than a document always knows the document's numbers.
package struct NameTable: Sendable, Equatable {
    /// Names have numbers of two bytes.
    package static let maximumCount = 1 << 16
    /// Longer names are spelled wherever they stand.
    package static let maximumNameLength = 64

    /// Who chooses names cannot choose where they fall in the table.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// One of them at most: so a copy of the table counts one reference, and not four.
    private var contents: [NameContents] = []

    package init() {}

    /// A table in which names are numbered from zero on; nil where one comes twice.
    package init?(_ names: [String]) {
        for name in names {
            guard add(Array(name.utf8)) != nil else { return nil }
        }
    }

    package var count: Int { contents.isEmpty ? 0 : contents[0].names.count }

    /// The name that has this number.
    package func name(_ number: Int) -> String? {
        number >= 0 && number < count ? contents[0].names[number] : nil
    }

    /// The number of a name.
    package func number(of spelling: [UInt8]) -> UInt16? {
        spelling.withUnsafeBytes { number(of: $0) }
    }

    /// The number of a name.
    package func number(of spelling: UnsafeRawBufferPointer) -> UInt16? {
        guard !contents.isEmpty, spelling.count <= Self.maximumNameLength else { return nil }
        // Lent, or each look would count references.
        let found = contents.withUnsafeBufferPointer {
            $0[0].number(of: spelling, seed: Self.seed)
        }
        return found == 0 ? nil : UInt16(found - 1)
    }

    /// The number of a name that may be this one.
    @inline(__always)
    func number(of spelling: UnsafeRawBufferPointer, guess: Int) -> UInt16? {
        let isGuessed = contents.withUnsafeBufferPointer {
            $0.count == 1 && $0[0].isSpelled(guess, spelling)
        }
        return isGuessed ? UInt16(guess) : number(of: spelling)
    }

    /// Gives a name the next number; nil where it has one, is too long, or there are none left.
    package mutating func add(_ spelling: [UInt8]) -> UInt16? {
        guard count < Self.maximumCount, spelling.count <= Self.maximumNameLength,
            number(of: spelling) == nil
        else { return nil }
        if contents.isEmpty { contents.append(NameContents()) }
        contents[0].append(spelling, seed: Self.seed)
        return UInt16(count - 1)
    }
}

/// What a table of names has.
private struct NameContents: Equatable {
    private(set) var names: [String] = []
    /// The bytes of all names, one behind the other, and where each of them ends.
    private var spellings: [UInt8] = []
    private var ends: [Int] = []
    /// Numbers plus one, by the hashes of their names; zero where there is none.
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
        let place = spellings.withUnsafeBytes { bytes in
            slot(of: UnsafeRawBufferPointer(rebasing: bytes[range]), seed: seed)
        }
        slots[place] = UInt32(number + 1)
    }

    @inline(__always)
    private func range(of number: Int) -> Range<Int> {
        (number == 0 ? 0 : ends[number - 1])..<ends[number]
    }

    /// The number of a name plus one; zero where it has none.
    func number(of spelling: UnsafeRawBufferPointer, seed: UInt64) -> UInt32 {
        slots[slot(of: spelling, seed: seed)]
    }

    /// Where a name is in the table, or would be.
    private func slot(of spelling: UnsafeRawBufferPointer, seed: UInt64) -> Int {
        slots.withUnsafeBufferPointer { slots in
            let mask = slots.count - 1
            var slot = Int(truncatingIfNeeded: XXH3.hash64(spelling, seed: seed)) & mask
            while slots[slot] != 0, !isSpelled(Int(slots[slot]) - 1, spelling) {
                slot = (slot + 1) & mask
            }
            return slot
        }
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
