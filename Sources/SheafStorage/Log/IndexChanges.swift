package import SheafBytes

/// Changes of index entries: tree keys that refer to operations of other keys.
///
/// The layer above defines what index entries mean. They are not written to the log: on opening,
/// that layer rebuilds the entries that changed after the checkpoint. Removals are applied before
/// insertions.
package struct IndexChanges: Sendable {
    /// The place of a key in `bytes`, in eight bytes: there can be millions of them.
    struct KeyPlace {
        private static let lengthBits = 16
        private let startAndLength: UInt64

        init(start: Int, length: Int) {
            precondition(length < 1 << Self.lengthBits, "A key is longer than allowed.")
            startAndLength = UInt64(start) << UInt64(Self.lengthBits) | UInt64(length)
        }

        var range: Range<Int> {
            let start = Int(startAndLength >> UInt64(Self.lengthBits))
            return start..<start + Int(startAndLength & (1 << UInt64(Self.lengthBits) - 1))
        }
    }

    /// An index entry that refers to an operation of the same batch.
    struct OperationEntry {
        private let place: KeyPlace
        private let weightOrZero: UInt64
        private let number: UInt32
        private let hasWeight: Bool

        init(_ place: KeyPlace, operation: Int, weight: UInt64?) {
            self.place = place
            number = UInt32(operation)
            (weightOrZero, hasWeight) = (weight ?? 0, weight != nil)
        }

        var key: Range<Int> { place.range }
        /// The number of the operation in the batch.
        var operation: Int { Int(number) }
        /// The weight of the key of the operation, if it has one.
        var weight: UInt64? { hasWeight ? weightOrZero : nil }
    }

    /// An index entry that refers to an operation in the log.
    struct PointerEntry {
        let key: Range<Int>
        let pointer: RecordPointer
        let weight: UInt64?
    }

    /// The keys, concatenated.
    private(set) var bytes: [UInt8] = []
    /// The entries for operations of the batch, in the order of the operations.
    private(set) var toOperations: [OperationEntry] = []
    private(set) var toPointers: [PointerEntry] = []
    private(set) var removed: [KeyPlace] = []
    private(set) var removedRanges: [KeyRange] = []

    /// The approximate cost of rebuilding the entries for logged operations, in bytes of log.
    var lengthToPointers: Int { toPointers.isEmpty ? 0 : bytes.count }

    /// The first byte of every index entry.
    package static let firstByte: UInt8 = 0xFF
    /// The key range of all index entries.
    package static let all = KeyRange(from: [firstByte])

    package init() {}

    package var isEmpty: Bool {
        toOperations.isEmpty && toPointers.isEmpty && removed.isEmpty && removedRanges.isEmpty
    }

    /// Adds an index entry for an operation that is already in the log.
    package mutating func addEntry(
        _ key: [UInt8], to pointer: RecordPointer, weight: UInt64? = nil
    ) throws(StorageError) {
        toPointers.append(PointerEntry(key: try add(key).range, pointer: pointer, weight: weight))
    }

    /// Removes an index entry if it exists.
    package mutating func removeEntries(_ key: [UInt8]) throws(StorageError) {
        removed.append(try add(key))
    }

    /// Removes an index entry if it exists.
    package mutating func removeEntries(_ key: UnsafeRawBufferPointer) throws(StorageError) {
        removed.append(try add(key))
    }

    /// Removes all index entries in `range`.
    package mutating func removeEntries(in range: KeyRange) {
        removedRanges.append(range.intersection(Self.all))
    }

    /// Sorts the entries for logged operations by key, which speeds up their insertion.
    package mutating func sort() {
        let order = bytes.withUnsafeBytes { bytes in
            KeyOrder.sorted(toPointers.count) { bytes.slice(toPointers[$0].key) }
        }
        toPointers = order.map { toPointers[$0] }
    }

    /// Adds an index entry for an operation of the batch.
    mutating func addEntry(
        _ key: UnsafeRawBufferPointer, toOperation number: Int, weight: UInt64?
    ) throws(StorageError) {
        let entry = OperationEntry(try add(key), operation: number, weight: weight)
        toOperations.reserveRoom(for: 1)
        toOperations.append(entry)
    }

    /// Discards all changes.
    mutating func removeAll() {
        guard !isEmpty else { return }
        self = IndexChanges()
    }

    private mutating func add(_ key: [UInt8]) throws(StorageError) -> KeyPlace {
        try key.span.withUnsafeBytes { key throws(StorageError) in try add(key) }
    }

    private mutating func add(_ key: UnsafeRawBufferPointer) throws(StorageError) -> KeyPlace {
        guard key.first == Self.firstByte else {
            throw .invalidKey("an index entry begins with byte 255")
        }
        guard key.count <= Limits.maximumIndexEntryLength else {
            throw .limit(
                name: "maximumIndexEntryLength", value: key.count,
                limit: Limits.maximumIndexEntryLength)
        }
        let place = KeyPlace(start: bytes.count, length: key.count)
        bytes.reserveRoom(for: key.count)
        bytes.append(contentsOf: key)
        return place
    }
}

extension Array {
    /// The number of elements from which an array grows by a quarter of its length.
    private static var longCount: Int { 1 << 17 }

    /// Makes room for `added` elements, in a long array without doubling its memory.
    fileprivate mutating func reserveRoom(for added: Int) {
        guard count >= Self.longCount, capacity - count < added else { return }
        reserveCapacity(count + count / 4 + added)
    }
}
