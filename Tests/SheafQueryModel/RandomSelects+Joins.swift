import SheafDocument
import SheafQuery

/// Joins of random SELECT statements.
extension RandomSelects {
    mutating func addJoins(to select: inout Select) {
        for number in 0...expressions.below(4) / 3 {
            let alias = "j\(number)"
            let collection = expressions.pick(Self.collections)
            let before = expressions.sources
            // A join on ids uses batched lookups, unlike other joins.
            let isByID = expressions.chance(1, in: 3)
            let inner =
                isByID
                ? ["_id"]
                : expressions.pick([
                    ["_id"], ["a"], ["s"], ["b"], ["o", "x"], ["_id", "k"],
                ])
            let source = Source(
                name(collection), alias: name(alias),
                index: expressions.coin() ? name("") : nil)
            let outerPath = expressions.pick(
                isByID ? [["_id"], ["a"], ["b"]] : [["_id"], ["a"], ["s"], ["b"], ["d"]])
            let outer = expressions.field(outerPath, of: expressions.pick(before))
            let qualified = Expression(.path([alias] + inner), at: RandomExpressions.nowhere)
            var condition = Expression(
                expressions.coin()
                    ? .comparison(.equal, qualified, Self.qualified(outer, before[0]))
                    : .comparison(.equal, Self.qualified(outer, before[0]), qualified),
                at: RandomExpressions.nowhere)
            expressions.sources = before + [alias]
            var terms = [condition]
            if expressions.chance(1, in: 4) { terms.append(equality(of: alias, before)) }
            if expressions.chance(1, in: 3) { terms.append(expressions.condition(1)) }
            if terms.count > 1 {
                condition = Expression(.and(terms), at: RandomExpressions.nowhere)
            }
            select.joins.append(
                JoinClause(expressions.pick([.inner, .left, .right]), source, on: condition))
        }
    }

    /// Returns the comparison of a field of a joined source with a preceding row or a constant.
    private mutating func equality(of alias: String, _ before: [String]) -> Expression {
        let inner = Expression(
            .path([alias] + expressions.pick([["a"], ["b"], ["s"], ["c"]])),
            at: RandomExpressions.nowhere)
        let outer =
            expressions.coin()
            ? Expression(
                .path([before[0]] + expressions.pick([["a"], ["b"], ["s"]])),
                at: RandomExpressions.nowhere)
            : expressions.literal(expressions.pick([1, 2, "a", true]))
        return Expression(.comparison(.equal, inner, outer), at: RandomExpressions.nowhere)
    }

    /// Makes the result of a join depend on the existence of matches, or on few of their fields.
    mutating func narrow(_ select: inout Select) {
        guard let join = select.joins.last, let alias = join.source.alias?.text else { return }
        let first = (select.source.alias ?? select.source.name).text
        func path(_ names: [String]) -> Expression {
            Expression(.path(names), at: RandomExpressions.nowhere)
        }
        if join.kind == .left, expressions.coin() {
            let names = expressions.pick([[], ["_id"], ["a"], ["b"], ["s"], ["_id", "k"]])
            let test = Expression(
                .test(.missing, path([alias] + names), isNegated: false),
                at: RandomExpressions.nowhere)
            let before = select.condition
            select.condition =
                before.map { Expression(.and([$0, test]), at: RandomExpressions.nowhere) } ?? test
            return
        }
        let hasOuter = expressions.coin()
        let source = hasOuter ? first : alias
        let fields = expressions.pick([
            [["a"]], [["_id"], ["a"]], [["b"], ["s"]], [["a"], ["b"]],
        ])
        select.groups = []
        select.having = nil
        select.columns = fields.enumerated().map { number, names in
            .expression(path([source] + names), alias: name("n\(number)"))
        }
        if expressions.coin() { select.condition = nil }
        select.isDistinct = hasOuter
        guard hasOuter, expressions.chance(1, in: 4) else { return }
        select.isDistinct = false
        select.groups = [path([source] + fields[0])]
        select.columns = [select.columns[0]]
        for (number, kind) in ["min", "max"].enumerated() {
            let call = Call(kind, [path([source, "b"])])
            select.columns.append(
                .expression(
                    Expression(.call(call), at: RandomExpressions.nowhere),
                    alias: name("m\(number)")))
        }
    }

    private static func qualified(_ path: Expression, _ source: String) -> Expression {
        guard case .path(let names) = path.node, names[0] != source, names[0] != "j0" else {
            return path
        }
        return Expression(.path([source] + names), at: RandomExpressions.nowhere)
    }
}
