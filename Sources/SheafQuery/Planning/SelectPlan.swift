import SheafBytes
import SheafDocument

/// The plan of a SELECT, complete before the first row.
final class SelectPlan {
    let sources: [SourcePlan]
    /// Declared field types of each source.
    let types: [FieldTypes]
    let joins: [JoinPlan]
    var requested = RequestedConditions()
    var grouping: GroupPlan?
    var order: [SortTerm] = []
    /// Whether the sources produce the rows in the requested order.
    var isOrdered = true
    var limit: Int?
    var offset = 0
    var projection: Projection
    var isDistinct = false
    /// Advice about the statement.
    var notes: [String] = []
    var variableCount = 0
    /// Ranges whose entries are counted instead of visited, and ranges to subtract.
    var countedRanges: (of: [KeyRange], without: [KeyRange])?

    var filter: FieldFilter? { requested.filter }
    var condition: Predicate? { requested.residualPredicate }

    /// Whether the run always visits all rows.
    var visitsAllRows: Bool { limit == nil || !isOrdered || grouping != nil }

    /// Whether documents may be visited in any order.
    var allowsAnyOrder: Bool {
        guard limit == nil || !isOrdered || grouping != nil else { return false }
        return grouping != nil || !isOrdered || order.isEmpty && offset == 0
    }

    init(sources: [SourcePlan], joins: [JoinPlan], projection: Projection) {
        self.sources = sources
        types = sources.map(\.types)
        self.joins = joins
        self.projection = projection
    }
}

/// The conditions of WHERE, split by the stage that evaluates them.
struct RequestedConditions {
    /// The conditions on encoded documents of the first source.
    var filter: FieldFilter?
    /// The remaining conditions, evaluated on complete rows.
    var residualPredicate: Predicate?
    // EXPLAIN prints the expressions of both.
    var filterExpression: Expression?
    var residualExpression: Expression?
}

/// A SELECT with its plan, and the measured counters if it was profiled.
struct PlannedSelect {
    let select: Select
    let plan: SelectPlan
    let tallies: PlanTallies?
}

/// A source with its access path.
///
/// It is a class because joins access it for every row.
final class SourcePlan {
    let name: String
    let alias: String
    let collection: CollectionDescription?
    /// The name of a system collection without its namespace; nil for other collections.
    let virtualName: String?
    let types: FieldTypes
    let path: AccessPath
    /// The earlier state that the source reads; nil for the state of the run.
    let past: (any QueryStore)?

    init(
        name: String, alias: String, collection: CollectionDescription?, virtualName: String?,
        types: FieldTypes, path: AccessPath, past: (any QueryStore)?
    ) {
        self.name = name
        self.alias = alias
        self.virtualName = virtualName
        self.collection = collection
        self.types = types
        self.path = path
        self.past = past
    }
}

/// The plan of GROUP BY, the aggregates and HAVING.
struct GroupPlan {
    let keys: [Evaluator]
    /// The path of each key that is a visible field of the first source.
    let keyFields: [FieldPath?]
    let columns: [GroupScope.Column]
    let having: Predicate?
    let expressions: [Expression]
    let havingExpression: Expression?
}

/// A term of ORDER BY.
struct SortTerm {
    let evaluator: Evaluator
    let isDescending: Bool
    let expression: Expression
    /// The field path if the term is a visible field of the first source.
    let field: FieldPath?
}

extension SelectPlan {
    /// Whether OFFSET can skip index entries by rank, because each entry is a row of the result.
    var skipsByRank: Bool {
        guard case .index = sources[0].path.access else { return false }
        return isStraight && !isDistinct
    }

    /// Whether each scanned document is a row of the result, in scan order.
    var isStraight: Bool {
        filter == nil && condition == nil && joins.isEmpty && grouping == nil && isOrdered
    }

    /// Number of leading rows needed, including those that OFFSET skips; nil if there is no limit.
    var sortedRowLimit: Int? {
        limit.map { QueryLimits.sum($0, offset) }
    }
}
