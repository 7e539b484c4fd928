import SheafBytes
import SheafDocument

/// Processing of documents in batches.
extension RowCollector {
    /// Adds a batch of documents; returns the number after which the scan stops, or nil to
    /// continue.
    func add(_ documents: ScannedDocuments) throws(StoreError) -> Int? {
        if appendsDocuments, visitor == nil, documents.isLasting { return give(documents) }
        if let grouper, plan.condition == nil, try grouper.add(documents, frame.names) {
            return nil
        }
        guard let sortFilter else { return try addEach(documents) }
        return try sortFilter.select(documents, sorter?.boundary) {
            (documents) throws(StoreError) in
            try addEach(documents)
        }
    }

    private func addEach(_ documents: ScannedDocuments) throws(StoreError) -> Int? {
        for number in 0..<documents.count {
            frame.rows[0] = Row(documents[number])
            guard try addIfMatching() else { return number + 1 }
        }
        return nil
    }

    /// Appends documents to the result without decoding them.
    private func give(_ documents: ScannedDocuments) -> Int? {
        let limit = plan.limit ?? .max
        for number in 0..<documents.count {
            guard skipped >= plan.offset else {
                skipped += 1
                continue
            }
            let content = ResultItem.Content.stored(
                fields: documents.fields(number), id: documents.id(number),
                position: documents.position(number))
            items.append(ResultItem(content: content))
            guard items.count < limit else { return number + 1 }
        }
        return nil
    }
}

/// A filter that skips encoded documents that cannot be among the first rows of a sorted result.
final class SortFilter {
    private let bound: FieldBound
    /// The filter for documents that may precede the boundary, which may run on several threads.
    let filter: FieldFilter
    /// Number of the boundary row.
    private var number = -1
    private let indexes: UnsafeMutablePointer<UInt16>

    /// Creates a filter for a plan that sorts by a field with a limit; nil if none is possible.
    static func filter(_ plan: SelectPlan, _ names: NameTable) -> SortFilter? {
        plan.boundedField.map { SortFilter(FieldBound($0.path, $0.outcomes, names)) }
    }

    private init(_ bound: FieldBound) {
        self.bound = bound
        filter = bound.filter
        indexes = .allocate(capacity: DocumentBatch.capacity)
    }

    deinit {
        indexes.deallocate()
    }

    /// Passes the documents that may precede the boundary to `body`.
    ///
    /// Returns the number of documents after which the scan stops, or nil to continue.
    func select(
        _ documents: ScannedDocuments, _ boundary: (key: Value?, number: Int)?,
        _ body: (ScannedDocuments) throws(StoreError) -> Int?
    ) throws(StoreError) -> Int? {
        guard let last = boundary else { return try body(documents) }
        if last.number != number {
            number = last.number
            bound.replace(with: last.key)
        }
        let kept = try documents.select(filter, indexes)
        // Sorting reads all documents and never stops the scan.
        _ = try body(kept)
        return nil
    }
}
