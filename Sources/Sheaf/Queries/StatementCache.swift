import SheafBytes
import SheafDocument
package import SheafQuery

/// Statements that were parsed, by their texts; those that came longest ago are forgotten first.
///
/// It is a table of its own: to hash a text as a dictionary does it takes as long as to find a document.
package struct StatementCache: Sendable {
    private struct Entry {
        let hash: UInt64
        let statement: Statement
        var use: UInt64
    }

    /// Each in the first slot that was free from the one of its hash on; half of them stay free.
    private var slots: [Entry?] = []
    private var count = 0
    private var uses: UInt64 = 0
    private let maximumCount: Int
    private let hashBits: UInt64

    private static let leastSlotCount = 64
    /// Longer texts are mostly data that comes once.
    private static let maximumLength = 4_096
    /// Who chooses texts cannot choose where they fall in the table.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// Makes a cache for so many statements; tests let only some bits of hashes count.
    package init(maximumCount: Int = 512, hashBits: UInt64 = .max) {
        self.maximumCount = maximumCount
        self.hashBits = hashBits
    }

    /// The statement with exactly this text.
    package mutating func find(_ text: String) -> Statement? {
        guard !slots.isEmpty else { return nil }
        let slot = slot(of: text, hash(text))
        guard slots[slot]?.hash != nil else { return nil }
        uses += 1
        slots[slot]?.use = uses
        return slots[slot]?.statement
    }

    /// Keeps a statement, in place of another with the same text.
    package mutating func insert(_ statement: Statement) {
        let text = statement.text
        guard text.utf8.count <= Self.maximumLength else { return }
        if count >= maximumCount { forgetOldest() }
        if slots.count < 2 * (count + 1) {
            place(slots, in: max(Self.leastSlotCount, 2 * slots.count))
        }
        uses += 1
        let hash = hash(text)
        let slot = slot(of: text, hash)
        if slots[slot]?.hash == nil { count += 1 }
        slots[slot] = Entry(hash: hash, statement: statement, use: uses)
    }

    /// All statements, the one used last first.
    var statements: [Statement] {
        slots.compactMap { $0 }.sorted { $0.use > $1.use }.map(\.statement)
    }

    /// Half at a time, so that not every new statement looks for the oldest one.
    private mutating func forgetOldest() {
        let middle = slots.compactMap { $0?.use }.sorted()[count / 2]
        place(slots.filter { ($0?.use ?? 0) > middle }, in: slots.count)
    }

    private mutating func place(_ entries: [Entry?], in slotCount: Int) {
        slots = Array(repeating: nil, count: slotCount)
        count = 0
        for case let entry? in entries {
            slots[slot(of: entry.statement.text, entry.hash)] = entry
            count += 1
        }
    }

    private func hash(_ text: String) -> UInt64 {
        var text = text
        return text.withUTF8 {
            XXH3.hash64(UnsafeRawBufferPointer($0), seed: Self.seed) & hashBits
        }
    }

    /// The slot that has a text, or the one that it would get.
    private func slot(of text: String, _ hash: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while let other = slots[slot]?.hash {
            if other == hash, hasText(slot, text) { return slot }
            slot = (slot + 1) & mask
        }
        return slot
    }

    private func hasText(_ slot: Int, _ text: String) -> Bool {
        slots[slot].map { UTF8Order.compare($0.statement.text, text) == 0 } ?? false
    }
}
