import SheafDocument

/// Scans of columns in memory.
extension SelectPlan {
    /// Returns the scan of columns that can replace that of the first source; nil if there is none.
    ///
    /// Only complete scans are replaced: the others may end before columns would be of use.
    func columnScan(in store: any QueryStore, filter: FieldFilter?) -> ColumnScan? {
        guard store.usesColumns, visitsAllRows, countedRanges == nil,
            sources[0].past == nil, let collection = sources[0].collection,
            !collection.hasPendingChanges,
            case .documents(let ranges, false) = sources[0].path.access, ranges.count == 1,
            ranges[0] == collection.keys
        else { return nil }
        if let paths = groupedPaths {
            return ColumnScan(ranges[0], where: filter, reading: paths)
        }
        guard filter != nil else { return nil }
        var scan = ColumnScan(ranges[0], where: filter, reading: [])
        scan?.isBounded = joins.isEmpty && boundedField != nil
        return scan
    }

    /// The fields from which all groups can be made; nil if they need documents.
    var groupedPaths: [FieldPath]? {
        guard joins.isEmpty, condition == nil, let grouping else { return nil }
        var paths: [FieldPath] = []
        for path in grouping.keyPaths {
            guard case .field(let path)? = path else { return nil }
            paths.append(path)
        }
        for column in grouping.columns where column.operand != nil {
            guard !column.isDistinct, case .field(let path)? = column.path else { return nil }
            paths.append(path)
        }
        return paths
    }

    /// The field by which the rows are sorted, if documents that cannot be among the first rows are
    /// skipped, and the accepted comparisons with the last of these rows.
    var boundedField: (path: FieldPath, outcomes: FieldFilter.Outcomes)? {
        // A condition must be evaluated for every document, because it may throw.
        // Rows that arrive in the order of the first term end the run early instead.
        guard limit != nil, !isOrdered, presortedTerms == 0, condition == nil, grouping == nil,
            !isDistinct, let first = order.first, let field = first.field
        else { return nil }
        let strictly: FieldFilter.Outcomes = first.isDescending ? .greater : .less
        // Documents with an equal key follow the boundary unless another ORDER BY term decides.
        return (field, order.count == 1 ? strictly : [strictly, .equal])
    }

    /// The fields that the next run reads from columns; nil if there are none.
    func columnFields(in store: any QueryStore) -> [FieldPath]? {
        var filters = filter.map { [$0] } ?? []
        if joins.isEmpty, let (path, outcomes) = boundedField {
            filters.append(FieldBound(path, outcomes, store.names).filter)
        }
        let filter = filters.count > 1 ? FieldFilter.all(filters) : filters.first
        guard let scan = columnScan(in: store, filter: filter), store.hasColumns(for: scan) else {
            return nil
        }
        return scan.paths
    }
}
