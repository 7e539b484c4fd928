package import SheafDocument

/// Directives for the planner, as somebody sets them for all statements.
package enum Directives {
    /// Refuses those that are none.
    package static func check(_ directives: Object) throws(QueryError) {
        try PlanEnvironment.check(directives)
    }
}
