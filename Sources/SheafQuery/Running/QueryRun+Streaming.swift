package import SheafDocument

/// Rows that are not kept in memory.
extension QueryRun {
    /// Calls `body` with each row of a statement that reads; returns the columns, if known.
    ///
    /// The rows are kept only while they must be sorted or compared with each other.
    @discardableResult
    package func forEachRow(
        _ body: @escaping (Object) throws(StoreError) -> Void
    ) throws(StoreError) -> [String]? {
        let names = environment.store.names
        guard case .select(let select) = statement.body else {
            let rows = try rows()
            for item in rows.items { try body(try item.object(names)) }
            return rows.columns
        }
        let plan = try SelectPlanner(select, environment).plan()
        let run = SelectRun(plan, environment)
        guard plan.isOrdered, !plan.isDistinct else {
            for item in try run.run().items { try body(try item.object(names)) }
            return plan.projection.columnNames
        }
        guard plan.limit != 0 else { return plan.projection.columnNames }
        try run.forEach { (frame) throws(StoreError) in
            try body(try plan.projection.object(frame, plan.types))
        }
        return plan.projection.columnNames
    }
}
