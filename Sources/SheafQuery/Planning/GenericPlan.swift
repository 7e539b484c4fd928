import SheafBytes
import SheafDocument

/// A planned SELECT that later runs bind to other arguments.
///
/// Parameters occur only in WHERE, LIMIT, OFFSET and as operands of comparisons in ON. The terms of
/// WHERE that do not filter encoded documents are compiled once if they cannot fail, and all their
/// parameters are operands of comparisons or bounds of BETWEEN; otherwise in each run.
///
/// A later run binds its arguments: it computes the ranges of keys from them and keeps the rest of
/// the plan. The choice of the access path is kept as long as the path remains short; a long one is
/// worth planning.
final class GenericPlan {
    /// The plan of the first run.
    let plan: SelectPlan
    /// The keys that arguments select; nil if the planner must find them.
    private let keys: KeyTemplate?
    /// The planner of the access path; each run sets `count` to that of its own store.
    let planner: AccessPlanner
    let terms: [TermTemplate]
    /// The conditions that are evaluated; nil if those of the first run do not depend on arguments.
    let conditions: ConditionTemplate?
    let scope: Scope
    /// Parameters that compiled conditions read from each run.
    let lateParameters: [String]
    let limit: Operand?
    let offset: Operand?
    /// Whether LIMIT bounds the documents that are visited.
    let isLimited: Bool
    /// Whether the first two sources could be exchanged.
    let canSwapSources: Bool

    /// The longest path that is not planned anew, as a number of documents or index entries.
    private static let shortPath = 256

    init(
        _ plan: SelectPlan, _ planner: AccessPlanner, _ terms: [TermTemplate],
        _ conditions: ConditionTemplate?, _ scope: Scope, _ lateParameters: [String],
        limit: Operand?, offset: Operand?, isLimited: Bool, canSwapSources: Bool
    ) {
        self.plan = plan
        keys = plan.sources[0].collection.flatMap {
            KeyTemplate(plan.sources[0].path.access, $0, terms)
        }
        self.planner = planner
        self.terms = terms
        self.conditions = conditions
        self.scope = scope
        self.lateParameters = lateParameters
        self.limit = limit
        self.offset = offset
        self.isLimited = isLimited
        self.canSwapSources = canSwapSources
    }

    /// Returns the plan with other arguments, or nil if the statement must be planned.
    ///
    /// `spare` is a plan of an earlier run, which is used again.
    func plan(
        _ environment: PlanEnvironment, _ spare: SelectPlan?
    ) throws(StoreError) -> SelectPlan? {
        let arguments = environment.arguments
        guard lateParameters.allSatisfy({ arguments[$0] != nil }),
            let limit = Self.count(limit, arguments), let offset = Self.count(offset, arguments),
            let path = path(arguments, environment.store, limit, offset ?? 0)
        else { return nil }
        let bound = spare ?? SelectPlan(plan)
        bound.sources[0].path = path
        (bound.limit, bound.offset) = (limit, offset ?? 0)
        if let conditions {
            guard let filters = conditions.filters(arguments, environment.store.names) else {
                return nil
            }
            bound.requested.filter =
                filters.count > 1 ? .all(filters) : filters.first
            if spare == nil || conditions.stages == nil {
                try setPredicates(of: bound, conditions, environment)
            }
        }
        guard !canSwapSources || !bound.isWorthSwapping else { return nil }
        bound.countedRanges = bound.rangesToCount(path)
        return bound
    }

    /// Sets the predicates of a plan, and compiles them unless they read arguments from the run.
    private func setPredicates(
        of bound: SelectPlan, _ conditions: ConditionTemplate, _ environment: PlanEnvironment
    ) throws(StoreError) {
        var stages = conditions.stages ?? []
        if conditions.stages == nil {
            let compiler = ExpressionCompiler(
                scope, names: environment.store.names, arguments: environment.arguments,
                context: environment.context)
            stages = try compiler.stages(of: conditions.rest, joinCount: plan.joins.count)
            // Variables of the expressions that are not compiled again keep their numbers.
            bound.variableCount = max(bound.variableCount, compiler.scope.variableCount)
        }
        if plan.joins.isEmpty {
            bound.requested.residualPredicate = stages[0]
        } else {
            bound.requested.stages = stages
        }
    }

