/// Aggregate functions, with SQLite operands adapted to Sheaf's rules.
extension DualExpressionMaker {
    mutating func aggregate() -> DualExpression {
        let dual = plainAggregate()
        // MIN may return 1 or 1.0, which differ in sums beyond the precision of floats.
        guard dual.kind == .number, dual.limits.isExact, chance(1, in: 3) else { return dual }
        return .arithmetic(pick(["+", "-", "*"]), dual, literal(for: Schema.field("a")))
    }

    private mutating func plainAggregate() -> DualExpression {
        var limits = DualExpression.Limits(isInteger: true, bound: 0x1p20, fractionBits: 0)
        switch below(6) {
        case 0:
            return DualExpression(
                sheaf: "COUNT(*)", value: "count(*)", kind: .number, limits: limits)
        case 1:
            let operand = operand()
            let isDistinct = chance(1, in: 3)
            // COUNT ignores false.
            let value = operand.kind == .boolean ? "nullif(\(operand.value), 0)" : operand.value
            return DualExpression(
                sheaf: "COUNT(\(isDistinct ? "DISTINCT " : "")\(operand.sheaf))",
                value: "count(\(isDistinct ? "DISTINCT " : "")\(value))", kind: .number,
                limits: limits)
        case 2, 3:
            // Inexact sums depend on their order, and SQLite fails on overflow.
            var operand = operand().taken(as: .number)
            while !operand.limits.isExact { operand = self.operand().taken(as: .number) }
            let name = pick(["SUM", "AVG"])
            let distinct = chance(1, in: 4) ? "DISTINCT " : ""
            let value = "\(name)(\(distinct)\(operand.value))"
            limits = operand.limits
            limits.bound *= name == "SUM" && limits.isExact ? 1_000 : .infinity
            return DualExpression(
                sheaf: "\(name)(\(distinct)\(operand.sheaf))", value: value,
                missing: "(\(value) IS NULL)", kind: .number, limits: limits)
        default:
            let operand = operand()
            let name = pick(["MIN", "MAX"])
            let value = "\(name)(\(operand.value))"
            return DualExpression(
                sheaf: "\(name)(\(operand.sheaf))", value: value, missing: "(\(value) IS NULL)",
                kind: operand.kind, limits: operand.limits)
        }
    }

    private mutating func operand() -> DualExpression {
        chance(3, in: 4) ? field(pick(Schema.all)) : value(1)
    }
}
