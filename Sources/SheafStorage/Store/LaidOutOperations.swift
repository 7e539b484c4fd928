import SheafBytes

/// The operations of a batch, whose positions in the log are known once its records are laid out.
struct LaidOutOperations {
    private struct Entry {
        /// The offset in the batch.
        let batchOffset: Int
        /// The offset in the buffer of the pending records.
        let pendingOffset: Int
        let pointer: RecordPointer
        let weight: UInt64?
    }

    /// Number of operations from which ascending keys enter the tree leaf by leaf.
    private static let minimumAscendingCount = 16

    private var entries: [Entry] = []
    private var weights: ArraySlice<(operation: Int, weight: UInt64)>
    /// Whether all operations are puts.
    private var areAllPuts = true

    init(_ batch: borrowing WriteBatch) {
        entries.reserveCapacity(batch.count)
        weights = batch.weights[...]
    }

    /// Adds the operations of a record, which contains `range` of the batch.
    ///
    /// The record is at `start` in the buffer, and at `position` in the log.
    mutating func append(
        _ range: Range<Int>, in record: UnsafeMutableRawBufferPointer, at start: Int,
        _ position: LogPosition
    ) {
        var distance = Record.headerLength
        while distance < Record.headerLength + range.count {
            let length = Operation.length(in: UnsafeRawBufferPointer(record), at: distance)
            let kind = record[distance]
            if kind != Operation.Kind.put.rawValue { areAllPuts = false }
            var weight: UInt64?
            if let next = weights.first, next.operation == entries.count {
                weight = next.weight
                weights.removeFirst()
            }
            record.store(UInt32(distance), at: distance + Operation.Layout.distance)
            entries.append(
                Entry(
                    batchOffset: range.lowerBound + distance - Record.headerLength,
                    pendingOffset: start + distance,
                    pointer: RecordPointer(
                        position: LogPosition(
                            segment: position.segment, offset: position.offset + distance),
                        length: length, isDelta: kind == Operation.Kind.delta.rawValue),
                    weight: weight))
            distance += length
        }
    }

    /// Changes the tree, and records the previous operation of each key in the pending records.
    func apply(
        _ batch: borrowing WriteBatch, to keyspace: inout Keyspace, _ pending: PendingBatch,
        options: borrowing LogStoreOptions
    ) {
        let sortsKeys = options.sorts(batch.count, into: keyspace.tree.count)
        batch.bytes.withUnsafeBytes { bytes in
            func key(_ index: Int) -> UnsafeRawBufferPointer {
                Operation.key(in: bytes, at: entries[index].batchOffset)
            }
            let order = sortsKeys ? KeyOrder.sorted(entries.count, key) : nil
            guard areAllPuts, sortsKeys || isAscending(key) else {
                for index in entries.indices {
                    apply(entries[order?[index] ?? index], in: bytes, to: &keyspace, pending)
                }
                return
            }
            keyspace.put(ascending: entries.count) { index in
                let operation = entries[order?[index] ?? index]
                return (
                    Operation.key(in: bytes, at: operation.batchOffset), operation.pointer,
                    operation.weight
                )
            } previous: { index, previous in
                pending.setPrevious(
                    previous, ofOperationAt: entries[order?[index] ?? index].pendingOffset)
            }
        }
        addEntries(batch.indexChanges, sortsKeys: sortsKeys, to: &keyspace)
    }

    /// Whether there are enough operations, in the order of their keys already.
    private func isAscending(_ key: (Int) -> UnsafeRawBufferPointer) -> Bool {
        entries.count >= Self.minimumAscendingCount && KeyOrder.isAscending(entries.count, key)
    }

    @inline(__always)
    private func apply(
        _ operation: Entry, in bytes: UnsafeRawBufferPointer, to keyspace: inout Keyspace,
        _ pending: PendingBatch
    ) {
        let previous = keyspace.apply(
            bytes[operation.batchOffset], Operation.key(in: bytes, at: operation.batchOffset),
            at: operation.pointer, weight: operation.weight)
        pending.setPrevious(previous, ofOperationAt: operation.pendingOffset)
    }

    /// Adds the index entries for these operations.
    private func addEntries(
        _ changes: borrowing IndexChanges, sortsKeys: Bool, to keyspace: inout Keyspace
    ) {
        let (added, bytes) = (changes.toOperations, changes.bytes)
        guard !added.isEmpty else { return }
        // The entries are in the order of their operations.
        var number = 0
        bytes.withUnsafeBytes { bytes in
            guard sortsKeys else {
                for entry in added {
                    while entries[number].batchOffset < entry.operation { number += 1 }
                    keyspace.tree.put(
                        bytes.slice(entry.key), entries[number].pointer.value(weight: entry.weight))
                }
                return
            }
            let values = added.map { entry in
                while entries[number].batchOffset < entry.operation { number += 1 }
                return entries[number].pointer.value(weight: entry.weight)
            }
            let order = KeyOrder.sorted(added.count) { bytes.slice(added[$0].key) }
            keyspace.tree.put(ascending: order.count) { index in
                (bytes.slice(added[order[index]].key), values[order[index]])
            } replacing: { _, _ in
            }
        }
    }
}

extension LogStoreOptions {
    /// Number of tree entries for each operation up to which several operations share a leaf.
    private static let maximumEntriesPerOperation = 128

    /// Whether operations should change a tree of `entries` in the order of their keys.
    ///
    /// In the order of the batch, each key is looked up from the root, and its leaf fetched from
    /// memory. That is slower than sorting the keys if the tree is larger than the caches of
    /// processors, and if several of them share a leaf.
    func sorts(_ operations: Int, into entries: Int) -> Bool {
        let entries = entries + operations
        return entries >= minimumEntriesForSorting
            && operations * Self.maximumEntriesPerOperation >= entries
    }
}
