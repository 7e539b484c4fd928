package import SheafBytes
package import SheafDocument
import SheafEngine
package import SheafQuery
import SheafStorage

/// Scans of key ranges.
extension SnapshotReader {
    package typealias Visitor = (ScannedDocuments) throws(StoreError) -> Int?

    private var log: LogSnapshot { snapshot.log }

    package func scan(
        _ range: KeyRange, _ order: ScanOrder, skipping skipped: Int, filter: FieldFilter?,
        _ tally: inout ScanTally, _ body: Visitor
    ) throws(StoreError) {
        guard let range = remainingRange(range, isReversed: order == .descending, skipping: skipped)
        else { return }
        var scanned = ScanTally()
        defer {
            tally.entries += scanned.entries
            tally.fetched += scanned.fetched
        }
        let buffers = buffers.popLast() ?? ScanBuffers()
        defer { self.buffers.append(buffers) }
        let firstLength = order == .all ? 0 : ParallelScan.sequentialLength
        try log.forEachPointers(in: range, RecordPointerOrder(order)) {
            (pointers) throws(StoreError) in
            var start = 0
            while start < pointers.count {
                try interruption?.check()
                if let filter, start >= firstLength, !hasPending,
                    pointers.count - start >= ParallelScan.minimumLength
                {
                    let length = min(pointers.count - start, ParallelScan.maximumLength)
                    let rest = UnsafeBufferPointer(rebasing: pointers[start..<start + length])
                    start += length
                    guard try visit(ParallelScan(rest, log, filter), &scanned, body) else {
                        return false
                    }
                    continue
                }
                let length = min(DocumentBatch.capacity, pointers.count - start)
                let rest = UnsafeBufferPointer(rebasing: pointers[start..<start + length])
                start += length
                guard try visit(rest, buffers, filter, &scanned, body) else { return false }
            }
            return true
        }
    }

    /// Passes the documents at up to `DocumentBatch.capacity` record pointers to `body`.
    ///
    /// Returns false when no more are needed.
    @inline(__always)
    func visit(
        _ pointers: UnsafeBufferPointer<RecordPointer>, _ buffers: ScanBuffers,
        _ filter: FieldFilter?, _ tally: inout ScanTally, _ body: Visitor
    ) throws(StoreError) -> Bool {
        let (batch, documents) = (buffers.operations, buffers.documents)
        var start = 0
        while start < pointers.count {
            let rest = UnsafeBufferPointer(rebasing: pointers[start...])
            let found = batch.find(rest, in: log)
            let stored = batch.stored(found)
            guard try visit(rest, stored, documents, filter, &tally, body) else { return false }
            start += found
            guard found < rest.count else { continue }
            // The next operation is a delta record or damaged.
            start += 1
            guard try visit(rest[found], filter, &tally, body) else { return false }
        }
        return true
    }

    /// Passes documents at record pointers to `body`, with their indexes, until it returns false.
    func visit(
        _ pointers: UnsafeBufferPointer<RecordPointer>,
        _ body: (Int, ScannedDocument) throws(StoreError) -> Bool
    ) throws(StoreError) {
        func visit(_ index: Int) throws(StoreError) -> Bool {
            try self.visit(try operation(at: pointers[index]), at: pointers[index], nil) {
                (documents) throws(StoreError) in
                try body(index, documents[0]) ? nil : 1
            }
        }
        let batch = OperationBatch(capacity: DocumentBatch.capacity)
        let documents = DocumentBatch()
        var start = 0
        while start < pointers.count {
            try interruption?.check()
            let end = min(start + batch.capacity, pointers.count)
            let found = batch.find(UnsafeBufferPointer(rebasing: pointers[start..<end]), in: log)
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
            // The next operation is a delta record or damaged.
            guard try visit(start) else { return }
            start += 1
        }
    }

    /// Passes documents in stored bytes to `body`; returns false when no more are needed.
    ///
    /// `stored` holds the operations at the first `stored.count` of `pointers`.
    @inline(__always)
    private func visit(
        _ pointers: UnsafeBufferPointer<RecordPointer>, _ stored: UnsafeBufferPointer<StoredBytes>,
        _ documents: DocumentBatch, _ filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: Visitor
    ) throws(StoreError) -> Bool {
        guard let base = stored.baseAddress, !stored.isEmpty else { return true }
        guard !hasPending, (try? documents.open(stored, where: filter)) != nil else {
            // Documents are read one by one: pending ones replace some, and errors keep their
            // order.
            for index in stored.indices {
                guard try visit(pointers[index], filter, &tally, body) else { return false }
            }
            return true
        }
        var scanned = stored.count
        var goesOn = true
        if !documents.left.isEmpty {
            let shown = ScannedDocuments(
                documents.fields, base, at: documents.left,
                keyPrefixLength: StoreKey.documentPrefixLength, isLasting: true)
            if let stop = try body(shown) {
                goesOn = false
                scanned = stop == 0 ? 0 : Int(documents.left[stop - 1]) + 1
            }
        }
        tally.entries += scanned
        tally.fetched += scanned
        return goesOn
    }

    /// Passes the matches of a parallel scan to `body`; returns false when no more are needed.
    private func visit(
        _ scan: ParallelScan, _ tally: inout ScanTally, _ body: Visitor
    ) throws(StoreError) -> Bool {
        try scan.run { (found) throws(StoreError) in
            tally.entries += found.scannedCount
            tally.fetched += found.scannedCount
            guard try found.forEachBatch(body) else { return false }
            for pointer in found.others {
                guard try visit(pointer, scan.filter, &tally, body) else { return false }
            }
            return true
        }
    }

