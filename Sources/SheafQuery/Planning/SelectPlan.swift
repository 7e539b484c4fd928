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
    /// Number of the first terms of the order in which the sources produce the rows, if not in all;
    /// zero unless this ends the run early.
    var presortedTerms = 0
    var limit: Int?
    var offset = 0
    var projection: Projection {
        didSet { columnNames = projection.columnNames }
    }
    /// Names of the columns in order; nil if they depend on the documents.
    private(set) var columnNames: [String]?
    var isDistinct = false
    /// Advice about the statement.
    var notes: [String] = []
    var variableCount = 0
    /// Ranges whose entries are counted instead of visited, and ranges to subtract.
    var countedRanges: (of: [KeyRange], without: [KeyRange])?
    /// Groups whose rows are counted instead of visited.
    var countedGroups: CountedGroups?

    var filter: FieldFilter? { requested.filter }
    var condition: Predicate? { requested.residualPredicate }

    /// Whether the run always visits all rows.
    var visitsAllRows: Bool {
        limit == nil || !isOrdered && presortedTerms == 0 || grouping != nil
    }

    /// Whether documents may be visited in any order.
    var allowsAnyOrder: Bool {
        guard visitsAllRows else { return false }
        return grouping != nil || !isOrdered || order.isEmpty && offset == 0
    }

    /// Creates a copy whose first source may get another access path.
    init(_ plan: SelectPlan) {
        var sources = plan.sources
        sources[0] = SourcePlan(sources[0])
        self.sources = sources
        types = plan.types
        joins = plan.joins
        requested = plan.requested
        grouping = plan.grouping
        order = plan.order
        isOrdered = plan.isOrdered
        presortedTerms = plan.presortedTerms
        limit = plan.limit
        offset = plan.offset
        countedRanges = plan.countedRanges
        countedGroups = plan.countedGroups
        projection = plan.projection
        columnNames = plan.columnNames
        isDistinct = plan.isDistinct
        notes = plan.notes
        variableCount = plan.variableCount
    }

    init(sources: [SourcePlan], joins: [JoinPlan], projection: Projection) {
        columnNames = projection.columnNames
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
    /// The residual conditions, indexed by the number of joins before each; empty if they are all
    /// evaluated on complete rows.
    var stages: [Predicate?] = []
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
    var path: AccessPath
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

    init(_ source: SourcePlan) {
        name = source.name
        alias = source.alias
        virtualName = source.virtualName
        collection = source.collection
        types = source.types
        path = source.path
        past = source.past
    }
}

/// The plan of GROUP BY, the aggregates and HAVING.
struct GroupPlan {
    let keys: [Evaluator]
    /// The path of each key that is a visible field or a part of the id of the first source.
    let keyPaths: [ColumnPath?]
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

    /// Returns the ranges that COUNT(*) can count without visiting entries, or nil.
    func rangesToCount(_ path: AccessPath) -> (of: [KeyRange], without: [KeyRange])? {
        guard let grouping, grouping.keys.isEmpty, joins.isEmpty, filter == nil, condition == nil,
            path.isExact,
            grouping.columns.allSatisfy({ $0.operand == nil && $0.kind == .count }),
            let collection = sources[0].collection, !collection.hasPendingChanges
        else { return nil }
        switch path.access {
        case .nothing: return ([], [])
        case .index(let scan): return (scan.ranges, [])
        case .documents(let ranges, _):
            let tombstones = ranges.compactMap { collection.tombstones(in: $0) }
            return tombstones.count == ranges.count ? (ranges, tombstones) : nil
        default: return nil
        }
    }

    /// Number of leading rows needed, including those that OFFSET skips; nil if there is no limit.
    var sortedRowLimit: Int? {
        limit.map { QueryLimits.sum($0, offset) }
    }
}
