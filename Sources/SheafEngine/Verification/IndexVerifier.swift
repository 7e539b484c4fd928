import SheafBytes
import SheafDocument
import SheafStorage

/// A comparison of index entries with the documents of a snapshot, encoded independently.
///
/// It includes tombstone index entries. If the entries are current up to an older commit only, it
/// is limited to documents and indexes that are unchanged since.
package struct IndexVerifier {
    private struct Entry {
        let key: [UInt8]
        let pointer: RecordPointer
        /// The hash of the document, if the tree has it.
        let weight: UInt64?

        var isTombstone: Bool { TombstoneEntry.isTombstone(key) }
    }

    package private(set) var findings: [DocumentVerifier.Finding] = []
    /// Number of index entries that are correct.
    package private(set) var correctCount = 0

    private let snapshot: DocumentSnapshot
    /// Maximum number of findings.
    private static let maximumFindings = 64

    /// Compares all index entries with the documents of a snapshot.
    package static func verify(_ snapshot: DocumentSnapshot) throws(EngineError) -> IndexVerifier {
        var verifier = IndexVerifier(snapshot: snapshot)
        guard snapshot.log.indexMark.commit > 0 else { return verifier }
        verifier.compare(try verifier.expectedEntries(), verifier.existingEntries())
        return verifier
    }

    private init(snapshot: DocumentSnapshot) {
        self.snapshot = snapshot
    }

    private func isUnchanged(_ pointer: RecordPointer?) -> Bool {
        pointer.map { $0.position < snapshot.log.indexMark.end } ?? false
    }

    /// The indexes that existed at the commit up to which the entries are current.
    private var indexes: [IndexDefinition] {
        snapshot.catalog.indexes.values.joined().filter { definition in
            isUnchanged(definition.key.withUnsafeBytes { snapshot.log.recordPointer(of: $0) })
        }
    }

    /// Returns the index entries that must exist, sorted by key.
    private func expectedEntries() throws(EngineError) -> [Entry] {
        var entries = try expectedTombstones()
        for definition in indexes {
            let range = StoreKey.documents(of: definition.collection)
            try snapshot.log.tree.forEach(in: range) { (key, value) throws(EngineError) in
                let key = Array(key)
                guard let pointer = RecordPointer(value), isUnchanged(pointer),
                    let entry = try entryKey(of: key, in: definition)
                else { return true }
                entries.append(Entry(key: entry, pointer: pointer, weight: value.weight))
                return true
            }
        }
        return entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    /// Returns the tombstone index entries that must exist.
    private func expectedTombstones() throws(EngineError) -> [Entry] {
        var entries: [Entry] = []
        try snapshot.log.tree.forEach(in: StoreKey.documents) { (key, value) throws(EngineError) in
            let key = Array(key)
            guard let pointer = RecordPointer(value), isUnchanged(pointer),
                let document = try snapshot.document(key)
            else { return true }
            let isTombstone = try onDocument(key) { () throws(Malformed) in
                try document.read { bytes throws(Malformed) in
                    try EncodedDocument(bytes).value(snapshot.names) == nil
                }
            }
            if isTombstone {
                entries.append(
                    Entry(
                        key: TombstoneEntry.key(ofDocument: key), pointer: pointer,
                        weight: value.weight))
            }
            return true
        }
        return entries
    }

    /// Returns the index key of a document; nil if the document does not exist.
    ///
    /// The document is decoded completely, while `IndexKeyBuilder` reads its fields in place.
    private func entryKey(
        of key: [UInt8], in definition: IndexDefinition
    ) throws(EngineError) -> [UInt8]? {
        guard let document = try snapshot.document(key) else { return nil }
        return try onDocument(key) { () throws(Malformed) in
            let id = Array(key.dropFirst(3))
            let object = try document.read { bytes throws(Malformed) in
                let document = try EncodedDocument(bytes)
                return try document.exists() ? try document.value(snapshot.names) : nil
            }
            guard let object else { return nil }
            var fields = Array(object.map { ($0.name, $0.value) }.filter { $0.0 != "_id" })
            fields.append((IndexKeyBuilder.idName, try DocumentID.id(of: id)))
            let complete = Value.object(Object(fields))
            let values = definition.fields.map { complete.value(at: $0.path) }
            return IndexEntry.key(of: definition, values, id: id)
        }
    }

    /// Returns the existing index entries in order, except those of documents changed since.
    private func existingEntries() -> [Entry] {
        var entries: [Entry] = []
        let isComplete = snapshot.log.indexMark.commit == snapshot.log.commit
        let known = indexes
        snapshot.log.tree.forEach(in: IndexChanges.all) { key, value in
            guard let pointer = RecordPointer(value) else { return true }
            let entry = Entry(key: Array(key), pointer: pointer, weight: value.weight)
            if isComplete || isCurrent(entry, known) { entries.append(entry) }
            return true
        }
        return entries
    }

    /// Whether an entry of a known index, or of a tombstone, points to a current operation.
    private func isCurrent(_ entry: Entry, _ known: [IndexDefinition]) -> Bool {
        guard
            TombstoneEntry.isTombstone(entry.key)
                || known.contains(where: { $0.entries.contains(entry.key) }),
            let found = try? snapshot.log.operation(at: entry.pointer)
        else { return false }
        return snapshot.log.recordPointer(of: found.operation.key) == entry.pointer
    }

    private mutating func compare(_ expected: [Entry], _ found: [Entry]) {
        var (left, right) = (expected[...], found[...])
        while findings.count < Self.maximumFindings {
            switch (left.first, right.first) {
            case (nil, nil): return
            case (let wanted?, let found?) where wanted.key == found.key:
                let what = wanted.isTombstone ? "a tombstone index entry" : "an index entry"
                if wanted.pointer != found.pointer {
                    addFinding(
                        wanted.pointer, "\(what) points to \(found.pointer.position) instead")
                } else if let weight = found.weight, weight != wanted.weight ?? weight {
                    addFinding(wanted.pointer, "\(what) has another version of the document")
                } else {
                    correctCount += 1
                }
                (left, right) = (left.dropFirst(), right.dropFirst())
            case (let wanted?, let found)
            where found.map { wanted.key.lexicographicallyPrecedes($0.key) } ?? true:
                addFinding(
                    wanted.pointer,
                    wanted.isTombstone
                        ? "the tombstone has no entry" : "the document is missing from an index")
                left = left.dropFirst()
            case (_, let found?):
                addFinding(
                    found.pointer,
                    found.isTombstone
                        ? "a tombstone index entry points to no tombstone"
                        : "an index entry matches no document")
                right = right.dropFirst()
            case (_, nil): return
            }
        }
    }

    private mutating func addFinding(_ pointer: RecordPointer, _ reason: String) {
        findings.append(
            DocumentVerifier.Finding(position: pointer.position, reason: reason))
    }
}
