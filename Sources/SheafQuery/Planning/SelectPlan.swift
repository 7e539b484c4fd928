import SheafBytes
import SheafDocument

/// How a SELECT is run: everything that is decided before the first row.
final class SelectPlan {
    let sources: [SourcePlan]
    /// The types of the fields of each source.
    let types: [FieldTypes]
    let joins: [JoinPlan]
    var asked = AskedConditions()
    var grouping: GroupPlan?
    var order: [SortTerm] = []
    /// Whether the rows come in the order that is wanted.
    var isOrdered = true
    var limit: Int?
    var offset = 0
    var projection: Projection
    var isDistinct = false
    /// What people should know of the statement.
    var notes: [String] = []
    var variableCount = 0
    /// The ranges whose entries are counted instead of visited, and those that do not count.
    var countedRanges: (of: [KeyRange], without: [KeyRange])?

    var filter: FieldFilter? { asked.filter }
    var condition: Predicate? { asked.rest }

    /// Whether nobody has enough before the last row.
    var takesAllRows: Bool { limit == nil || !isOrdered || grouping != nil }

    /// Whether it makes no difference in which order documents come.
    var takesAnyOrder: Bool {
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

/// What is asked of rows.
struct AskedConditions {
    /// What is asked of the documents of the first source, in their bytes.
    var filter: FieldFilter?
    /// What is left of WHERE, for whole rows.
    var rest: Predicate?
    // What both ask, for EXPLAIN.
    var filterExpression: Expression?
    var restExpression: Expression?
}

/// A SELECT and its plan, and what the operators have done where that was measured.
struct PlannedSelect {
    let select: Select
    let plan: SelectPlan
    let tallies: PlanTallies?
}

/// A source, and the way to its documents.
///
/// It is an object, as joins look at it with each row.
final class SourcePlan {
    let name: String
    let alias: String
    let collection: CollectionDescription?
    let types: FieldTypes
    let path: AccessPath

    init(
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

/// How the rows of a source are found that belong to the rows before it.
final class JoinPlan {
    enum Lookup {
        /// The ids that an expression over the rows before gives.
        case id(Evaluator, Expression)
        /// The entries of an index that begin with a value.
        case index(IndexDescription, Evaluator, Expression)
        /// All documents, for each row before.
        case scan
    }

    let kind: Join.Kind
    let source: Int
    let lookup: Lookup
    let condition: Predicate
    /// What is left of the condition for rows that were found by their ids.
    let rest: Predicate?
    let expression: Expression

    init(
        kind: Join.Kind, source: Int, lookup: Lookup, condition: @escaping Predicate,
        rest: Predicate?, expression: Expression
    ) {
        self.kind = kind
        self.source = source
        self.lookup = lookup
        self.condition = condition
        self.rest = rest
        self.expression = expression
    }
}

struct GroupPlan {
    let keys: [Evaluator]
    let columns: [GroupScope.Column]
    let having: Predicate?
    let expressions: [Expression]
    let havingExpression: Expression?
}

/// What rows are sorted by.
struct SortTerm {
    let evaluator: Evaluator
    let isDescending: Bool
    let expression: Expression
    /// The field of the first source that it is, if it shows what it holds.
    let field: FieldPath?
}

/// What becomes of a row in the result.
enum Projection {
    /// The whole document of the only source.
    case document
    /// The rows of all sources, each below its name.
    case rows([String])
    case columns([ProjectedColumn])
}

/// A column of a result.
enum ProjectedColumn {
    case value(name: String, Evaluator)
    /// All fields of the row of a source.
    case all(source: Int)
}
