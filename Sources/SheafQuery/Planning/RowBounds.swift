package import SheafDocument

/// Bounds of the rows of a system collection that a statement can use.
///
/// A collection may ignore them, because the condition of the statement is evaluated on each row.
package struct RowBounds: Sendable {
    /// The commits of `system:history` and `system:log`.
    package var commits: ClosedRange<UInt64> = 0...UInt64.max
    /// Whether the rows must have descending commits.
    package var isDescending = false
    /// The only collection; nil for all.
    package var collection: String?
    /// The only document; nil for all.
    package var document: Value?

    package init() {}

    /// The system collections whose rows are in the order of their commits.
    static let orderedByCommit: Set<String> = ["history", "log"]

    mutating func add(_ comparison: ComparisonOperator, _ name: String, _ value: Value) {
        switch (name, value, comparison) {
        case ("collection", .string(let name), .equal): collection = name
        // An equal number may be spelled in another way.
        case ("document", _, .equal) where value.isFoundAlone: document = value
        case ("commit", .integer(let number), _): add(comparison, number)
        default: break
        }
    }

    private mutating func add(_ comparison: ComparisonOperator, _ number: Int64) {
        let bound = UInt64(clamping: number)
        var (lower, upper) = (commits.lowerBound, commits.upperBound)
        switch comparison {
        case .equal: (lower, upper) = (max(lower, bound), min(upper, bound))
        case .less: upper = min(upper, max(bound, 1) - 1)
        case .lessOrEqual: upper = min(upper, bound)
        case .greater: lower = max(lower, number < 0 ? 0 : bound + 1)
        case .greaterOrEqual: lower = max(lower, bound)
        default: return
        }
        // Contradicting bounds leave one commit, whose rows the condition refuses.
        commits = lower <= upper ? lower...upper : lower...lower
    }
}

/// The bounds of the rows of system collections.
extension SelectPlanner {
    /// Returns the access to the rows of a system collection.
    func virtualPath(_ wanted: [IndexDescription.Field]?) throws(StoreError) -> AccessPath {
        let name = environment.virtualName(select.source)
        var bounds = RowBounds()
        if let condition = environment.condition(of: select), select.joins.isEmpty {
            try add(condition, to: &bounds)
        }
        let isOrdered =
            RowBounds.orderedByCommit.contains(name) && wanted?.count == 1
            && wanted?[0].path == ["commit"]
        bounds.isDescending = isOrdered && wanted?[0].isDescending == true
        return AccessPath(
            access: .virtual(name, bounds), count: 0, isExact: false, isOrdered: isOrdered)
    }

    private func add(_ condition: Expression, to bounds: inout RowBounds) throws(StoreError) {
        switch condition.node {
        case .and(let terms):
            for term in terms { try add(term, to: &bounds) }
        case .comparison(let comparison, let left, let right):
            if let name = try field(left), let value = try constant(right) {
                bounds.add(comparison, name, value)
            } else if let name = try field(right), let value = try constant(left) {
                bounds.add(comparison.turned, name, value)
            }
        case .between(let value, let low, let high, isNegated: false):
            guard let name = try field(value) else { return }
            if let low = try constant(low) { bounds.add(.greaterOrEqual, name, low) }
            if let high = try constant(high) { bounds.add(.lessOrEqual, name, high) }
        default: return
        }
    }

    private func field(_ expression: Expression) throws(StoreError) -> String? {
        guard let path = try path(of: expression, in: 0), path.count == 1 else { return nil }
        return path[0]
    }

    private func constant(_ expression: Expression) throws(StoreError) -> Value? {
        guard case .constant(let value) = try compiler.compile(expression) else { return nil }
        return value
    }
}
