import SheafBytes

/// The names that a store has numbers for.
///
/// A name costs more than many a value, so documents have numbers in their place. Names are only
/// ever added, so a table that is newer than a document always knows the document's numbers.
package struct NameTable: Sendable {
    /// Names have numbers of two bytes.
    package static let maximumCount = 1 << 16
    /// Longer names are spelled wherever they stand.
    package static let maximumNameLength = 64

    /// Who chooses names cannot choose where they fall in the table.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    private var names: [String] = []
    /// The bytes of all names, one behind the other, and where each of them ends.
    private var spellings: [UInt8] = []
    private var ends: [Int] = []
    /// Numbers plus one, by the hashes of their names; zero where there is none.
    private var slots: [UInt32] = Array(repeating: 0, count: 64)

    package init() {}

    /// A table in which names are numbered from zero on; nil where one comes twice.
    package init?(_ names: [String]) {
        for name in names {
            guard add(Array(name.utf8)) != nil else { return nil }
        }
    }

    package var count: Int { names.count }

    /// The name that has this number.
    package func name(_ number: Int) -> String? {
        names.indices.contains(number) ? names[number] : nil
    }

    /// The number of a name.
    package func number(of spelling: [UInt8]) -> UInt16? {
        spelling.withUnsafeBytes { number(of: $0) }
    }

    /// The number of a name.
    package func number(of spelling: UnsafeRawBufferPointer) -> UInt16? {
        guard !names.isEmpty, spelling.count <= Self.maximumNameLength else { return nil }
        let found = slots[slot(of: spelling)]
        return found == 0 ? nil : UInt16(found - 1)
    }

    /// Gives a name the next number; nil where it has one, is too long, or there are none left.
    package mutating func add(_ spelling: [UInt8]) -> UInt16? {
        guard names.count < Self.maximumCount, spelling.count <= Self.maximumNameLength,
            number(of: spelling) == nil
        else { return nil }
        names.append(String(decoding: spelling, as: UTF8.self))
        spellings += spelling
        ends.append(spellings.count)
        if names.count * 2 > slots.count {
            slots = Array(repeating: 0, count: slots.count * 2)
            for number in names.indices { enter(number) }
        } else {
            enter(names.count - 1)
        }
        return UInt16(names.count - 1)
    }

    private mutating func enter(_ number: Int) {
        let range = range(of: number)
        let place = spellings.withUnsafeBytes { bytes in
            slot(of: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
        slots[place] = UInt32(number + 1)
    }

    private func range(of number: Int) -> Range<Int> {
        (number == 0 ? 0 : ends[number - 1])..<ends[number]
    }

    /// Where a name is in the table, or would be.
    private func slot(of spelling: UnsafeRawBufferPointer) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: XXH3.hash64(spelling, seed: Self.seed)) & mask
        while slots[slot] != 0, !isSpelled(Int(slots[slot]) - 1, spelling) {
            slot = (slot + 1) & mask
        }
        return slot
    }

    private func isSpelled(_ number: Int, _ spelling: UnsafeRawBufferPointer) -> Bool {
        let range = range(of: number)
        guard range.count == spelling.count else { return false }
        return spellings.withUnsafeBytes { $0[range].elementsEqual(spelling) }
    }
}
