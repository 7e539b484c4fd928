import SheafDocument
import SheafQuery

/// Statements about one document, which take the fast path.
extension RandomExpressions {
    /// Returns a comparison with `_id` on either side; sometimes the value is not a valid id.
    mutating func point() -> Expression {
        let id = field(["_id"])
        let value = literal(chance(1, in: 6) ? values.value() : values.id())
        return Expression(
            coin() ? .comparison(.equal, id, value) : .comparison(.equal, value, id),
            at: Self.nowhere)
    }
}

extension RandomSelects {
    /// Restricts a SELECT to one document of its source.
    mutating func turnToPoint(_ select: inout Select) {
        select.columns = [.all(qualifier: nil, at: RandomExpressions.nowhere)]
        select.condition = expressions.point()
    }
}

extension RandomWrites {
    mutating func pointBody() -> Statement.Body {
        let source = source()
        guard selects.expressions.chance(2, in: 3) else {
            return .delete(
                Delete(
                    from: source, isEviction: selects.expressions.chance(1, in: 3),
                    condition: selects.expressions.point(), ordering: Ordering(),
                    returning: returning()))
        }
        var assignments: [Assignment] = []
        for _ in 0...selects.expressions.below(2) {
            let value = selects.expressions.literal(selects.expressions.values.value(isLong: true))
            assignments.append(.set(path(), value))
        }
        if selects.expressions.chance(1, in: 4) {
            let number: Value =
                selects.expressions.chance(1, in: 8)
                ? selects.expressions.values.text()
                : .integer(Int64(selects.expressions.below(5)))
            assignments.append(
                .increment(
                    Path(["n"], at: RandomExpressions.nowhere),
                    by: selects.expressions.literal(number)))
        }
        if selects.expressions.chance(1, in: 4) { assignments.append(.unset(path())) }
        if selects.expressions.chance(1, in: 4) {
            assignments.append(.set(path(), selects.expressions.expression(1)))
        }
        return .update(
            Update(
                source, assignments, condition: selects.expressions.point(),
                returning: returning()))
    }
}
