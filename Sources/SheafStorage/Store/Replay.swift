import SheafBytes

/// A log visitor that applies operations to the keys of a checkpoint.
final class Replayer: LogVisitor {
    private var keyspace: Keyspace?
    private let recordsKeys: Bool
    /// The keys of the operations, if they are recorded.
    private(set) var changedKeys: Set<[UInt8]> = []

    /// Creates a replayer for the keys of a checkpoint and files that begin with these segments.
    init(keyspace: consuming Keyspace, firstSegments: [UInt32], recordsKeys: Bool = false) {
        self.recordsKeys = recordsKeys
        keyspace.live = keyspace.live.aligned(to: firstSegments)
        self.keyspace = consume keyspace
    }

    /// Returns the keys; may be called once.
    func takeKeyspace() -> Keyspace {
        guard let keyspace = keyspace.take() else {
            preconditionFailure("The keys are moved out once.")
        }
        return keyspace
    }

    func visit(
        _ commit: CommitID, at time: UInt64, records: [Record]
    ) throws(StorageError) {
        try forEachOperation(of: records) { position, operation in
            apply(operation, at: position)
        }
    }

    func visit(
        _ entry: CompactedRecord.Entry, _ operation: Operation, in file: String
    ) throws(StorageError) {
        apply(operation, at: entry.position)
    }

    private func apply(_ operation: Operation, at position: LogPosition) {
        if recordsKeys { changedKeys.insert(Array(operation.key)) }
        let pointer = RecordPointer(
            position: position, length: operation.length, isDelta: operation.kind == .delta)
        switch operation.kind {
        case .put: _ = keyspace?.put(operation.key, at: pointer)
        case .delta: _ = keyspace?.appendDelta(operation.key, at: pointer)
        case .remove: _ = keyspace?.remove(operation.key, at: pointer)
        }
    }
}

/// A log visitor that collects all operations, then sorts and bulk-loads them into a tree.
struct BulkLoader: LogVisitor {
    /// The fields of an operation needed for sorting; the bytes stay in the mapped file.
    private struct Entry {
        /// The first eight bytes of the key after the common prefix of all keys.
        var head: UInt64
        let key: UnsafeRawPointer
        let keyLength: UInt16
        let kind: Operation.Kind
        let length: UInt32
        let position: UInt64

        var searchKey: BTreeKey { BTreeKey(key, count: Int(keyLength)) }
        var keyBytes: UnsafeRawBufferPointer { searchKey.bytes }

        var pointer: RecordPointer {
            RecordPointer(
                position: LogPosition(rawValue: position), length: Int(length),
                isDelta: kind == .delta)
        }
    }

    private var entries: [Entry] = []
    private let firstSegments: [UInt32]

    /// Creates a loader for files that begin with these segments.
    init(firstSegments: [UInt32]) {
        self.firstSegments = firstSegments
    }

    mutating func visit(
        _ commit: CommitID, at time: UInt64, records: [Record]
    ) throws(StorageError) {
        try forEachOperation(of: records) { position, operation in
            add(operation, at: position)
        }
    }

    mutating func visit(
        _ entry: CompactedRecord.Entry, _ operation: Operation, in file: String
    ) throws(StorageError) {
        add(operation, at: entry.position)
    }

    /// Returns the keys of the store after all visited commits.
    mutating func finish() -> Keyspace {
        let prefix = commonPrefixLength()
        for index in entries.indices {
            entries[index].head = entries[index].searchKey.head(at: prefix)
        }
        entries.sort { left, right in
            if left.head != right.head { return left.head < right.head }
            let order = left.keyBytes.compare(right.keyBytes)
            return order == 0 ? left.position < right.position : order < 0
        }
        var live = LiveBytes(firstSegments: firstSegments)
        keepNewest(countingOthersIn: &live)
        return build(live)
    }

    private mutating func add(_ operation: Operation, at position: LogPosition) {
        guard let key = operation.key.baseAddress else { return }
        entries.append(
            Entry(
                head: 0, key: key, keyLength: UInt16(operation.key.count),
                kind: operation.kind, length: UInt32(operation.length),
                position: position.rawValue))
    }

    private func commonPrefixLength() -> Int {
        guard let first = entries.first?.keyBytes else { return 0 }
        var length = first.count
        for entry in entries {
            let key = entry.keyBytes
            length = min(length, key.count)
            var matching = 0
            while matching < length, key[matching] == first[matching] { matching += 1 }
            length = matching
            if length == 0 { return 0 }
        }
        return length
    }

    /// Drops all operations except the newest of each key; counts the bases of kept deltas as live.
    private mutating func keepNewest(countingOthersIn live: inout LiveBytes) {
        var kept = 0
        for index in entries.indices {
            let next = index + 1
            if next < entries.count, entries[next].head == entries[index].head,
                entries[next].keyBytes.compare(entries[index].keyBytes) == 0
            {
                continue
            }
            if entries[index].kind == .delta { countFoundation(of: index, in: &live) }
            entries[kept] = entries[index]
            kept += 1
        }
        entries.removeSubrange(kept...)
    }

    /// Counts the operations on which the delta at `index` is based; they directly precede it.
    private func countFoundation(of index: Int, in live: inout LiveBytes) {
        let key = entries[index].keyBytes
        var foundation = index - 1
        // If there is no put, compaction has dropped it.
        while foundation >= 0, entries[foundation].kind != .remove,
            entries[foundation].keyBytes.compare(key) == 0
        {
            live.add(entries[foundation].pointer)
            if entries[foundation].kind == .put { return }
            foundation -= 1
        }
    }

    private func build(_ others: LiveBytes) -> Keyspace {
        var builder = BTreeBuilder()
        var live = others
        for wantsRemovals in [true, false] {
            for entry in entries where (entry.kind == .remove) == wantsRemovals {
                let pointer = entry.pointer
                live.add(pointer)
                if wantsRemovals {
                    Keyspace.withRemovedKey(entry.keyBytes) { builder.append($0, pointer.value) }
                } else {
                    builder.append(entry.keyBytes, pointer.value)
                }
            }
        }
        return Keyspace(adopting: builder.finish(), live: live)
    }
}

/// Calls `body` with the operations of a commit and their positions.
func forEachOperation(
    of records: [Record], _ body: (LogPosition, Operation) -> Void
) throws(StorageError) {
    for record in records {
        var operations = OperationSequence(record)
        do throws(FormatError) {
            while let (offset, operation) = try operations.next() {
                body(
                    LogPosition(
                        segment: record.position.segment,
                        offset: record.position.offset + offset),
                    operation)
            }
        } catch {
            throw StorageError(
                error.shifted(by: record.position.offset),
                file: FileName.name(ofSegment: record.position.segment))
        }
    }
}
