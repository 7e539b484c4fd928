package import SheafDocument

extension QueryRun {
    /// Returns the range of keys of exactly the selected documents, in the order of their ids; nil
    /// if they are not one range.
    ///
    /// It exists if there is no condition, if the condition is one range of `_id`, or if it
    /// compares each field of an index with one value.
    package func orderedRange() throws(StoreError) -> OrderedRange? {
        guard case .select(let select) = statement.body, select.joins.isEmpty,
            select.source.ids == nil, select.source.asOf == nil, select.ordering.limit == nil
        else { return nil }
        return try SelectPlanner(select, environment).orderedRange()
    }
}
