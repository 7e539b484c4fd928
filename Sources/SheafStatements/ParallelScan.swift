import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSystem

/// A scan that filters many documents on all cores.
///
/// Used only if the statement accepts any order. If it does not need all rows, some documents are
/// scanned sequentially first, which suffices for most statements. The matches are delivered in the
/// order of the parts, so the rows do not depend on the timing of threads.
struct ParallelScan {
    private let pointers: UnsafeBufferPointer<RecordPointer>
    private let log: LogSnapshot
    let filter: FieldFilter

    /// The number of documents scanned sequentially first, unless all rows are needed.
    static let sequentialLength = 4_096
    /// Minimum number of documents for which waking threads pays off.
    static let minimumLength = 16_384
    /// Maximum number of documents of one scan, which delivers its matches at the end.
    static let maximumLength = 1 << 17
    private static let chunkLength = 2_048

    package init(
        _ pointers: UnsafeBufferPointer<RecordPointer>, _ log: LogSnapshot, _ filter: FieldFilter
    ) {
        self.pointers = pointers
        self.log = log
        self.filter = filter
    }

    /// Filters all documents, then passes each part's matches to `body` until it returns false.
    package func run(
        _ body: (FoundDocuments) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let count = (pointers.count + Self.chunkLength - 1) / Self.chunkLength
        // Each part is used by one thread at a time: first by a worker, then by this one.
        nonisolated(unsafe) let parts = (0..<count).map { number in
            let start = number * Self.chunkLength
            let end = min(start + Self.chunkLength, pointers.count)
            return FoundDocuments(UnsafeBufferPointer(rebasing: pointers[start..<end]))
        }
        let (log, filter) = (log, filter)
        Workers.shared.run(count) { parts[$0].search(log, filter) }
        for part in parts {
            guard try body(part) else { return false }
        }
        return true
    }
}

/// The matches in one part of a parallel scan.
final class FoundDocuments {
    private let pointers: UnsafeBufferPointer<RecordPointer>
    private var fields: [EncodedObject] = []
    private var stored: [StoredBytes] = []
    /// The number of documents filtered, excluding `others`.
    private(set) var scannedCount = 0
    /// Record pointers of documents to read one by one: damaged ones, and those with deltas.
    private(set) var others: [RecordPointer] = []

    package init(_ pointers: UnsafeBufferPointer<RecordPointer>) {
        self.pointers = pointers
    }

    /// Filters the documents of the part.
    func search(_ log: LogSnapshot, _ filter: FieldFilter) {
        let batch = OperationBatch(capacity: DocumentBatch.capacity)
        let documents = DocumentBatch()
        var start = 0
        while start < pointers.count {
            let rest = UnsafeBufferPointer(
                rebasing: pointers[start..<min(start + batch.capacity, pointers.count)])
            let found = batch.find(rest, in: log)
            append(batch.stored(found), rest, documents, filter)
            start += found
            guard found < rest.count else { continue }
            others.append(rest[found])
            start += 1
        }
    }

    private func append(
        _ found: UnsafeBufferPointer<StoredBytes>, _ pointers: UnsafeBufferPointer<RecordPointer>,
        _ documents: DocumentBatch, _ filter: FieldFilter
    ) {
        guard (try? documents.open(found, where: filter)) != nil else {
            others.append(contentsOf: pointers[..<found.count])
            return
        }
        scannedCount += found.count
        for index in documents.left {
            fields.append(documents.fields[Int(index)])
            stored.append(found[Int(index)])
        }
    }

    /// Passes the matches to `body` in batches; returns false when it needs no more.
    func forEachBatch(
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) -> Bool {
        let (allFields, allStored) = (fields, stored)
        for start in stride(from: 0, to: allStored.count, by: DocumentBatch.capacity) {
            let count = min(allStored.count - start, DocumentBatch.capacity)
            let stop = try allFields.span.withUnsafeBufferPointer {
                (fields) throws(StoreError) -> Int? in
                try allStored.span.withUnsafeBufferPointer {
                    (stored) throws(StoreError) -> Int? in
                    guard let fields = fields.baseAddress, let stored = stored.baseAddress else {
                        return nil
                    }
                    return try Self.passDocuments(fields + start, stored + start, count, body)
                }
            }
            guard stop == nil else { return false }
        }
        return true
    }

    private static func passDocuments(
        _ fields: UnsafePointer<EncodedObject>, _ stored: UnsafePointer<StoredBytes>, _ count: Int,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) -> Int? {
        try indexes.span.withUnsafeBufferPointer { (indexes) throws(StoreError) in
            try body(
                ScannedDocuments(
                    fields, stored, at: UnsafeBufferPointer(rebasing: indexes[..<count]),
                    keyPrefixLength: StoreKey.documentPrefixLength, isLasting: true))
        }
    }

    private static let indexes = (0..<DocumentBatch.capacity).map { UInt16($0) }
}
