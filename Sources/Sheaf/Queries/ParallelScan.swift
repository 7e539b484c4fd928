import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage

/// Asks very many documents a condition, on all cores.
///
/// Only where any order will do, and, where not all rows are wanted, after some documents were looked
/// at without finding enough: most statements have ended by then. Its parts are shown in their order,
/// so the rows do not depend on who was faster.
struct ParallelScan {
    private let places: UnsafeBufferPointer<Place>
    private let log: LogSnapshot
    let filter: FieldFilter

    /// So many are looked at one after the other first, where that may be enough.
    static let firstLength = 4_096
    /// Fewer are not worth to wake a thread.
    static let leastLength = 16_384
    /// So many are looked at before the first of them is shown.
    static let length = 1 << 17
    private static let partLength = 2_048

    init(_ places: UnsafeBufferPointer<Place>, _ log: LogSnapshot, _ filter: FieldFilter) {
        self.places = places
        self.log = log
        self.filter = filter
    }

    /// Looks at all, then shows what was found to `body`, part by part, until it returns false.
    func run(
        _ body: (FoundDocuments) throws(QueryError) -> Bool
    ) throws(QueryError) -> Bool {
        let count = (places.count + Self.partLength - 1) / Self.partLength
        // One thread has each at a time: first the one that searches, then this one.
        nonisolated(unsafe) let parts = (0..<count).map { number in
            let start = number * Self.partLength
            let end = min(start + Self.partLength, places.count)
            return FoundDocuments(UnsafeBufferPointer(rebasing: places[start..<end]))
        }
        let (log, filter) = (log, filter)
        Workers.shared.run(count) { parts[$0].search(log, filter) }
        for part in parts {
            guard try body(part) else { return false }
        }
        return true
    }
}

/// What one part of a scan has found.
final class FoundDocuments {
    private let places: UnsafeBufferPointer<Place>
    private var fields: [EncodedObject] = []
    private var stored: [StoredBytes] = []
    /// How many documents were looked at, without the others.
    private(set) var lookedAt = 0
    /// Where documents are that have to be looked at by themselves: joined from several operations,
    /// or damaged.
    private(set) var others: [Place] = []

    init(_ places: UnsafeBufferPointer<Place>) {
        self.places = places
    }

    func search(_ log: LogSnapshot, _ filter: FieldFilter) {
        let batch = OperationBatch(capacity: DocumentBatch.capacity)
        let documents = DocumentBatch()
        var start = 0
        while start < places.count {
            let rest = UnsafeBufferPointer(
                rebasing: places[start..<min(start + batch.capacity, places.count)])
            let found = batch.find(rest, in: log)
            take(batch.stored(found), rest, documents, filter)
            start += found
            guard found < rest.count else { continue }
            others.append(rest[found])
            start += 1
        }
    }

    private func take(
        _ found: UnsafeBufferPointer<StoredBytes>, _ places: UnsafeBufferPointer<Place>,
        _ documents: DocumentBatch, _ filter: FieldFilter
    ) {
        guard (try? documents.open(found, where: filter)) != nil else {
            others.append(contentsOf: places[..<found.count])
            return
        }
        lookedAt += found.count
        for index in documents.left {
            fields.append(documents.fields[Int(index)])
            stored.append(found[Int(index)])
        }
    }

    /// Shows the documents to `body`, as many at a time as a scan does; false when it wants no more.
    func forEachBatch(
        _ body: (ScannedDocuments) throws(QueryError) -> Int?
    ) throws(QueryError) -> Bool {
        let (allFields, allStored) = (fields, stored)
        for start in stride(from: 0, to: allStored.count, by: DocumentBatch.capacity) {
            let count = min(allStored.count - start, DocumentBatch.capacity)
            let stop = try allFields.span.withUnsafeBufferPointer {
                (fields) throws(QueryError) -> Int? in
                try allStored.span.withUnsafeBufferPointer {
                    (stored) throws(QueryError) -> Int? in
                    guard let fields = fields.baseAddress, let stored = stored.baseAddress else {
                        return nil
                    }
                    return try Self.show(fields + start, stored + start, count, body)
                }
            }
            guard stop == nil else { return false }
        }
        return true
    }

    private static func show(
        _ fields: UnsafePointer<EncodedObject>, _ stored: UnsafePointer<StoredBytes>, _ count: Int,
        _ body: (ScannedDocuments) throws(QueryError) -> Int?
    ) throws(QueryError) -> Int? {
        try indexes.span.withUnsafeBufferPointer { (indexes) throws(QueryError) in
            try body(
                ScannedDocuments(
                    fields, stored, at: UnsafeBufferPointer(rebasing: indexes[..<count]),
                    keyPrefixLength: StoreKey.documentPrefixLength, isLasting: true))
        }
    }

    private static let indexes = (0..<DocumentBatch.capacity).map { UInt16($0) }
}
