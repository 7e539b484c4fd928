import SheafBytes

/// Applies the log to the keys of a checkpoint, operation by operation.
final class Replayer: LogVisitor {
    private var keyspace: Keyspace?

    /// Goes on from the keys of a checkpoint, in files that begin with these segments.
    init(keyspace: consuming Keyspace, firstSegments: [UInt32]) {
        keyspace.live = keyspace.live.aligned(to: firstSegments)
        self.keyspace = consume keyspace
    }

    /// The keys, which can be taken once.
    func takeKeyspace() -> Keyspace {
        guard let keyspace = keyspace.take() else {
            preconditionFailure("The keys are taken once.")
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
        _ entry: FoldedRecord.Entry, _ operation: Operation, in file: String
    ) throws(StorageError) {
        apply(operation, at: entry.position)
    }

    private func apply(_ operation: Operation, at position: LogPosition) {
        let place = Place(
            position: position, length: operation.length, isExtension: operation.kind == .extend)
        switch operation.kind {
        case .put: _ = keyspace?.put(operation.key, at: place)
        case .extend: _ = keyspace?.extend(operation.key, at: place)
        case .remove: _ = keyspace?.remove(operation.key, at: place)
        }
    }
}

/// Gathers all operations of a log, and makes the tree in one go: sorted and bulk-loaded.
struct BulkLoader: LogVisitor {
    /// What the sort needs of an operation; the bytes stay in the mapped file.
    private struct Entry {
        /// The first eight bytes of the key behind what all keys begin with.
        var head: UInt64
        let key: UnsafeRawPointer
        let keyLength: UInt16
        let kind: Operation.Kind
        let length: UInt32
        let position: UInt64

        var keyBytes: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: key, count: Int(keyLength))
        }

        var place: Place {
            Place(
                position: LogPosition(rawValue: position), length: Int(length),
                isExtension: kind == .extend)
        }
    }

    private var entries: [Entry] = []
    private let firstSegments: [UInt32]

    /// Loads a log in files that begin with these segments.
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
        _ entry: FoldedRecord.Entry, _ operation: Operation, in file: String
    ) throws(StorageError) {
        add(operation, at: entry.position)
    }

    /// The keys of the store after everything that was visited.
    mutating func finish() -> Keyspace {
        let prefix = commonPrefixLength()
        for index in entries.indices {
            entries[index].head = Self.head(of: entries[index].keyBytes, after: prefix)
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

    private static func head(of key: UnsafeRawBufferPointer, after prefix: Int) -> UInt64 {
        if key.count >= prefix + 8 {
            return UInt64(
                bigEndian: key.loadUnaligned(fromByteOffset: prefix, as: UInt64.self))
        }
        var head: UInt64 = 0
        for index in 0..<8 {
            let byte = prefix + index < key.count ? key[prefix + index] : 0
            head = head << 8 | UInt64(byte)
        }
        return head
    }

    /// Drops every operation that a later one on the same key follows; those that the later one
    /// stands on are counted.
    private mutating func keepNewest(countingOthersIn live: inout LiveBytes) {
        var kept = 0
        for index in entries.indices {
            let next = index + 1
            if next < entries.count, entries[next].head == entries[index].head,
                entries[next].keyBytes.compare(entries[index].keyBytes) == 0
            {
                continue
            }
            if entries[index].kind == .extend { countFoundation(of: index, in: &live) }
            entries[kept] = entries[index]
            kept += 1
        }
        entries.removeSubrange(kept...)
    }

    /// Counts what the extension at `index` stands on, which comes right before it.
    private func countFoundation(of index: Int, in live: inout LiveBytes) {
        let key = entries[index].keyBytes
        var foundation = index - 1
        // Where there is no put, it was folded away.
        while foundation >= 0, entries[foundation].kind != .remove,
            entries[foundation].keyBytes.compare(key) == 0
        {
            live.add(entries[foundation].place)
            if entries[foundation].kind == .put { return }
            foundation -= 1
        }
    }

    private func build(_ others: LiveBytes) -> Keyspace {
        var builder = BTreeBuilder()
        var live = others
        for wantsRemovals in [true, false] {
            for entry in entries where (entry.kind == .remove) == wantsRemovals {
                let place = entry.place
                live.add(place)
                if wantsRemovals {
                    Keyspace.withRemovedKey(entry.keyBytes) { builder.append($0, place.value) }
                } else {
                    builder.append(entry.keyBytes, place.value)
                }
            }
        }
        return Keyspace(adopting: builder.finish(), live: live)
    }
}

/// Visits the operations of a commit with their positions.
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
