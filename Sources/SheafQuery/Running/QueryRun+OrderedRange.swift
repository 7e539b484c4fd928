package import SheafDocument

extension QueryRun {
    /// Returns the only range that the statement selects, if there is one; nil otherwise.
    ///
    /// That is so without a condition, with one on `_id` alone, and if an index has all its fields
    /// equal to one value each.
    package func orderedRange() throws(StoreError) -> OrderedRange? {
        guard case .select(let select) = statement.body, select.joins.isEmpty,
            select.source.ids == nil, select.source.asOf == nil, select.ordering.limit == nil
        else { return nil }
        return try SelectPlanner(select, environment).orderedRange()
    }
}
