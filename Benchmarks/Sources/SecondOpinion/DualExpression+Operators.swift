/// Operators in both languages.
extension DualExpression {
    // MARK: Arithmetic

    /// Returns a sum, difference, product, quotient or remainder.
    ///
    /// The operands of `%` must be integers, because SQLite converts them.
    static func arithmetic(_ sign: Character, _ left: DualExpression, _ right: DualExpression)
        -> DualExpression
    {
        let strength: Strength = sign == "+" || sign == "-" ? .sum : .product
        // Operators of equal precedence associate to the left.
        let tighter = Strength(rawValue: strength.rawValue + 1) ?? .atom
        let sheaf = "\(left.operand(strength)) \(sign) \(right.operand(tighter))"
        let (left, right) = (left.taken(as: .number), right.taken(as: .number))
        let value = "(\(left.value) \(sign) \(right.value))"
        var missing = [left.missing, right.missing]
        if sign == "/" || sign == "%" {
            // Division by zero is missing only if both operands are numbers; null yields null.
            missing.append(
                "(\(left.value) IS NOT NULL AND \(right.value) IS NOT NULL AND \(right.value) = 0)")
        }
        let limits = Self.limits(sign, left.limits, right.limits)
        if !(limits.bound < 0x1p62) {
            missing.append(
                "(typeof(\(left.value)) = 'integer' AND typeof(\(right.value)) = 'integer' "
                    + "AND typeof(\(value)) = 'real')")
            missing.append("(\(value) IS NOT NULL AND \(value) IN (9e999, -9e999))")
            return DualExpression(
                sheaf: sheaf, strength: strength,
                value: "(CASE WHEN NOT \(SQL.or(missing)) THEN \(value) END)",
                missing: SQL.or(missing), kind: .number, limits: limits,
                isConstant: left.isConstant && right.isConstant)
        }
        return DualExpression(
            sheaf: sheaf, strength: strength, value: value, missing: SQL.or(missing),
            kind: .number, limits: limits, isConstant: left.isConstant && right.isConstant)
    }

    private static func limits(_ sign: Character, _ left: Limits, _ right: Limits) -> Limits {
        var limits = Limits(isInteger: left.isInteger && right.isInteger)
        switch sign {
        case "*":
            limits.bound = left.bound * right.bound
            limits.fractionBits = left.fractionBits + right.fractionBits
        case "+", "-":
            limits.bound = left.bound + right.bound
            limits.fractionBits = max(left.fractionBits, right.fractionBits)
        default:
            guard limits.isInteger else { return limits }
            limits.bound = left.bound
        }
        if limits.isInteger { limits.fractionBits = 0 }
        return limits
    }

    /// Returns the unary minus.
    static func negated(_ operand: DualExpression) -> DualExpression {
        let number = operand.taken(as: .number)
        // Two minus signs would start a comment.
        let isBare = operand.strength == .atom && !operand.sheaf.hasPrefix("-")
        var dual = arithmetic("-", zero, number)
        dual.sheaf = "-" + (isBare ? operand.sheaf : "(\(operand.sheaf))")
        dual.strength = .sign
        dual.isConstant = operand.isConstant
        return dual
    }

    /// The constant zero.
    static let zero = DualExpression(
        sheaf: "0", value: "0", kind: .number,
        limits: Limits(isInteger: true, bound: 0, fractionBits: 0), isConstant: true)

    // MARK: Comparisons

    /// Returns a comparison, which is missing if the operands have different types.
    static func comparison(_ operation: String, _ left: DualExpression, _ right: DualExpression)
        -> DualExpression
    {
        let sheaf = "\(left.operand(.concatenation)) \(operation) \(right.operand(.concatenation))"
        let sign = operation == "==" ? "=" : operation
        let value = "(\(left.value) \(sign) \(right.value))"
        var missing = [left.missing, right.missing]
        var dual = DualExpression(
            sheaf: sheaf, strength: .comparison, value: value, kind: .boolean,
            isConstant: left.isConstant && right.isConstant)
        let areKnown = "\(left.value) IS NOT NULL AND \(right.value) IS NOT NULL"
        if left.kind == right.kind, left.kind != .mixed {
            dual.missing = SQL.or(missing)
        } else if left.kind == .boolean || right.kind == .boolean
            || left.kind != .mixed && right.kind != .mixed
        {
            missing.append("(\(areKnown))")
            dual.value = SQL.null
            dual.missing = SQL.or(missing)
        } else {
            let isSame = "(typeof(\(left.value)) = 'text') = (typeof(\(right.value)) = 'text')"
            missing.append("(\(areKnown) AND NOT \(isSame))")
            dual.value = "(CASE WHEN \(isSame) THEN \(value) END)"
            dual.missing = SQL.or(missing)
        }
        return dual
    }

    /// Returns `subject BETWEEN low AND high`.
    static func between(
        _ subject: DualExpression, _ low: DualExpression, _ high: DualExpression, isNegated: Bool
    ) -> DualExpression {
        let word = isNegated ? "NOT BETWEEN" : "BETWEEN"
        let sheaf =
            "\(subject.operand(.concatenation)) \(word) \(low.operand(.concatenation)) "
            + "AND \(high.operand(.concatenation))"
        var dual: DualExpression
        if subject.kind != .mixed, subject.kind == low.kind, low.kind == high.kind {
            let value = "(\(subject.value) BETWEEN \(low.value) AND \(high.value))"
            dual = unknown(value, [subject, low, high])
        } else {
            dual = all([comparison(">=", subject, low), comparison("<=", subject, high)])
        }
        dual.sheaf = sheaf
        dual.strength = .comparison
        return isNegated ? dual.reversed : dual
    }

