import SheafBytes
import SheafStorage

/// The keys of the index entries of one document, one after the other.
///
/// Its memory is used again for the next document.
struct IndexKeys {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    mutating func append(_ key: [UInt8]) {
        bytes.append(contentsOf: key)
        ends.append(bytes.count)
    }

    /// Appends the tombstone entry of the document with this key.
    mutating func append(tombstoneOf key: UnsafeRawBufferPointer) {
        TombstoneEntry.append(ofDocument: key, to: &bytes)
        ends.append(bytes.count)
    }

    private func range(_ index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// The keys as arrays of their own.
    var arrays: [[UInt8]] { ends.indices.map { Array(bytes[range($0)]) } }

    /// Replaces the index entries of a document with entries for the last operation of a batch.
    func replace(with new: borrowing IndexKeys, in batch: inout WriteBatch) throws(StorageError) {
        try bytes.span.withUnsafeBytes { old throws(StorageError) in
            try new.bytes.span.withUnsafeBytes { current throws(StorageError) in
                for index in ends.indices {
                    let key = UnsafeRawBufferPointer(rebasing: old[range(index)])
                    if index < new.count {
                        let other = UnsafeRawBufferPointer(rebasing: current[new.range(index)])
                        if key.hasSameBytes(as: other) { continue }
                    }
                    try batch.indexChanges.removeEntries(key)
                }
                for index in new.ends.indices {
                    try batch.addIndexEntries(
                        UnsafeRawBufferPointer(rebasing: current[new.range(index)]))
                }
            }
        }
    }
}
