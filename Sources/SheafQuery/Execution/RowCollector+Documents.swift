import SheafBytes
import SheafDocument

/// Takes in documents some at a time, and not one by one where a loop can do without that.
extension RowCollector {
    /// Takes in documents of the only source; says after how many no more are wanted.
    func pass(_ documents: ScannedDocuments) throws(QueryError) -> Int? {
        if givesDocuments, visitor == nil, documents.isLasting { return give(documents) }
        guard let sortFilter else { return try passEach(documents) }
        return try sortFilter.keep(documents, sorter?.boundary) { (documents) throws(QueryError) in
            try passEach(documents)
        }
    }

    private func passEach(_ documents: ScannedDocuments) throws(QueryError) -> Int? {
        for number in 0..<documents.count {
            frame.rows[0] = Row(documents[number])
            guard try pass() else { return number + 1 }
        }
        return nil
    }

    /// Gives documents out as they are.
    private func give(_ documents: ScannedDocuments) -> Int? {
        let limit = plan.limit ?? .max
        for number in 0..<documents.count {
            guard skipped >= plan.offset else {
                skipped += 1
                continue
            }
            let content = ResultItem.Content.stored(
                fields: documents.fields(number), id: documents.id(number),
                place: documents.place(number))
            items.append(ResultItem(content: content))
            guard items.count < limit else { return number + 1 }
        }
        return nil
    }
}

/// Passes over documents that come behind all rows that are wanted, in their bytes.
final class SortFilter {
    private let field: FieldPath
    /// What comes before a boundary, or may.
    private let outcomes: FieldFilter.Outcomes
    private let names: NameTable
    /// The row that is the boundary, and who comes before it.
    private var number = -1
    private var filter: FieldFilter?
    private let indexes: UnsafeMutablePointer<UInt16>

    /// A filter for what is sorted by a field, and wanted only in part.
    static func filter(_ plan: SelectPlan, _ names: NameTable) -> SortFilter? {
        // A condition has to be asked first, and may fail.
        guard plan.limit != nil, !plan.isOrdered, plan.condition == nil, plan.grouping == nil,
            !plan.isDistinct, let first = plan.order.first, let field = first.field
        else { return nil }
        let strictly: FieldFilter.Outcomes = first.isDescending ? .greater : .less
        // What is equal comes behind what came before, unless another term says more.
        return SortFilter(field, plan.order.count == 1 ? strictly : [strictly, .equal], names)
    }

    private init(_ field: FieldPath, _ outcomes: FieldFilter.Outcomes, _ names: NameTable) {
        self.field = field
        self.outcomes = outcomes
        self.names = names
        indexes = .allocate(capacity: DocumentBatch.capacity)
    }

    deinit {
        indexes.deallocate()
    }

    /// Shows those documents to `body` that may come before the last row that is wanted; says after
    /// how many of all documents no more are wanted.
    func keep(
        _ documents: ScannedDocuments, _ boundary: (key: Value?, number: Int)?,
        _ body: (ScannedDocuments) throws(QueryError) -> Int?
    ) throws(QueryError) -> Int? {
        guard let last = boundary else { return try body(documents) }
        if last.number != number {
            number = last.number
            filter = last.key.map { value in
                FieldFilter.compare(field, outcomes, value, names).allowingUnknown
            }
        }
        guard let filter else { return try body(documents) }
        let kept = try documents.keep(filter, indexes)
        // Who sorts wants all documents, and never stops.
        _ = try body(kept)
        return nil
    }
}
