package import SheafBytes
package import SheafDocument

/// A scan of all documents of a collection that reads fields from columns in memory.
package struct ColumnScan {
    /// The keys of the collection.
    package let keys: KeyRange
    /// The paths of the columns, without duplicates; all have `visibleNumbers`.
    package private(set) var paths: [FieldPath] = []
    /// The condition on the columns; nil if all rows match.
    package private(set) var elementFilter: ElementFilter?
    /// The same condition on documents that are not in columns.
    package let filter: FieldFilter?
    /// Whether the condition becomes stricter as rows are found.
    package var isBounded = false
    /// The consumer of matching rows; nil if their documents are needed.
    package var consumeColumns: ((ColumnBatch) throws(StoreError) -> Void)?

    /// Creates a scan; nil if a condition or a path needs documents, or without paths.
    package init?(_ keys: KeyRange, where filter: FieldFilter?, reading further: [FieldPath]) {
        self.keys = keys
        self.filter = filter
        let condition = filter?.elementCondition
        guard (filter == nil) == (condition == nil) else { return nil }
        for path in (condition?.paths ?? []) + further {
            guard let numbers = path.visibleNumbers else { return nil }
            if !paths.contains(where: { $0.visibleNumbers == numbers }) { paths.append(path) }
        }
        guard !paths.isEmpty else { return nil }
        elementFilter = condition.map { ElementFilter($0, number(of:)) }
    }

    /// Returns the number of the column of a path.
    package func number(of path: FieldPath) -> Int {
        let numbers = path.visibleNumbers
        guard let index = paths.firstIndex(where: { $0.visibleNumbers == numbers }) else {
            preconditionFailure("A scan has a column for each path that it reads.")
        }
        return index
    }
}

/// Rows of consecutive documents, whose fields are in columns.
package struct ColumnBatch {
    /// The elements of each column.
    package let columns: ElementColumns
    /// The numbers of the rows that match.
    package let rows: UnsafeBufferPointer<UInt16>
    /// Whether the addresses of texts remain valid until the run ends.
    let isLasting: Bool

    package init(
        _ columns: ElementColumns, rows: UnsafeBufferPointer<UInt16>, isLasting: Bool = true
    ) {
        self.columns = columns
        self.rows = rows
        self.isLasting = isLasting
    }
}
