package import SheafBytes
package import SheafDocument
package import SheafQuery
import SheafStorage

/// Shows a state of the documents to statements, and what a writer has changed since.
package final class SnapshotReader: QueryStore {
    let snapshot: DocumentSnapshot
    /// Documents that the snapshot does not show yet, by their keys; none stands for one that is
    /// gone.
    private let pending: [[UInt8]: StoredDocument?]
    /// The numbers of the collections that have pending documents.
    private let pendingCollections: Set<UInt16>
    private let virtual: any VirtualCollections
    package let names: NameTable
    /// What was read ahead, so that the reading is not left out.
    private var fetchedBytes: UInt64 = 0

    /// The numbers of the pending documents that were shown, by their keys.
    private var pendingNumbers: [[UInt8]: UInt64] = [:]

    /// The places of pending documents have this bit, which those in the log have not.
    private static let pendingPlace: UInt64 = 1 << 63

    init(
        _ snapshot: DocumentSnapshot, pending: [[UInt8]: StoredDocument?] = [:],
        virtual: any VirtualCollections
    ) {
        self.snapshot = snapshot
        self.pending = pending
        var collections: Set<UInt16> = []
        for key in pending.keys {
            guard case .document(let number, _)? = key.span.withUnsafeBytes({ StoreKey($0) }) else {
                continue
            }
            collections.insert(number)
        }
        pendingCollections = collections
        self.virtual = virtual
        names = snapshot.names
    }

    package func collection(_ name: String) -> CollectionDescription? {
        guard let number = snapshot.directory.number(ofCollection: name) else { return nil }
        let indexes = snapshot.indexes(of: name).map { definition in
            let incomplete = definition.incompleteEntries
            return IndexDescription(
                name: definition.name,
                fields: definition.fields.map {
                    IndexDescription.Field($0.path, isDescending: $0.isDescending)
                },
                keyPrefix: definition.wholeEntriesPrefix,
                irregularKeys: count(in: incomplete) > 0 ? incomplete : nil)
        }
        return CollectionDescription(
            name: name, keyPrefix: StoreKey.document(collection: number, id: []).bytes,
            indexes: indexes, tombstones: snapshot.tombstones(of: name),
            hasPendingChanges: pendingCollections.contains(number))
    }

    package func virtualRows(_ name: String) throws(QueryError) -> [Object]? {
        try virtual.rows(of: name, in: snapshot)
    }

    package var virtualNames: [String] { virtual.names }

    package func count(in range: KeyRange) -> Int { snapshot.count(in: range) }

    // MARK: Scans

    package func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: (ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError) {
        let isReversed = order == .descending
        guard let range = entered(range, isReversed: isReversed, skipping: skipped) else { return }
        var (entries, fetched) = (0, 0)
        defer {
            tally.entries += entries
            tally.fetched += fetched
        }
        let log = snapshot.log
        let hasPending = !pending.isEmpty
        // In the order of the log documents come from memory in one run, and not one by one.
        let sorts = order == .any && snapshot.count(in: range) >= PlaceBatch.leastSorted
        let batch = PlaceBatch(sorts: sorts)
        var segment: Segment?
        func flush() throws(QueryError) -> Bool {
            if sorts { batch.sort() } else { fetchedBytes &+= log.segments.fetch(batch.places) }
            for place in batch.places {
                entries += 1
                let logged = try onStorage { () throws(StorageError) in
                    try log.newestOperation(at: place, near: &segment)
                }
                if hasPending, pending[Array(logged.key)] != nil { continue }
                fetched += 1
                guard try visit(logged, at: place, filter, body) else { return false }
            }
            batch.removeAll()
            return true
        }
        var goesOn = true
        try log.tree.forEach(in: range, reversed: isReversed) { (_, value) throws(QueryError) in
            guard let place = Place(value) else { return true }
            guard batch.append(place) else { return true }
            goesOn = try flush()
            return goesOn
        }
        if goesOn { _ = try flush() }
    }

    /// Shows the document of an operation to `body`.
    @inline(__always)
    private func visit(
        _ logged: SheafStorage.Operation, at place: Place, _ filter: FieldFilter?,
        _ body: (ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError) -> Bool {
        guard !place.isExtension else { return try visit(joinedAt: place, filter, body) }
        let fields = try onDocument { () throws(Malformed) in
            try DocumentPayload(logged.payload).state?.existingFields()
        }
        guard let fields, try Self.holds(filter, fields) else { return true }
        return try body(
            ScannedDocument(
                fields, id: Self.id(of: logged.key), place: place.position.rawValue,
                isLasting: true))
    }

    /// The range from its first entry on that is not skipped.
    private func entered(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int
    ) -> KeyRange? {
        guard skipped > 0 else { return range }
        let tree = snapshot.log.tree
        let count = tree.count(in: range)
        guard skipped < count else { return nil }
        let first = range.lower.span.withUnsafeBytes { tree.rank(of: $0) }
        let cursor = tree.cursor()
        guard cursor.seek(rank: isReversed ? first + count - 1 - skipped : first + skipped) else {
            return nil
        }
        let key = Array(cursor.key)
        return isReversed
            ? KeyRange(from: range.lower, to: key + [0]) : KeyRange(from: key, to: range.upper)
    }

    private func visit(
        joinedAt place: Place, _ filter: FieldFilter?,
        _ body: (ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError) -> Bool {
        let key: UnsafeRawBufferPointer
        let document: StoredDocument
        do throws(EngineError) { (key, document) = try snapshot.document(at: place) } catch {
            throw QueryError(error)
        }
        return try visit(document, Self.id(of: key), place.position.rawValue, filter, body)
    }

    private func visit(
        _ document: StoredDocument, _ id: UnsafeRawBufferPointer, _ place: UInt64,
        _ filter: FieldFilter?, _ body: (ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError) -> Bool {
        try document.read { (bytes) throws(QueryError) in
            let fields = try onDocument { () throws(Malformed) in
                try EncodedDocument(bytes).existingFields()
            }
            guard let fields, try Self.holds(filter, fields) else { return true }
            return try body(ScannedDocument(fields, id: id, place: place, isLasting: false))
        }
    }

    package func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: (ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError) {
        let keys = pending.keys.filter { $0.starts(with: collection.keyPrefix) }.sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for key in keys {
            guard case .some(.some(let document)) = pending[key] else { continue }
            tally.entries += 1
            tally.fetched += 1
            let place = pendingPlace(of: key)
            let goesOn = try key.span.withUnsafeBytes { (key) throws(QueryError) in
                try visit(document, Self.id(of: key), place, filter, body)
            }
            guard goesOn else { return }
        }
    }

    /// The same however the document is come to.
    private func pendingPlace(of key: [UInt8]) -> UInt64 {
        let number = pendingNumbers[key] ?? UInt64(pendingNumbers.count)
        pendingNumbers[key] = number
        return Self.pendingPlace | number
    }

    package func scanKeys(
        _ range: KeyRange, isReversed: Bool, skipping skipped: Int,
        _ body: (_ key: UnsafeRawBufferPointer, _ place: UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        guard let range = entered(range, isReversed: isReversed, skipping: skipped) else { return }
        try snapshot.forEachEntry(in: range, reversed: isReversed) {
            (key, place) throws(QueryError) in
            try body(key, place.position.rawValue)
        }
    }

    package func read(
        _ key: [UInt8], _ body: (ScannedDocument) throws(QueryError) -> Void
    ) throws(QueryError) {
        if !pending.isEmpty, let found = pending[key] {
            guard let document = found else { return }
            let place = pendingPlace(of: key)
            return try key.span.withUnsafeBytes { (key) throws(QueryError) in
                let id = Self.id(of: key)
                _ = try visit(document, id, place, nil) { (document) throws(QueryError) in
                    try body(document)
                    return true
                }
            }
        }
        let log = snapshot.log
        guard let place = key.span.withUnsafeBytes({ log.place(of: $0) }) else { return }
        let logged = try onStorage { () throws(StorageError) in
            try log.newestOperation(at: place)
        }
        _ = try visit(logged, at: place, nil) { (document) throws(QueryError) in
            try body(document)
            return true
        }
    }

    // MARK: Bytes

    @inline(__always)
    private static func holds(
        _ filter: FieldFilter?, _ fields: EncodedObject
    ) throws(QueryError) -> Bool {
        guard let filter else { return true }
        do throws(Malformed) { return try filter.holds(fields) } catch {
            throw QueryError(.damaged, "a document is damaged: \(error)")
        }
    }

    /// The id in the key of a document.
    @inline(__always)
    private static func id(of key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: key.dropFirst(StoreKey.documentPrefixLength))
    }

    @inline(__always)
    private func onDocument<Result>(
        _ body: () throws(Malformed) -> Result
    ) throws(QueryError) -> Result {
        do throws(Malformed) { return try body() } catch {
            throw QueryError(.damaged, "a document is damaged: \(error)")
        }
    }

    @inline(__always)
    private func onStorage<Result>(
        _ body: () throws(StorageError) -> Result
    ) throws(QueryError) -> Result {
        do throws(StorageError) { return try body() } catch {
            throw QueryError(EngineError.storage(error))
        }
    }
}

extension QueryError {
    /// What went wrong below a statement.
    init(_ error: EngineError) {
        switch error {
        case .damaged, .storage(.corrupt): self.init(.damaged, "\(error)")
        case .exists:
            self.init(
                .conflict, "\(error)",
                hint: "ON ID CONFLICT DO UPDATE merges the two, DO NOTHING keeps the old one")
        case .limit("maximumDocumentLength", let value, let limit):
            self.init(
                .limit, "a document may have \(limit) bytes, and this one would have \(value)",
                hint: "the limit is the parameter document_size_hard_limit_bytes")
        case .limit: self.init(.limit, "\(error)")
        case .id, .edit, .invalidCollection, .invalidIndex, .indexExists, .noIndex:
            self.init(.meaning, "\(error)")
        default: self.init(.failed, "\(error)")
        }
    }
}
