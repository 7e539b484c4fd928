import SheafDocument

/// Scans of columns in memory.
extension SelectRun {
    /// Returns the scan of columns that can replace that of the first source; nil if there is none.
    func columnScan() -> ColumnScan? {
        guard tallies == nil,
            var scan = plan.columnScan(in: store(of: 0), filter: scanFilter)
        else { return nil }
        guard plan.groupedPaths != nil, let grouper = collector.grouper,
            let columns = grouper.sourceColumns
        else { return scan }
        let numbers = columns.compactMap { column -> Int? in
            guard case .field(let path) = column.path else { return nil }
            return scan.number(of: path)
        }
        scan.consumeColumns = { (batch) throws(StoreError) in try grouper.add(batch, numbers) }
        return scan
    }

    /// Adds the entries of a covering index to the groups; returns false, without a visit, if the
    /// groups need complete rows.
    func groupEntries() throws(StoreError) -> Bool {
        let source = plan.sources[0]
        guard tallies == nil, plan.joins.isEmpty, plan.filter == nil, plan.condition == nil,
            source.collection?.hasPendingChanges == false,
            case .index(let scan) = source.path.access, scan.isCovering,
            let grouper = collector.grouper, let batch = EntryBatch(scan.index, grouper)
        else { return false }
        for range in scan.ranges {
            try store(of: 0).scanKeys(range, isReversed: false, skipping: 0) {
                (key, _) throws(StoreError) in
                if try !batch.add(key) {
                    // The entry is too long, or one of its values must be decoded.
                    frame.rows[0] = Row(batch.row, position: 0)
                    try grouper.add(frame)
                }
                if batch.isFull { try batch.flush() }
                return true
            }
        }
        try batch.flush()
        return true
    }

    /// Visits the rows of the first source in columns; returns false if they are not in columns.
    func scan(_ columns: ColumnScan) throws(StoreError) -> Bool {
        var visited = ScanTally()
        let consume = documentConsumer()
        return try store(of: 0).scan(columns, &visited) { (documents) throws(StoreError) in
            if let consume { return try consume(documents) }
            return try visit(documents)
        }
    }
}
