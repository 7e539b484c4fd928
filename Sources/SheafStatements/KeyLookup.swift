import SheafQuery
import SheafStorage
import SheafSystem

/// The lookup of many keys in the tree of a snapshot, on all cores if there are very many.
final class KeyLookup {
    private let keys: KeyBatch
    private let log: LogSnapshot
    /// The record pointers of the keys that the tree has.
    private let pointers: UnsafeMutableBufferPointer<RecordPointer?>
    /// The numbers of the keys, in the order of their lookup.
    private let order: [Int]

    /// Number of keys that one thread looks up at a time.
    private static let partLength = 512

    init(_ keys: KeyBatch, _ log: LogSnapshot) {
        self.keys = keys
        self.log = log
        order = Self.order(of: keys)
        pointers = .allocate(capacity: keys.count)
        pointers.initialize(repeating: nil)
    }

    deinit {
        pointers.deallocate()
    }

    /// The record pointer of a key; nil if the tree does not have it.
    subscript(number: Int) -> RecordPointer? { pointers[number] }

    /// Looks up all keys.
    func run() {
        let length = Self.partLength
        // Each part is written by one thread; the keys do not change meanwhile.
        nonisolated(unsafe) let lookup = self
        Workers.shared.run((keys.count + length - 1) / length) { part in
            for number in lookup.order[part * length..<min((part + 1) * length, lookup.keys.count)]
            {
                lookup.pointers[number] = lookup.log.recordPointer(of: lookup.keys[number])
            }
        }
    }

    // MARK: Order

    /// Numbers of keys that are sorted; a word has a number in its low bits.
    private static let sortedCounts = 256...4_096
    private static let numberBits: UInt64 = 0xFFF

    /// Returns the numbers of many keys in about their order, so that neighbors share pages.
    private static func order(of keys: KeyBatch) -> [Int] {
        guard sortedCounts.contains(keys.count) else { return Array(0..<keys.count) }
        var common = keys[0].count
        for number in 1..<keys.count {
            common = commonLength(of: keys[0], keys[number], upTo: common)
        }
        var words: [UInt64] = []
        words.reserveCapacity(keys.count)
        for number in 0..<keys.count {
            words.append(head(of: keys[number], at: common) & ~numberBits | UInt64(number))
        }
        words.sort()
        return words.map { Int($0 & numberBits) }
    }

    private static func commonLength(
        of left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, upTo limit: Int
    ) -> Int {
        let limit = min(limit, right.count)
        var length = 0
        while length < limit, left[length] == right[length] { length += 1 }
        return length
    }

    /// Returns the eight bytes at an offset as a number that sorts as they do.
    private static func head(of key: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        guard key.count < offset + 8 else {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var head: UInt64 = 0
        for index in 0..<8 {
            head = head << 8 | (offset + index < key.count ? UInt64(key[offset + index]) : 0)
        }
        return head
    }
}
