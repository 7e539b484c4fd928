import SheafDocument

/// The rows of joined sources.
extension SelectRun {
    /// Returns the access to all rows of a source, in an order that is the same on each call.
    func allRows(of number: Int) throws(StoreError) -> Access {
        let source = plan.sources[number]
        if let collection = source.collection {
            return .documents([collection.keys], isReversed: false)
        }
        guard let name = source.virtualName else { return .nothing }
        if let rows = systemRows[number] { return .rows(rows) }
        var rows: [Object] = []
        try store.forEachVirtualRow(name, RowBounds()) { row in
            rows.append(row)
            return true
        }
        systemRows[number] = rows
        return .rows(rows)
    }
}
