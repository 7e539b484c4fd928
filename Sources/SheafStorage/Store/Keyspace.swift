import SheafBytes

/// The tree of a store and the counts of live bytes per file.
///
/// A key with a payload is stored as is. A removed key is stored with a zero byte as prefix and the
/// position of its removal, until compaction drops the removal. This keeps the chain intact if the
/// key is put again, and the count of live keys exact. Index entries sort after all keys. They
/// point to the newest operations of other keys and are not in the log.
///
/// A delta keeps the earlier operations of its key live. Only the log records which operations
/// these are, so the position of a superseded delta is kept for counting the garbage later.
struct Keyspace: ~Copyable {
    var tree: BTree
    /// The number of live operation bytes per file.
    var live: LiveBytes
    private(set) var removedCount = 0
    /// Deltas superseded by a put or a removal; their bases count as live until settled.
    var orphans: [LogPosition] = []

    /// The range of the keys that have a payload.
    static let present = KeyRange(from: [1], to: [indexEntryByte])
    /// The range of the removed keys, each prefixed with a zero byte.
    static let removed = KeyRange(from: [0], to: [1])
    /// The range of all keys from the log, including removed ones.
    static let logged = KeyRange(to: [indexEntryByte])
    /// The range of the index entries.
    static let indexEntries = IndexChanges.all
    /// The first byte of every index entry.
    static let indexEntryByte = IndexChanges.firstByte

    /// Creates an empty keyspace.
    init() {
        tree = BTree()
        live = LiveBytes()
    }

    /// Wraps an existing tree and counts its removed keys.
    init(adopting tree: consuming BTree, live: LiveBytes) {
        removedCount = tree.count(in: Self.removed)
        self.tree = tree
        self.live = live
    }

    /// The number of keys that have a payload.
    var count: Int { tree.count(in: Self.present) }

    /// Records a put of `key` at `pointer`; returns the position of the previous operation.
    mutating func put(
        _ key: UnsafeRawBufferPointer, at pointer: RecordPointer, weight: UInt64? = nil
    ) -> LogPosition {
        live.add(pointer)
        if let old = tree.put(key, pointer.value(weight: weight)).flatMap(RecordPointer.init) {
            supersede(old)
            return old.position
        }
        guard removedCount > 0, let removal = dropRemoval(of: key) else { return .none }
        return removal.position
    }

    /// Records an operation of a kind; returns the position of the previous operation.
    mutating func apply(
        _ kind: UInt8, _ key: UnsafeRawBufferPointer, at pointer: RecordPointer, weight: UInt64?
    ) -> LogPosition {
        if kind == Operation.Kind.put.rawValue { return put(key, at: pointer, weight: weight) }
        if pointer.isDelta { return appendDelta(key, at: pointer, weight: weight) }
        return remove(key, at: pointer)
    }

    /// Records puts of keys in ascending order; calls `previous` with the position of the previous
    /// operation of each key.
    mutating func put(
        ascending count: Int,
        _ entry: (_ index: Int) -> (UnsafeRawBufferPointer, at: RecordPointer, weight: UInt64?),
        previous: (_ index: Int, LogPosition) -> Void
    ) {
        var replaced: [RecordPointer?] = []
        replaced.reserveCapacity(count)
        tree.put(ascending: count) { index in
            let (key, pointer, weight) = entry(index)
            return (key, pointer.value(weight: weight))
        } replacing: { _, old in
            replaced.append(old.flatMap { RecordPointer($0) })
        }
        for index in 0..<count {
            let (key, pointer, _) = entry(index)
            live.add(pointer)
            if let old = replaced[index] {
                supersede(old)
                previous(index, old.position)
            } else {
                let removal = removedCount > 0 ? dropRemoval(of: key) : nil
                previous(index, removal?.position ?? .none)
            }
        }
    }

    /// Throws if one of the keys at `ranges` of `bytes` has no payload.
    func checkPresent(_ ranges: [Range<Int>], in bytes: [UInt8]) throws(StorageError) {
        for range in ranges {
            let isPresent = bytes.withUnsafeBytes { tree.find($0.slice(range)) != nil }
            guard isPresent else { throw .noRecordForDelta(key: Array(bytes[range])) }
        }
    }

    /// Records a delta of `key` at `pointer`; returns the position of the previous operation.
    mutating func appendDelta(
        _ key: UnsafeRawBufferPointer, at pointer: RecordPointer, weight: UInt64? = nil
    ) -> LogPosition {
        live.add(pointer)
        if let old = tree.put(key, pointer.value(weight: weight)).flatMap(RecordPointer.init) {
            return old.position
        }
        // The previous operation is damaged, or compaction dropped it because a newer put follows.
        guard removedCount > 0, let removal = dropRemoval(of: key) else { return .none }
        return removal.position
    }

    /// Records a removal of `key` at `pointer`; returns the position of the previous operation.
    mutating func remove(_ key: UnsafeRawBufferPointer, at pointer: RecordPointer) -> LogPosition {
        live.add(pointer)
        let present = tree.remove(key).flatMap(RecordPointer.init)
        let earlier = Self.withRemovedKey(key) { tree.put($0, pointer.value) }.flatMap(
            RecordPointer.init)
        if earlier == nil { removedCount += 1 }
        if let present { supersede(present) }
        if let earlier { live.subtract(earlier) }
        return present?.position ?? earlier?.position ?? .none
    }

    /// Drops removals that are not in the log any more; `removedKeys` are as stored in the tree.
    mutating func dropRemovals(_ removedKeys: ArraySlice<(key: [UInt8], position: LogPosition)>) {
        for (key, position) in removedKeys {
            key.withUnsafeBytes { key in
                guard let pointer = tree.find(key).flatMap(RecordPointer.init),
                    pointer.position == position
                else { return }
                _ = tree.remove(key)
                removedCount -= 1
                live.subtract(pointer)
            }
        }
    }

    /// Drops the removals up to `position`, which compaction has dropped from the log.
    ///
    /// A checkpoint may still contain them if it was written before a tree without them was
    /// published.
    mutating func dropRemovals(through position: LogPosition) {
        guard removedCount > 0, position > .none else { return }
        var outdated: [(key: [UInt8], position: LogPosition)] = []
        tree.forEach(in: Self.removed) { key, value in
            if let pointer = RecordPointer(value), pointer.position <= position {
                outdated.append((Array(key), pointer.position))
            }
            return true
        }
        dropRemovals(outdated[...])
    }

    /// Calls `body` with the tree key of a removal of `key`.
    static func withRemovedKey<Result>(
        _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: key.count + 1, alignment: 1) { buffer in
            buffer[0] = 0
            UnsafeMutableRawBufferPointer(rebasing: buffer[1...]).copyMemory(from: key)
            return body(UnsafeRawBufferPointer(buffer))
        }
    }

    @inline(__always)
    private mutating func supersede(_ old: RecordPointer) {
        live.subtract(old)
        if old.isDelta { orphans.append(old.position) }
    }

    private mutating func dropRemoval(of key: UnsafeRawBufferPointer) -> RecordPointer? {
        guard
            let pointer = Self.withRemovedKey(key, { tree.remove($0) }).flatMap(RecordPointer.init)
        else {
            return nil
        }
        removedCount -= 1
        live.subtract(pointer)
        return pointer
    }
}