    /// Returns the path of the first source; nil if it must be planned.
    private func path(
        _ arguments: ArgumentValues, _ store: any QueryStore, _ limit: Int?, _ offset: Int
    ) -> AccessPath? {
        var path = plan.sources[0].path
        let longest = max(Self.shortPath, path.count)
        if let keys {
            guard let access = keys.access(arguments) else { return nil }
            (path.access, path.count) = (access, access.count(store.count(in:)))
            return path.count <= longest ? path : nil
        }
        var conditions: [Condition] = []
        conditions.reserveCapacity(terms.count)
        for term in terms {
            guard let condition = term.condition(arguments) else { return nil }
            conditions.append(condition)
        }
        var planner = planner
        planner.count = store.count(in:)
        if isLimited { planner.limit = limit.map { QueryLimits.sum($0, offset) } }
        guard let found = planner.path(like: path.access, conditions),
            found.isExact == path.isExact, found.isOrdered == path.isOrdered,
            found.presortedTerms == path.presortedTerms,
            found.count <= longest
        else { return nil }
        return found
    }

    /// Returns the value of LIMIT or OFFSET: `.some(nil)` if absent, nil if it is invalid.
    private static func count(_ operand: Operand?, _ arguments: ArgumentValues) -> Int?? {
        guard let operand else { return .some(nil) }
        guard case .integer(let count)? = operand.value(arguments), count >= 0 else { return nil }
        return .some(Int(count))
    }
}

/// A term of WHERE whose operands may be parameters.
enum TermTemplate {
    case fixed(Condition)
    case comparison([String], ComparisonOperator, Operand)
    /// `path IN (…)`.
    case membership([String], [Operand])
    /// A term that has restricted the keys of the first run because of its arguments; a later run
    /// cannot restrict keys by it.
    case other

    /// Returns the condition on keys; nil if these arguments require a new plan.
    func condition(_ arguments: ArgumentValues) -> Condition? {
        switch self {
        case .fixed(let condition): return condition
        case .comparison(let path, let operation, let operand):
            guard let value = operand.value(arguments), value != .null else { return nil }
            return ConditionReader.comparison(path, operation, value)
        case .membership(let path, let operands):
            var points: [ComponentRange] = []
            for operand in operands {
                guard let value = operand.value(arguments), value != .null else { return nil }
                points.append(.only(value))
            }
            return .field(path, ComponentSet(points))
        case .other: return .anything
        }
    }
}

/// The terms of WHERE to evaluate on documents and rows, whose operands may be parameters.
struct ConditionTemplate {
    /// The filter on encoded documents, in parts.
    let filters: [FilterTemplate]
    /// The other terms.
    let rest: [Expression]
    /// The predicates of the other terms, by the number of joins before each; nil if they must be
    /// compiled for each run.
    let stages: [Predicate?]?

    /// Returns the parts of the filter; nil if these arguments require a new plan.
    func filters(_ arguments: ArgumentValues, _ names: NameTable) -> [FieldFilter]? {
        var parts: [FieldFilter] = []
        parts.reserveCapacity(filters.count)
        for filter in filters {
            guard let part = filter.filter(arguments, names) else { return nil }
            parts.append(part)
        }
        return parts
    }
}

/// A part of a filter whose operands may be parameters.
enum FilterTemplate {
    case fixed(FieldFilter)
    case comparison(FieldPath, ComparisonOperator, Operand)

    /// Returns the filter; nil if these arguments require a new plan.
    func filter(_ arguments: ArgumentValues, _ names: NameTable) -> FieldFilter? {
        switch self {
        case .fixed(let filter): return filter
        case .comparison(let path, let operation, let operand):
            guard let value = operand.value(arguments), value != .null else { return nil }
            return .compare(path, operation.outcomes, value, names)
        }
    }
}
