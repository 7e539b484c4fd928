import SheafBytes
package import SheafDocument

/// The plan of a SELECT, complete before the first row.
package final class SelectPlan {
    let sources: [SourcePlan]
    /// Declared field types of each source.
    package let types: [FieldTypes]
    package let joins: [JoinPlan]
    var requested = RequestedConditions()
    var grouping: GroupPlan?
    var order: [SortTerm] = []
    /// Whether the sources produce the rows in the requested order.
    var isOrdered = true
    package var limit: Int?
    package var offset = 0
    var projection: Projection
    package var isDistinct = false
    /// Advice about the statement.
    package var notes: [String] = []
    var variableCount = 0
    /// Ranges whose entries are counted instead of visited, and ranges to subtract.
    var countedRanges: (of: [KeyRange], without: [KeyRange])?

    var filter: FieldFilter? { requested.filter }
    package var condition: Predicate? { requested.residualPredicate }

    /// Whether the run always visits all rows.
    var visitsAllRows: Bool { limit == nil || !isOrdered || grouping != nil }

    /// Whether the order of the documents does not affect the result.
    var allowsAnyOrder: Bool {
        guard limit == nil || !isOrdered || grouping != nil else { return false }
        return grouping != nil || !isOrdered || order.isEmpty && offset == 0
    }

    package init(sources: [SourcePlan], joins: [JoinPlan], projection: Projection) {
        self.sources = sources
        types = sources.map(\.types)
        self.joins = joins
        self.projection = projection
    }
}

/// The conditions of WHERE, split by the stage that evaluates them.
package struct RequestedConditions {
    /// The conditions on encoded documents of the first source.
    var filter: FieldFilter?
    /// The remaining conditions, evaluated on complete rows.
    var residualPredicate: Predicate?
    // The expressions of both, for EXPLAIN.
    var filterExpression: Expression?
    var residualExpression: Expression?
}

/// A SELECT with its plan, and the measured counters if it was profiled.
package struct PlannedSelect {
    package let select: Select
    let plan: SelectPlan
    let tallies: PlanTallies?
}

/// A source with its access path.
///
/// It is a class because joins access it for every row.
package final class SourcePlan {
    package let name: String
    package let alias: String
    package let collection: CollectionDescription?
    package let types: FieldTypes
    package let path: AccessPath

    package init(
        name: String, alias: String, collection: CollectionDescription?, types: FieldTypes,
        path: AccessPath
    ) {
        self.name = name
        self.alias = alias
        self.collection = collection
        self.types = types
        self.path = path
    }
}

/// The method of finding the rows of a joined source.
package final class JoinPlan {
    package enum Lookup {
        /// A lookup of the id that an expression over the preceding rows yields.
        case id(Evaluator, Expression)
        /// A scan of the index entries whose first field has the value of an expression.
        case index(IndexDescription, Evaluator, Expression)
        /// A scan of all documents for each preceding row.
        case scan
    }

    package let kind: JoinClause.Kind
    package let source: Int
    let lookup: Lookup
    package let condition: Predicate
    /// The rest of the condition for rows found by id.
    let residualPredicate: Predicate?
    package let expression: Expression

    package init(
        kind: JoinClause.Kind, source: Int, lookup: Lookup, condition: @escaping Predicate,
        rest: Predicate?, expression: Expression
    ) {
        self.kind = kind
        self.source = source
        self.lookup = lookup
        self.condition = condition
        self.residualPredicate = rest
        self.expression = expression
    }
}

package struct GroupPlan {
    let keys: [Evaluator]
    package let columns: [GroupScope.Column]
    package let having: Predicate?
    package let expressions: [Expression]
    let havingExpression: Expression?
}

/// A term of ORDER BY.
package struct SortTerm {
    let evaluator: Evaluator
    package let isDescending: Bool
    package let expression: Expression
    /// The field path if the term is a visible field of the first source.
    package let field: FieldPath?
}

/// The conversion of rows into results.
package enum Projection {
    /// The complete document of the only source.
    case document
    /// The rows of all sources, each under its name.
    case rows([String])
    case columns([ProjectedColumn])
}

/// A column of a result.
package enum ProjectedColumn {
    case value(name: String, Evaluator)
    /// All fields of a source.
    case all(source: Int)
}
