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

    private struct StagedEntry {
        /// The address of the operation in its mapped file.
        let address: UnsafeRawPointer
        let pointer: RecordPointer
        let weight: UInt64?
    }

    /// Number of operations from which ascending keys enter the tree leaf by leaf.
    private static let minimumAscendingCount = 16

    /// The staged operations, which have the first numbers.
    private var staged: [StagedEntry] = []
    private var entries: [Entry] = []
    private var stagedWeights: ArraySlice<(operation: Int, weight: UInt64)>
    private var weights: ArraySlice<(operation: Int, weight: UInt64)>
    private let stagedCount: Int
    /// Whether all operations are puts.
    private var areAllPuts = true

    init(_ batch: borrowing WriteBatch) {
        stagedCount = batch.stagedCount
        staged.reserveCapacity(stagedCount)
        entries.reserveCapacity(batch.count - stagedCount)
        stagedWeights = batch.weights[...]
        weights = batch.weights[...]
        guard stagedCount > 0 else { return }
        let stagedCount = stagedCount
        stagedWeights = batch.weights.prefix { $0.operation < stagedCount }
        weights = batch.weights[stagedWeights.endIndex...]
    }

    private var count: Int { staged.count + entries.count }

    /// Adds the operations of a staged file, which becomes a segment.
    mutating func append(_ file: StagedRecords.File, as segment: UInt32) {
        let bytes = file.mapping.bytes
        for record in file.records {
            var offset = record.bodyOffset
            while offset < record.bodyOffset + record.bodyLength {
                let length = Operation.length(in: bytes, at: offset)
                let weight = Self.removeWeight(of: staged.count, from: &stagedWeights)
                staged.append(
                    StagedEntry(
                        address: UnsafeRawPointer(file.mapping.base + offset),
                        pointer: RecordPointer(
                            position: LogPosition(segment: segment, offset: offset),
                            length: length),
                        weight: weight))
                offset += length
            }
        }
    }

    /// Removes and returns the weight of an operation, if the first one belongs to it.
    @inline(__always)
    private static func removeWeight(
        of operation: Int, from weights: inout ArraySlice<(operation: Int, weight: UInt64)>
    ) -> UInt64? {
        guard let next = weights.first, next.operation == operation else { return nil }
        weights.removeFirst()
        return next.weight
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
            let weight = Self.removeWeight(of: stagedCount + entries.count, from: &weights)
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
            let key = { (number: Int) in self.key(number, in: bytes) }
            let order = sortsKeys ? KeyOrder.sorted(count, key) : nil
            guard areAllPuts, sortsKeys || isAscending(key) else {
                for index in 0..<count {
                    apply(order?[index] ?? index, in: bytes, to: &keyspace, pending)
                }
                return
            }
            keyspace.put(ascending: count) { index in
                let number = order?[index] ?? index
                return (key(number), pointer(number), weight(number))
            } previous: { index, previous in
                setPrevious(previous, order?[index] ?? index, pending)
            }
        }
        addEntries(batch.indexChanges, sortsKeys: sortsKeys, to: &keyspace)
    }

    @inline(__always)
    private func key(_ number: Int, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard number >= stagedCount else {
            let staged = staged[number]
            return Operation.key(
                in: UnsafeRawBufferPointer(start: staged.address, count: staged.pointer.length),
                at: 0)
        }
        return Operation.key(in: bytes, at: entries[number - stagedCount].batchOffset)
    }

    @inline(__always)
    private func pointer(_ number: Int) -> RecordPointer {
        number < stagedCount ? staged[number].pointer : entries[number - stagedCount].pointer
    }

    @inline(__always)
    private func weight(_ number: Int) -> UInt64? {
        number < stagedCount ? staged[number].weight : entries[number - stagedCount].weight
    }

    /// Sets the previous position of an operation, unless it is staged.
    @inline(__always)
    private func setPrevious(_ previous: LogPosition, _ number: Int, _ pending: PendingBatch) {
        guard number >= stagedCount else { return }
        pending.setPrevious(
            previous, ofOperationAt: entries[number - stagedCount].pendingOffset)
    }

    /// Whether there are enough operations, in the order of their keys already.
    private func isAscending(_ key: (Int) -> UnsafeRawBufferPointer) -> Bool {
        count >= Self.minimumAscendingCount && KeyOrder.isAscending(count, key)
    }

    @inline(__always)
    private func apply(
        _ number: Int, in bytes: UnsafeRawBufferPointer, to keyspace: inout Keyspace,
        _ pending: PendingBatch
    ) {
        let kind =
            number < stagedCount
            ? Operation.Kind.put.rawValue : bytes[entries[number - stagedCount].batchOffset]
        let previous = keyspace.apply(
            kind, key(number, in: bytes), at: pointer(number), weight: weight(number))
        setPrevious(previous, number, pending)
    }

    /// Adds the index entries for these operations.
    private func addEntries(
        _ changes: borrowing IndexChanges, sortsKeys: Bool, to keyspace: inout Keyspace
    ) {
        let (added, bytes) = (changes.toOperations, changes.bytes)
        guard !added.isEmpty else { return }
        bytes.withUnsafeBytes { bytes in
            func value(_ entry: IndexChanges.OperationEntry) -> BTreeValue {
                pointer(entry.operation).value(weight: entry.weight)
            }
            guard sortsKeys else {
                for entry in added { keyspace.tree.put(bytes.slice(entry.key), value(entry)) }
                return
            }
            let order = KeyOrder.sorted(added.count) { bytes.slice(added[$0].key) }
            keyspace.tree.put(ascending: order.count) { index in
                let entry = added[order[index]]
                return (bytes.slice(entry.key), value(entry))
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
    package func sorts(_ operations: Int, into entries: Int) -> Bool {
        let entries = entries + operations
        return entries >= minimumEntriesForSorting
            && operations * Self.maximumEntriesPerOperation >= entries
    }
}
