package import SheafBytes
package import SheafDocument
package import SheafQuery
import SheafStorage

/// Comes to documents by runs of keys.
extension SnapshotReader {
    package typealias Visitor = (ScannedDocuments) throws(QueryError) -> Int?

    private var log: LogSnapshot { snapshot.log }

    package func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: Visitor
    ) throws(QueryError) {
        guard let range = entered(range, isReversed: order == .descending, skipping: skipped)
        else { return }
        var scanned = ScanTally()
        defer {
            tally.entries += scanned.entries
            tally.fetched += scanned.fetched
        }
        let batch = OperationBatch(capacity: DocumentBatch.capacity)
        let documents = DocumentBatch()
        let firstLength = order == .all ? 0 : ParallelScan.firstLength
        try log.forEachPlaces(in: range, PlaceOrder(order)) { (places) throws(QueryError) in
            var start = 0
            while start < places.count {
                try interruption?.check()
                if let filter, start >= firstLength, pending.isEmpty,
                    places.count - start >= ParallelScan.leastLength
                {
                    let length = min(places.count - start, ParallelScan.length)
                    let rest = UnsafeBufferPointer(rebasing: places[start..<start + length])
                    start += length
                    guard try visit(ParallelScan(rest, log, filter), &scanned, body) else {
                        return false
                    }
                    continue
                }
                let rest = UnsafeBufferPointer(
                    rebasing: places[start..<min(start + batch.capacity, places.count)])
                let found = batch.find(rest, in: log)
                let stored = batch.stored(found)
                guard try visit(rest, stored, documents, filter, &scanned, body) else {
                    return false
                }
                start += found
                guard found < rest.count else { continue }
                // One that extends others, or is damaged.
                start += 1
                guard try visit(rest[found], filter, &scanned, body) else { return false }
            }
            return true
        }
    }

    /// Shows the documents at places to `body`, each with the number of its place, until it returns
    /// false.
    func visit(
        _ places: UnsafeBufferPointer<Place>,
        _ body: (Int, ScannedDocument) throws(QueryError) -> Bool
    ) throws(QueryError) {
        func visit(_ index: Int) throws(QueryError) -> Bool {
            try self.visit(try operation(at: places[index]), at: places[index], nil) {
                (documents) throws(QueryError) in
                try body(index, documents[0]) ? nil : 1
            }
        }
        let batch = OperationBatch(capacity: DocumentBatch.capacity)
        let documents = DocumentBatch()
        var start = 0
        while start < places.count {
            try interruption?.check()
            let end = min(start + batch.capacity, places.count)
            let found = batch.find(UnsafeBufferPointer(rebasing: places[start..<end]), in: log)
            let stored = batch.stored(found)
            if let base = stored.baseAddress, (try? documents.open(stored, where: nil)) != nil {
                let shown = ScannedDocuments(
                    documents.fields, base, at: documents.left,
                    keyPrefixLength: StoreKey.documentPrefixLength, isLasting: true)
                for number in 0..<shown.count {
                    let index = start + Int(documents.left[number])
                    guard try body(index, shown[number]) else { return }
                }
            } else {
                for index in start..<start + found {
                    guard try visit(index) else { return }
                }
            }
            start += found
            guard start < end else { continue }
            // One that extends others, or is damaged.
            guard try visit(start) else { return }
            start += 1
        }
    }

    /// Shows the documents in stored bytes, which are those at the first places, to `body`; false when
    /// no more are wanted.
    @inline(__always)
    private func visit(
        _ places: UnsafeBufferPointer<Place>, _ stored: UnsafeBufferPointer<StoredBytes>,
        _ documents: DocumentBatch, _ filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: Visitor
    ) throws(QueryError) -> Bool {
        guard let base = stored.baseAddress, !stored.isEmpty else { return true }
        guard pending.isEmpty, (try? documents.open(stored, where: filter)) != nil else {
            // What is not to be shown must not be asked, and what is damaged says so in its turn.
            for index in stored.indices {
                guard try visit(places[index], filter, &tally, body) else { return false }
            }
            return true
        }
        var looked = stored.count
        var goesOn = true
        if !documents.left.isEmpty {
            let shown = ScannedDocuments(
                documents.fields, base, at: documents.left,
                keyPrefixLength: StoreKey.documentPrefixLength, isLasting: true)
            if let stop = try body(shown) {
                goesOn = false
                looked = stop == 0 ? 0 : Int(documents.left[stop - 1]) + 1
            }
        }
        tally.entries += looked
        tally.fetched += looked
        return goesOn
    }

    /// Shows what a scan on several cores has found to `body`; false when no more are wanted.
    private func visit(
        _ scan: ParallelScan, _ tally: inout ScanTally, _ body: Visitor
    ) throws(QueryError) -> Bool {
        try scan.run { (found) throws(QueryError) in
            tally.entries += found.lookedAt
            tally.fetched += found.lookedAt
            guard try found.forEachBatch(body) else { return false }
            for place in found.others {
                guard try visit(place, scan.filter, &tally, body) else { return false }
            }
            return true
        }
    }

    /// Shows the document at one place to `body`.
    @inline(never)
    private func visit(
        _ place: Place, _ filter: FieldFilter?, _ tally: inout ScanTally, _ body: Visitor
    ) throws(QueryError) -> Bool {
        tally.entries += 1
        let logged = try operation(at: place)
        guard pending.isEmpty || pending[Array(logged.key)] == nil else { return true }
        tally.fetched += 1
        return try visit(logged, at: place, filter, body)
    }

    /// Shows the document of an operation to `body`.
    @inline(__always)
    func visit(
        _ logged: SheafStorage.Operation, at place: Place, _ filter: FieldFilter?,
        _ body: Visitor
    ) throws(QueryError) -> Bool {
        guard !place.isExtension else { return try visit(joinedAt: place, filter, body) }
        let number = place.position.rawValue
        let fields = try onDocument(at: number) { () throws(Malformed) in
            try DocumentPayload(logged.payload).state?.existingFields()
        }
        guard let fields, try holds(filter, fields, at: number) else { return true }
        return try Self.show(fields, logged.key, place: number, isLasting: true, body)
    }

    private func visit(
        joinedAt place: Place, _ filter: FieldFilter?, _ body: Visitor
    ) throws(QueryError) -> Bool {
        let key: UnsafeRawBufferPointer
        let document: StoredDocument
        do throws(EngineError) { (key, document) = try snapshot.document(at: place) } catch {
            throw QueryError(error)
        }
        return try visit(document, key, place.position.rawValue, filter, body)
    }

    func visit(
        _ document: StoredDocument, _ key: UnsafeRawBufferPointer, _ place: UInt64,
        _ filter: FieldFilter?, _ body: Visitor
    ) throws(QueryError) -> Bool {
        try document.read { (bytes) throws(QueryError) in
            let fields = try onDocument(at: place) { () throws(Malformed) in
                try EncodedDocument(bytes).existingFields()
            }
            guard let fields, try holds(filter, fields, at: place) else { return true }
            return try Self.show(fields, key, place: place, isLasting: false, body)
        }
    }

    /// Shows one document to `body`.
    private static func show(
        _ fields: EncodedObject, _ key: UnsafeRawBufferPointer, place: UInt64, isLasting: Bool,
        _ body: Visitor
    ) throws(QueryError) -> Bool {
        let stored = StoredBytes(
            key: key, payload: UnsafeRawBufferPointer(start: nil, count: 0), place: place)
        return try withUnsafePointer(to: fields) { (fields) throws(QueryError) in
            try withUnsafePointer(to: stored) { (stored) throws(QueryError) in
                try withUnsafePointer(to: UInt16(0)) { (index) throws(QueryError) in
                    try body(
                        ScannedDocuments(
                            fields, stored, at: UnsafeBufferPointer(start: index, count: 1),
                            keyPrefixLength: StoreKey.documentPrefixLength,
                            isLasting: isLasting)) == nil
                }
            }
        }
    }

    /// The range from its first entry on that is not skipped.
    func entered(
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

    package func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: Visitor
    ) throws(QueryError) {
        let keys = pending.keys(startingWith: collection.keyPrefix).sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for key in keys {
            guard let document = pending[key]?.document else { continue }
            tally.entries += 1
            tally.fetched += 1
            let place = pendingPlace(of: key)
            let goesOn = try key.span.withUnsafeBytes { (key) throws(QueryError) in
                try visit(document, key, place, filter, body)
            }
            guard goesOn else { return }
        }
    }

    // MARK: Bytes

    @inline(__always)
    private func holds(
        _ filter: FieldFilter?, _ fields: EncodedObject, at place: UInt64
    ) throws(QueryError) -> Bool {
        guard let filter else { return true }
        return try onDocument(at: place) { () throws(Malformed) in try filter.holds(fields) }
    }

    @inline(__always)
    private func onDocument<Result>(
        at place: UInt64, _ body: () throws(Malformed) -> Result
    ) throws(QueryError) -> Result {
        do throws(Malformed) { return try body() } catch { throw damaged(error, at: place) }
    }

    @inline(never)
    private func damaged(_ error: Malformed, at place: UInt64) -> QueryError {
        QueryError(.damaged, "a document is damaged: \(error)", document: place)
            .naming(fileIn: log.segments)
    }

    /// The newest operation at a place.
    func operation(at place: Place) throws(QueryError) -> SheafStorage.Operation {
        do throws(StorageError) { return try snapshot.log.newestOperation(at: place) } catch {
            throw QueryError(EngineError.storage(error))
        }
    }
}

extension PlaceOrder {
    fileprivate init(_ order: ScanOrder) {
        switch order {
        case .ascending: self = .ascending
        case .descending: self = .descending
        case .any, .all: self = .any
        }
    }
}
