package import SheafBytes

/// Changes of index entries: tree keys that refer to operations of other keys.
///
/// The layer above defines what index entries mean. They are not written to the log: on opening,
/// that layer rebuilds the entries that changed after the checkpoint. Removals are applied before
/// insertions.
package struct IndexChanges: Sendable {
    /// An index entry that refers to an operation of the same batch.
    struct OperationEntry {
        let key: Range<Int>
        /// The offset of the operation in the batch.
        let operation: Int
    }

    /// The keys, concatenated.
    private(set) var bytes: [UInt8] = []
    /// The entries for operations of the batch, in the order of the operations.
    private(set) var toOperations: [OperationEntry] = []
    private(set) var toPointers: [(key: Range<Int>, pointer: RecordPointer)] = []
    private(set) var removed: [Range<Int>] = []
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
    package mutating func addEntry(_ key: [UInt8], to pointer: RecordPointer) throws(StorageError) {
        toPointers.append((try add(key), pointer))
    }

    /// Removes an index entry if it exists.
    package mutating func removeEntries(_ key: [UInt8]) throws(StorageError) {
        removed.append(try add(key))
    }

    /// Removes all index entries in `range`.
    package mutating func removeEntries(in range: KeyRange) {
        removedRanges.append(range.intersection(Self.all))
    }

    /// Sorts the entries for logged operations by key, which speeds up their insertion.
    package mutating func sort() {
        let bytes = bytes
        bytes.withUnsafeBytes { bytes in
            let prefix = toPointers.reduce(toPointers.first?.key.count ?? 0) { length, entry in
                let first = bytes.slice(toPointers[0].key)
                let key = bytes.slice(entry.key)
                let limit = min(length, key.count)
                var equal = 0
                while equal < limit, key[equal] == first[equal] { equal += 1 }
                return equal
            }
            // Most keys differ within the eight bytes after their common prefix.
            var heads = toPointers.indices.map { index in
                (
                    head: Self.head(of: bytes.slice(toPointers[index].key), behind: prefix),
                    index: index
                )
            }
            heads.sort { left, right in
                if left.head != right.head { return left.head < right.head }
                return bytes.slice(toPointers[left.index].key).compare(
                    bytes.slice(toPointers[right.index].key)) < 0
            }
            toPointers = heads.map { toPointers[$0.index] }
        }
    }

    private static func head(of key: UnsafeRawBufferPointer, behind prefix: Int) -> UInt64 {
        guard key.count < prefix + 8 else {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: prefix, as: UInt64.self))
        }
        return (0..<8).reduce(0) { head, index in
            head << 8 | UInt64(prefix + index < key.count ? key[prefix + index] : 0)
        }
    }

    /// Adds an index entry for the operation at `offset` of the batch.
    mutating func addEntry(_ key: [UInt8], toOperationAt offset: Int) throws(StorageError) {
        toOperations.append(OperationEntry(key: try add(key), operation: offset))
    }

    /// Discards all changes.
    mutating func removeAll() {
        guard !isEmpty else { return }
        self = IndexChanges()
    }

    private mutating func add(_ key: [UInt8]) throws(StorageError) -> Range<Int> {
        guard key.first == Self.firstByte else {
            throw .invalidKey("an index entry begins with byte 255")
        }
        guard key.count <= Limits.maximumIndexEntryLength else {
            throw .limit(
                name: "maximumIndexEntryLength", value: key.count,
                limit: Limits.maximumIndexEntryLength)
        }
        let start = bytes.count
        bytes.append(contentsOf: key)
        return start..<bytes.count
    }
}
