import SheafBytes
import SheafDocument
import SheafStorage

/// Received documents that are new to the store, in key order.
///
/// An initial synchronization receives mostly such documents. They need no join, so only their keys
/// and states are kept.
package struct FreshDocuments: Sendable {
    private(set) var keys: [DocumentKey] = []
    /// Slices of the received bytes, not copies.
    private(set) var states: [ArraySlice<UInt8>] = []
    /// A range without documents in the store: from a key to the next existing one.
    private var absentRange = KeyRange(from: [], to: [])
    private(set) var length = 0

    package var count: Int { keys.count }
    package var isEmpty: Bool { keys.isEmpty }

    package mutating func reserve(_ count: Int) {
        guard count > keys.capacity else { return }
        keys.reserveCapacity(count)
        states.reserveCapacity(count)
    }

    /// Whether a key sorts after all others.
    func sortsLast(_ key: DocumentKey) -> Bool {
        guard let last = keys.last else { return true }
        return Self.precedes(last.bytes, key.bytes)
    }

    /// Whether a snapshot lacks a key that sorts after all others.
    mutating func isAbsent(_ key: DocumentKey, in snapshot: LogSnapshot) -> Bool {
        if absentRange.contains(key.bytes) { return true }
        guard
            let number = key.bytes.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) })
        else { return false }
        let rest = StoreKey.documents(of: number).intersection(KeyRange(from: key.bytes))
        var next = rest.upper ?? []
        snapshot.tree.forEach(in: rest) { found, _ in
            next = Array(found)
            return false
        }
        absentRange = KeyRange(from: key.bytes, to: next)
        return next != key.bytes
    }

    mutating func append(_ key: DocumentKey, _ state: ArraySlice<UInt8>) {
        keys.append(key)
        states.append(state)
        length += state.count
    }

    /// The state of one of the documents; nil if the key is not among them.
    package subscript(key: DocumentKey) -> StoredDocument? {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            let isBefore = Self.precedes(keys[middle].bytes, key.bytes)
            (low, high) = isBefore ? (middle + 1, high) : (low, middle)
        }
        guard low < keys.count, keys[low] == key else { return nil }
        return document(low)
    }

    /// Calls `body` with the index of each of the sorted rows that has the key of a document.
    func forEachCommon(with rows: [NewDocuments.Row], _ body: (Int) -> Void) {
        guard let first = keys.first, let last = rows.last,
            !Self.precedes(last.key.bytes, first.bytes)
        else { return }
        // Both are sorted, so one pass is faster than a search for each key.
        var position = 0
        for index in rows.indices {
            while position < keys.count,
                Self.precedes(keys[position].bytes, rows[index].key.bytes)
            { position += 1 }
            guard position < keys.count else { return }
            if keys[position] == rows[index].key { body(index) }
        }
    }

    /// Returns the document at an index as the log stores it.
    package func document(_ index: Int) -> StoredDocument {
        StoredDocument(
            Array(states[index]), stateLength: states[index].count + 1, deltaLength: 0,
            deltaCount: 0)
    }

    private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.span.withUnsafeBytes { left in
            right.span.withUnsafeBytes { UTF8Order.compare(left, $0) < 0 }
        }
    }
}

extension DocumentTransaction {
    /// Accepts a received document if it is new to the store and in key order.
    ///
    /// Returns false if the document must be joined.
    package mutating func receiveFresh(
        _ document: BufferedDocument, _ key: DocumentKey
    ) throws(EngineError) -> Bool {
        guard document.marks.isDisjoint(with: [.isPartial, .maySpellNames, .hasUnproven]),
            fresh.sortsLast(key),
            positions.isEmpty || positions[key] == nil, pending[key] == nil,
            fresh.isAbsent(key, in: snapshot)
        else { return false }
        let own = try onDocument(key.bytes) { () throws(Malformed) in
            try EncodedDocument(document.bytes).header().time(of: clock.site)
        }
        guard case .acceptable(let latest) = try receivedTime(in: document, key) else {
            return false
        }
        if own > clock.latest { hasUnknownOwnWrites = true }
        if ownWrites.lacks(own) { recordMissingWrite(own) }
        try recordOwnLostWrites(in: document, own)
        try observe(latest)
        recordAttachmentIDs(document.bytes)
        try addLength(document.bytes.count)
        fresh.append(key, document.contents)
        return true
    }

    /// Writes the new documents and their index entries to a batch.
    mutating func writeFresh(
        into batch: inout WriteBatch, _ entries: inout DocumentIndexEntries,
        _ hasher: inout VersionHasher?
    ) throws(EngineError) {
        guard !fresh.isEmpty else { return }
        batch.reserve(batch.byteCount + fresh.length + fresh.count * 64)
        let none = IndexKeys()
        var made = IndexKeys()
        for index in 0..<fresh.count {
            let key = fresh.keys[index].bytes
            let state = fresh.states[index]
            try onStorage { () throws(StorageError) in
                try key.span.withUnsafeBytes { key throws(StorageError) in
                    try state.span.withUnsafeBytes { state throws(StorageError) in
                        try batch.put(key, DocumentPayload.stateKind, state)
                    }
                }
            }
            try state.span.withUnsafeBytes { (state) throws(EngineError) in
                if let hash = try hasher?.hash(ofState: state, key) { batch.weigh(hash) }
            }
            made.removeAll()
            try state.span.withUnsafeBytes { (state) throws(EngineError) in
                try entries.append(keysOfState: state, key, to: &made)
            }
            try onStorage { () throws(StorageError) in try none.replace(with: made, in: &batch) }
        }
    }
}
