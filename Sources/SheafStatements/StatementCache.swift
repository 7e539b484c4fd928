import SheafBytes
import SheafDocument
import SheafEngine
package import SheafQuery

/// A cache of parsed statements by text, which evicts the least recently used ones.
///
/// It is not a `Dictionary`, which hashes a text for as long as a point lookup takes.
package struct StatementCache: Sendable {
    private struct Entry {
        let hash: UInt64
        let statement: Statement
        var lastUse: UInt64
    }

    /// A hash table with linear probing; at least half of the slots are free.
    private var slots: [Entry?] = []
    private var count = 0
    private var useCount: UInt64 = 0
    /// The statement that was found or inserted last, which a loop executes again and again.
    ///
    /// Its further uses are not counted: no other statement is used in between.
    private var last: Statement?
    private let maximumCount: Int
    private let hashBits: UInt64

    private static let minimumSlotCount = 64
    /// Maximum length of a cached text in bytes; longer texts are mostly data that is used once.
    private static let maximumLength = 4_096
    /// A random seed, so that chosen texts cannot cause collisions.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// Creates a cache of `maximumCount` statements; tests limit the bits of hashes.
    package init(maximumCount: Int = 512, hashBits: UInt64 = .max) {
        self.maximumCount = maximumCount
        self.hashBits = hashBits
    }

    /// Returns the statement with exactly this text.
    package mutating func find(_ text: String) -> Statement? {
        guard !slots.isEmpty else { return nil }
        if let last, last.text.utf8.count == text.utf8.count,
            UTF8Order.compare(last.text, text) == 0
        {
            return last
        }
        let slot = slot(of: text, hash(text))
        guard slots[slot]?.hash != nil else { return nil }
        useCount += 1
        slots[slot]?.lastUse = useCount
        last = slots[slot]?.statement
        return last
    }

    /// Inserts a statement, replacing one with the same text; ignores a long text.
    package mutating func insert(_ statement: Statement) {
        let text = statement.text
        guard text.utf8.count <= Self.maximumLength else { return }
        if count >= maximumCount { evictOldest() }
        if slots.count < 2 * (count + 1) {
            rehash(slots, in: max(Self.minimumSlotCount, 2 * slots.count))
        }
        useCount += 1
        let hash = hash(text)
        let slot = slot(of: text, hash)
        if slots[slot]?.hash == nil { count += 1 }
        slots[slot] = Entry(hash: hash, statement: statement, lastUse: useCount)
        last = statement
    }

    /// All statements, the most recently used first.
    var statements: [Statement] {
        slots.compactMap { $0 }.sorted { $0.lastUse > $1.lastUse }.map(\.statement)
    }

    /// Evicts half of the statements, so that not each insertion has to find the oldest.
    private mutating func evictOldest() {
        last = nil
        let middle = slots.compactMap { $0?.lastUse }.sorted()[count / 2]
        rehash(slots.filter { ($0?.lastUse ?? 0) > middle }, in: slots.count)
    }

    private mutating func rehash(_ entries: [Entry?], in slotCount: Int) {
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

    /// Returns the slot of a text, or the free slot where it would be inserted.
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
