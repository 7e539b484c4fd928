import SheafBytes
import SheafDocument
package import SheafStorage

/// Documents that a transaction changes once, encoded as its batch will have them.
///
/// Most documents are changed once in a transaction, and need no `WorkingDocument`. One that is
/// changed again is opened: its `WorkingDocument` then supersedes the encoded change.
package struct EncodedChanges: Sendable {
    private struct Entry: Sendable {
        let hash: UInt64
        let location: EncodedPuts.Location
        /// Number of the original; -1 for a new document, and after `endTransaction`.
        let original: Int32
        let spellsNames: Bool
    }

    /// Number of ranges tried before keys count as unordered.
    private static let triedRanges = 4
    private static let keysBetweenTries = 64

    private var puts = EncodedPuts()
    private var entries: [Entry] = []
    /// The documents before their changes, in the log of the snapshot that the transaction keeps.
    private var originals: [LoggedState] = []
    /// Numbers of entries, each plus one, as a hash table with open addressing; zero is free.
    ///
    /// The number of slots is a power of two, and at least twice that of the entries.
    private var slots: [UInt32] = []
    /// A range without documents in the store: from a key to the next existing one.
    private var absentRange = KeyRange(from: [], to: [])
    /// Number of keys since the last one that was in `absentRange`.
    private var keysOutsideRange = 0
    /// Total length of the documents.
    package private(set) var length = 0
    /// An estimate of the length of the documents that are in memory.
    var lengthInMemory: Int { max(length - (staged?.byteCount ?? 0), 0) }

    package init() {}

    package var count: Int { entries.count }
    /// The number of changes that are in files; they are the first ones.
    var stagedCount: Int { puts.stagedCount }
    /// The records that are in files.
    var staged: StagedRecords? { puts.staged }
    package var isEmpty: Bool { entries.isEmpty }
    /// The number of documents that are new to the store, before `endTransaction`.
    package var newCount: Int { entries.count - originals.count }

    package mutating func reserve(_ count: Int) {
        guard count > entries.capacity else { return }
        entries.reserveCapacity(count)
        if slots.count < 2 * count { resize(to: count) }
    }

    /// Whether a snapshot lacks a key.
    package mutating func isAbsent(_ key: [UInt8], in snapshot: LogSnapshot) -> Bool {
        if absentRange.contains(key) {
            keysOutsideRange = 0
            return true
        }
        keysOutsideRange += 1
        // Unordered keys are looked up one by one; now and then a range is tried again.
        guard
            keysOutsideRange < Self.triedRanges
                || keysOutsideRange.isMultiple(of: Self.keysBetweenTries)
        else {
            return key.span.withUnsafeBytes { snapshot.tree.find($0) } == nil
        }
        guard let number = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }) else {
            return false
        }
        // Many documents are added in the order of their keys, and then share an absent range.
        let rest = StoreKey.documents(of: number).intersection(KeyRange(from: key))
        var next = rest.upper ?? []
        snapshot.tree.forEach(in: rest) { found, _ in
            next = Array(found)
            return false
        }
        absentRange = KeyRange(from: key, to: next)
        return next != key
    }

    /// Adds the change of a document that has none yet.
    package mutating func append(
        _ key: DocumentKey, _ kind: UInt8, _ state: UnsafeRawBufferPointer,
        spellsNames: Bool = false, of original: LoggedState? = nil
    ) throws(EngineError) {
        let location = try onStorage { () throws(StorageError) in
            try key.bytes.span.withUnsafeBytes { key throws(StorageError) in
                try puts.append(key, kind, state)
            }
        }
        if let original { originals.append(original) }
        entries.append(
            Entry(
                hash: key.hash, location: location,
                original: original == nil ? -1 : Int32(originals.count - 1),
                spellsNames: spellsNames))
        length += state.count
        if slots.count < 2 * entries.count {
            resize(to: entries.count)
        } else {
            fill(entries.count - 1)
        }
    }

    /// Writes changes to files of the store if they take too much memory.
    mutating func stageIfNeeded(
        in store: StoreEngine, after snapshot: LogSnapshot
    ) throws(EngineError) {
        do throws(StorageError) { try puts.stageIfNeeded(in: store, after: snapshot) } catch {
            throw .storage(error)
        }
    }

    /// Returns the changes without those of the given numbers.
    func removing(
        _ numbers: Set<Int>, in store: StoreEngine, after snapshot: LogSnapshot
    ) throws(EngineError) -> EncodedChanges {
        var kept = EncodedChanges()
        kept.reserve(count - numbers.count)
        for index in entries.indices where !numbers.contains(index) {
            try kept.stageIfNeeded(in: store, after: snapshot)
            kept.append(copying: index, of: self)
        }
        return kept
    }

    private mutating func append(copying index: Int, of other: EncodedChanges) {
        let (entry, put) = (other.entries[index], other.put(index))
        let location = puts.append(put)
        let original = other.original(index)
        if let original { originals.append(original) }
        entries.append(
            Entry(
                hash: entry.hash, location: location,
                original: original == nil ? -1 : Int32(originals.count - 1),
                spellsNames: entry.spellsNames))
        length += put.rest.count
        fill(entries.count - 1)
    }

    private mutating func resize(to count: Int) {
        var size = 16
        while size < 4 * count { size *= 2 }
        slots = Array(repeating: 0, count: size)
        for index in entries.indices { fill(index) }
    }

    private mutating func fill(_ index: Int) {
        var slot = Int(truncatingIfNeeded: entries[index].hash) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(index + 1)
    }

    /// Removes all changes from the one with number `count` on.
    package mutating func truncate(to count: Int) {
        guard count < entries.count else { return }
        // The newest first: no remaining entry was probed past a slot that becomes free.
        for index in (count..<entries.count).reversed() {
            var slot = Int(truncatingIfNeeded: entries[index].hash) & (slots.count - 1)
            while slots[slot] != UInt32(index + 1) { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = 0
            length -= put(index).rest.count
            if entries[index].original >= 0 { originals.removeLast() }
        }
        puts.remove(from: entries[count].location)
        entries.removeSubrange(count...)
    }

    /// The number of the change of a document; nil if there is none.
    package func index(of key: DocumentKey) -> Int? {
        guard !entries.isEmpty else { return nil }
        var slot = Int(truncatingIfNeeded: key.hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if entries[index].hash == key.hash, hasKey(index, key.bytes) { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private func hasKey(_ index: Int, _ key: [UInt8]) -> Bool {
        key.span.withUnsafeBytes { put(index).key.hasSameBytes(as: $0) }
    }

    /// Releases references to the snapshot of the transaction.
    package mutating func endTransaction() {
        for index in entries.indices where entries[index].original >= 0 {
            entries[index] = Entry(
                hash: entries[index].hash, location: entries[index].location, original: -1,
                spellsNames: entries[index].spellsNames)
        }
        originals = []
        absentRange = KeyRange(from: [], to: [])
    }

    /// Returns a document before its change; nil if the document is new.
    package func original(_ index: Int) -> LoggedState? {
        let original = entries[index].original
        return original < 0 ? nil : originals[Int(original)]
    }

    /// Whether the change of a document is its deletion.
    package func isDeletion(_ index: Int) -> Bool {
        put(index).firstByte == DocumentPayload.completeKind
    }

    /// Whether a document spells out names that have no number.
    package func spellsNames(_ index: Int) -> Bool { entries[index].spellsNames }

    /// Returns the names that a document spells out.
    func spelledNames(_ index: Int) throws(EngineError) -> [[UInt8]] {
        var found: [[UInt8]] = []
        do throws(Malformed) {
            try EncodedDocument(put(index).rest).forEachSpelledName { found.append(Array($0)) }
        } catch {
            throw .damaged(key: Array(put(index).key), error)
        }
        return found
    }

    /// Returns a changed document, encoded as the log will have it; valid while this value exists.
    @inline(__always)
    func put(_ index: Int) -> EncodedPut { puts.put(entries[index].location) }

    /// Returns the key of a document.
    package func key(_ index: Int) -> DocumentKey {
        DocumentKey(Array(put(index).key), hash: entries[index].hash)
    }

    /// Returns the state of a document.
    package func state(_ index: Int) -> [UInt8] { Array(put(index).rest) }

    /// Returns a document as the log will have it.
    package func document(_ index: Int) -> StoredDocument {
        StoredDocument(state(index))
    }
}
