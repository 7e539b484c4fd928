package import SheafDocument

extension QueryRun {
    /// Returns the values of the lower bounds of fields that contain `clock()` in `original`.
    ///
    /// The statement of the run is `original` with a fixed time in place of `clock()`. The result
    /// is nil if `clock()` occurs elsewhere in its condition, or if a bound is not a text or a
    /// number. If all else is equal, higher bounds select fewer documents.
    package func lowerBounds(
        dependingOnClockIn original: Statement
    ) throws(StoreError) -> [Value]? {
        guard case .select(let before) = original.body, case .select(let after) = statement.body,
            let condition = before.condition, let fixed = after.condition
        else { return nil }
        let (terms, fixedTerms) = (condition.conjuncts, fixed.conjuncts)
        guard terms.count == fixedTerms.count else { return nil }
        let compiler = environment.compiler()
        var bounds: [Value] = []
        for (term, fixed) in zip(terms, fixedTerms) where try term.readsClock {
            guard let bound = try fixed.lowerBound,
                case .constant(let value?) = try compiler.compile(bound),
                value.kind == .string || value.kind == .number
            else { return nil }
            bounds.append(value)
        }
        return bounds
    }
}

extension Expression {
    /// Whether `clock()` occurs in the expression.
    fileprivate var readsClock: Bool {
        get throws(StoreError) {
            if case .call(let call) = node, call.name == "clock" { return true }
            var reads = false
            try forEachChild { (child) throws(StoreError) in
                if try child.readsClock { reads = true }
            }
            return reads
        }
    }

    /// The other side of a comparison that is true for higher values of a field.
    ///
    /// It is nil for other expressions, and if the other side reads a field, too.
    fileprivate var lowerBound: Expression? {
        get throws(StoreError) {
            guard case .comparison(let operation, let left, let right) = node else { return nil }
            let (field, bound): (Expression, Expression)
            switch operation {
            case .greater, .greaterOrEqual: (field, bound) = (left, right)
            case .less, .lessOrEqual: (field, bound) = (right, left)
            default: return nil
            }
            guard case .path = field.node else { return nil }
            var readsField = false
            try bound.forEachPath { (_, _) throws(StoreError) in readsField = true }
            return readsField ? nil : bound
        }
    }
}