    /// Passes the document at a record pointer to `body`, unless a pending change replaces it.
    @inline(never)
    private func visit(
        _ pointer: RecordPointer, _ filter: FieldFilter?, _ tally: inout ScanTally, _ body: Visitor
    ) throws(StoreError) -> Bool {
        tally.entries += 1
        let logged = try operation(at: pointer)
        guard !hasPending || pending[Array(logged.key)] == nil else { return true }
        tally.fetched += 1
        return try visit(logged, at: pointer, filter, body)
    }

    /// Passes the document of an operation to `body`.
    @inline(__always)
    func visit(
        _ logged: SheafStorage.Operation, at pointer: RecordPointer, _ filter: FieldFilter?,
        _ body: Visitor
    ) throws(StoreError) -> Bool {
        guard !pointer.isDelta else { return try visit(joinedAt: pointer, filter, body) }
        let number = pointer.position.rawValue
        let fields = try onDocument(at: number) { () throws(Malformed) in
            try DocumentPayload(logged.payload).state?.existingFields()
        }
        guard let fields, try holds(filter, fields, at: number) else { return true }
        return try Self.passDocument(fields, logged.key, position: number, isLasting: true, body)
    }

    private func visit(
        joinedAt pointer: RecordPointer, _ filter: FieldFilter?, _ body: Visitor
    ) throws(StoreError) -> Bool {
        let key: UnsafeRawBufferPointer
        let document: StoredDocument
        do throws(EngineError) { (key, document) = try snapshot.document(at: pointer) } catch {
            throw StoreError(error)
        }
        return try visit(document, key, pointer.position.rawValue, filter, body)
    }

    /// Passes a pending or joined document to `body`, if the filter accepts it.
    func visit(
        _ document: StoredDocument, _ key: UnsafeRawBufferPointer, _ position: UInt64,
        _ filter: FieldFilter?, _ body: Visitor
    ) throws(StoreError) -> Bool {
        try document.read { (bytes) throws(StoreError) in
            let fields = try onDocument(at: position) { () throws(Malformed) in
                try EncodedDocument(bytes).existingFields()
            }
            guard let fields, try holds(filter, fields, at: position) else { return true }
            return try Self.passDocument(fields, key, position: position, isLasting: false, body)
        }
    }

    /// Passes one document to `body`.
    private static func passDocument(
        _ fields: EncodedObject, _ key: UnsafeRawBufferPointer, position: UInt64, isLasting: Bool,
        _ body: Visitor
    ) throws(StoreError) -> Bool {
        let stored = StoredBytes(
            key: key, payload: UnsafeRawBufferPointer(start: nil, count: 0), pointer: position)
        return try withUnsafePointer(to: fields) { (fields) throws(StoreError) in
            try withUnsafePointer(to: stored) { (stored) throws(StoreError) in
                try withUnsafePointer(to: UInt16(0)) { (index) throws(StoreError) in
                    try body(
                        ScannedDocuments(
                            fields, stored, at: UnsafeBufferPointer(start: index, count: 1),
                            keyPrefixLength: StoreKey.documentPrefixLength,
                            isLasting: isLasting)) == nil
                }
            }
        }
    }

    /// Returns the range without its first `skipped` entries; nil if none are left.
    func remainingRange(
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
        let key = withExtendedLifetime(cursor) { Array(cursor.key) }
        return isReversed
            ? KeyRange(from: range.lower, to: key + [0]) : KeyRange(from: key, to: range.upper)
    }

    package func scanPending(
        _ collection: CollectionDescription, filter: FieldFilter?, _ tally: inout ScanTally,
        _ body: Visitor
    ) throws(StoreError) {
        let keys = pending.keys(startingWith: collection.keyPrefix).sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for key in keys {
            guard let document = pending[key]?.document else { continue }
            tally.entries += 1
            tally.fetched += 1
            let position = pendingPosition(of: key)
            let goesOn = try key.span.withUnsafeBytes { (key) throws(StoreError) in
                try visit(document, key, position, filter, body)
            }
            guard goesOn else { return }
        }
    }

    @inline(__always)
    private func holds(
        _ filter: FieldFilter?, _ fields: EncodedObject, at position: UInt64
    ) throws(StoreError) -> Bool {
        guard let filter else { return true }
        return try onDocument(at: position) { () throws(Malformed) in try filter.holds(fields) }
    }

    @inline(__always)
    private func onDocument<Result>(
        at position: UInt64, _ body: () throws(Malformed) -> Result
    ) throws(StoreError) -> Result {
        do throws(Malformed) { return try body() } catch { throw damaged(error, at: position) }
    }

    @inline(never)
    private func damaged(_ error: Malformed, at position: UInt64) -> StoreError {
        StoreError(error, document: position)
            .located(in: log.segments)
    }

    /// Returns the newest operation at a record pointer.
    func operation(at pointer: RecordPointer) throws(StoreError) -> SheafStorage.Operation {
        do throws(StorageError) { return try snapshot.log.newestOperation(at: pointer) } catch {
            throw StoreError(error)
        }
    }
}

extension RecordPointerOrder {
    fileprivate init(_ order: ScanOrder) {
        switch order {
        case .ascending: self = .ascending
        case .descending: self = .descending
        case .any, .all: self = .any
        }
    }
}