    /// Returns `subject IN (elements)`; elements of another type never match.
    static func membership(_ subject: DualExpression, _ elements: [DualExpression], isNegated: Bool)
        -> DualExpression
    {
        let list = elements.map(\.sheaf).joined(separator: ", ")
        let values = elements.map(\.value).joined(separator: ", ")
        var dual = unknown("(\(subject.value) IN (\(values)))", [subject] + elements)
        dual.sheaf =
            "\(subject.operand(.concatenation)) \(isNegated ? "NOT IN" : "IN") (\(list))"
        dual.strength = .comparison
        return isNegated ? dual.reversed : dual
    }

    // MARK: Logic

    /// Returns a condition that is missing if it is unknown and an operand is missing.
    private static func unknown(_ value: String, _ operands: [DualExpression]) -> DualExpression {
        let missing = SQL.or(operands.map(\.missing))
        return DualExpression(
            sheaf: "", value: value, missing: SQL.and([missing, "(\(value) IS NULL)"]),
            kind: .boolean, isConstant: operands.allSatisfy(\.isConstant))
    }

    /// The negation for SQLite only.
    private var reversed: DualExpression {
        var dual = self
        dual.value = "(NOT \(value))"
        return dual
    }

    /// Returns the conjunction of conditions.
    static func all(_ terms: [DualExpression]) -> DualExpression { junction("AND", .and, terms) }
    /// Returns the disjunction of conditions.
    static func any(_ terms: [DualExpression]) -> DualExpression { junction("OR", .or, terms) }

    private static func junction(_ word: String, _ strength: Strength, _ terms: [DualExpression])
        -> DualExpression
    {
        let tighter = Strength(rawValue: strength.rawValue + 1) ?? .atom
        let terms = terms.map { (twin: $0.taken(as: .boolean), text: $0.operand(tighter)) }
        let value = "(" + terms.map(\.twin.value).joined(separator: " \(word) ") + ")"
        var dual = unknown(value, terms.map(\.twin))
        dual.sheaf = terms.map(\.text).joined(separator: " \(word) ")
        dual.strength = strength
        return dual
    }

    /// Returns the negation of a condition.
    static func not(_ operand: DualExpression) -> DualExpression {
        var dual = operand.taken(as: .boolean).reversed
        dual.sheaf = "NOT \(operand.operand(.not))"
        dual.strength = .not
        return dual
    }

    /// Returns `operand IS [NOT] NULL`, MISSING, TRUE or FALSE.
    static func test(_ test: Test, _ operand: DualExpression, isNegated: Bool) -> DualExpression {
        let value =
            switch test {
            case .null: SQL.and(["(\(operand.value) IS NULL)", SQL.not(operand.missing)])
            case .missing: operand.missing
            case .yes: "(\(operand.taken(as: .boolean).value) IS 1)"
            case .no: "(\(operand.taken(as: .boolean).value) IS 0)"
            }
        return DualExpression(
            sheaf: "\(operand.operand(.pattern)) IS \(isNegated ? "NOT " : "")\(test.rawValue)",
            strength: .test, value: isNegated ? SQL.not(value) : value, kind: .boolean,
            isConstant: operand.isConstant)
    }

    /// Returns a searched CASE, or a simple CASE with a subject.
    static func conditional(
        subject: DualExpression?, _ branches: [(when: DualExpression, then: DualExpression)],
        otherwise: DualExpression?
    ) -> DualExpression {
        var texts: [String] = []
        var values: [String] = []
        var missing: [String] = []
        for branch in branches {
            let condition = subject.map { comparison("=", $0, branch.when) } ?? branch.when
            let isTrue = condition.taken(as: .boolean).value
            texts.append("WHEN \(branch.when.sheaf) THEN \(branch.then.sheaf)")
            values.append("WHEN \(isTrue) THEN \(branch.then.value)")
            missing.append("WHEN \(isTrue) THEN \(branch.then.missing)")
        }
        let results = branches.map(\.then) + (otherwise.map { [$0] } ?? [])
        let end = otherwise.map { " ELSE \($0.sheaf)" } ?? ""
        var dual = choice(results)
        dual.sheaf =
            "CASE " + (subject.map { $0.sheaf + " " } ?? "") + texts.joined(separator: " ")
            + "\(end) END"
        dual.value =
            "(CASE " + values.joined(separator: " ") + " ELSE \(otherwise?.value ?? SQL.null) END)"
        if results.contains(where: { $0.missing != SQL.no }) {
            dual.missing =
                "(CASE " + missing.joined(separator: " ")
                + " ELSE \(otherwise?.missing ?? SQL.no) END)"
        }
        return dual
    }

    /// Returns an expression with the kind and limits of a choice among `results`.
    ///
    /// The caller sets its texts.
    static func choice(_ results: [DualExpression]) -> DualExpression {
        var dual = results[0]
        (dual.strength, dual.missing, dual.isConstant) = (.atom, SQL.no, false)
        for result in results.dropFirst() {
            dual.limits = dual.limits.union(result.limits)
            if result.kind != dual.kind { dual.kind = .mixed }
        }
        return dual
    }
}
