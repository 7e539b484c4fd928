import SheafBytes
import SheafDocument
import SheafStorage

/// The index entries of tombstones (`format-spec/indexes.md`, table 3).
///
///     0    1            3       5
///     | FF | collection | FF FF | id |
///
/// Documents and tombstones share one range of keys; these entries make tombstones countable.
enum TombstoneEntry {
    /// A reserved index number, which no index has.
    private static let mark: [UInt8] = [0xFF, 0xFF]

    /// Returns the tombstone index entry for the document with this key.
    package static func key(ofDocument key: [UInt8]) -> [UInt8] {
        var entry: [UInt8] = []
        entry.reserveCapacity(key.count + mark.count)
        key.span.withUnsafeBytes { append(ofDocument: $0, to: &entry) }
        return entry
    }

    /// Appends the tombstone index entry for the document with this key.
    static func append(ofDocument key: UnsafeRawBufferPointer, to entries: inout [UInt8]) {
        // Few calls, because this code runs for each deletion.
        withUnsafeTemporaryAllocation(
            byteCount: StoreKey.documentPrefixLength + mark.count, alignment: 1
        ) { head in
            head.copyBytes(from: key[..<StoreKey.documentPrefixLength])
            head[0] = IndexChanges.firstByte
            for index in mark.indices { head[StoreKey.documentPrefixLength + index] = mark[index] }
            entries.append(contentsOf: UnsafeRawBufferPointer(head))
        }
        entries.append(
            contentsOf: UnsafeRawBufferPointer(rebasing: key[StoreKey.documentPrefixLength...]))
    }

    /// Whether an index key is that of a tombstone.
    package static func isTombstone(_ entry: [UInt8]) -> Bool {
        entry.dropFirst(StoreKey.documentPrefixLength).starts(with: mark)
    }

    /// Returns the range of a collection's tombstone index entries, in the order of document keys.
    static func range(of collection: UInt16) -> KeyRange {
        .prefix(key(ofDocument: StoreKey.document(collection: collection, id: []).bytes))
    }
}
