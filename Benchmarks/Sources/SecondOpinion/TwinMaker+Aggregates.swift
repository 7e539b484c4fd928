/// Aggregates, which SQLite computes over what Sheaf takes into account.
extension TwinMaker {
    mutating func aggregate() -> Twin {
        let twin = plainAggregate()
        // The least of 1 and 1.0 may be either, which shows in sums that floats cannot hold.
        guard twin.kind == .number, twin.limits.isExact, chance(1, in: 3) else { return twin }
        return .arithmetic(pick(["+", "-", "*"]), twin, literal(for: Schema.field("a")))
    }

    private mutating func plainAggregate() -> Twin {
        var limits = Twin.Limits(isInteger: true, bound: 0x1p20, fractionBits: 0)
        switch below(6) {
        case 0: return Twin(sheaf: "COUNT(*)", value: "count(*)", kind: .number, limits: limits)
        case 1:
            let operand = operand()
            let isDistinct = chance(1, in: 3)
            // COUNT passes over false.
            let value = operand.kind == .boolean ? "nullif(\(operand.value), 0)" : operand.value
            return Twin(
                sheaf: "COUNT(\(isDistinct ? "DISTINCT " : "")\(operand.sheaf))",
                value: "count(\(isDistinct ? "DISTINCT " : "")\(value))", kind: .number,
                limits: limits)
        case 2, 3:
            // The sums of others depend on their order, and overflow is an error for SQLite.
            var operand = operand().taken(as: .number)
            while !operand.limits.isExact { operand = self.operand().taken(as: .number) }
            let name = pick(["SUM", "AVG"])
            let distinct = chance(1, in: 4) ? "DISTINCT " : ""
            let value = "\(name)(\(distinct)\(operand.value))"
            limits = operand.limits
            limits.bound *= name == "SUM" && limits.isExact ? 1_000 : .infinity
            return Twin(
                sheaf: "\(name)(\(distinct)\(operand.sheaf))", value: value,
                missing: "(\(value) IS NULL)", kind: .number, limits: limits)
        default:
            let operand = operand()
            let name = pick(["MIN", "MAX"])
            let value = "\(name)(\(operand.value))"
            return Twin(
                sheaf: "\(name)(\(operand.sheaf))", value: value, missing: "(\(value) IS NULL)",
                kind: operand.kind, limits: operand.limits)
        }
    }

    private mutating func operand() -> Twin {
        chance(3, in: 4) ? field(pick(Schema.all)) : value(1)
    }
}
