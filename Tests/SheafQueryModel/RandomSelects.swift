import SheafDocument
import SheafQuery
import SheafTestSupport

/// A generator of random SELECT statements.
struct RandomSelects {
    /// An index that statements may target.
    package struct Index {
        let name: String
        let collection: String
        let fields: [(path: [String], isDescending: Bool)]
    }

    var expressions: RandomExpressions
    var indexes: [Index] = []

    static let collections = ["t", "u"]

    init(seed: UInt64) {
        expressions = RandomExpressions(seed: seed)
    }

    mutating func name(_ text: String) -> Name { Name(text, at: RandomExpressions.nowhere) }

    // MARK: Statements

    mutating func select() -> Select {
        expressions.arguments = [:]
        let collection = expressions.pick(["t", "t", "t", "u"])
        var select = Select(columns: [], source: source(collection))
        let hasJoin = expressions.chance(1, in: 8)
        expressions.sources = [(select.source.alias ?? select.source.name).text]
        if !hasJoin, expressions.chance(1, in: 10) {
            turnToPoint(&select)
            return select
        }
        if hasJoin { addJoins(to: &select) }
        // Conditions are rarer with joins, because few joined rows would satisfy them.
        if hasJoin ? expressions.coin() : expressions.chance(4, in: 5) {
            select.condition = expressions.condition(3)
        }
        if expressions.chance(1, in: 5) {
            addGroups(to: &select)
        } else {
            select.columns = columns()
            select.isDistinct = expressions.chance(1, in: 8)
        }
        if hasJoin, expressions.chance(1, in: 3) { narrow(&select) }
        select.ordering = ordering(select)
        let near = indexes.filter { $0.collection == collection }
        if !near.isEmpty, !hasJoin, select.groups.isEmpty, !select.isDistinct,
            !Self.isGrouped(select), expressions.chance(1, in: 2)
        {
            turn(&select, to: expressions.pick(near))
        }
        return select
    }

    /// Rewrites a SELECT to use the first fields of an index, and its order or nearly its order.
    private mutating func turn(_ select: inout Select, to index: Index) {
        let source = select.source
        select.source = Source(
            source.name, alias: source.alias, ids: source.ids,
            directives: [["#index": .string(index.name)]])
        var conditions: [Expression] = []
        for field in index.fields.prefix(expressions.below(3)) {
            let path = expressions.field(field.path)
            let known = (0...expressions.below(3)).map { _ in
                expressions.literal(expressions.valueBeside(path))
            }
            let list = Expression(.array(known), at: RandomExpressions.nowhere)
            let isRange = expressions.chance(1, in: 3)
            conditions.append(
                Expression(
                    isRange
                        ? .comparison(
                            expressions.pick([.less, .greater, .notEqual]), path, known[0])
                        : .membership(path, of: list, isNegated: false),
                    at: RandomExpressions.nowhere))
        }
        if let condition = select.condition, expressions.chance(1, in: 3) {
            conditions.append(condition)
        }
        select.condition =
            conditions.count > 1
            ? Expression(.and(conditions), at: RandomExpressions.nowhere) : conditions.first
        let isReversed = expressions.coin()
        let terms = index.fields.dropFirst(expressions.below(4) / 3).map { field in
            OrderTerm(
                expressions.field(field.path),
                isDescending: (field.isDescending != isReversed)
                    != expressions.chance(1, in: 6))
        }
        let before = select.ordering
        // Without aliases, an ORDER BY term cannot be mistaken for a column.
        select.columns = select.columns.filter {
            if case .expression(_, _?) = $0 { false } else { true }
        }
        if select.columns.isEmpty {
            select.columns = [.expression(expressions.field(["_id"]), alias: nil)]
        }
        select.ordering = Ordering(
            terms: terms, limit: before.limit, offset: before.offset)
    }

    private mutating func source(_ collection: String) -> Source {
        let hasAlias = expressions.chance(1, in: 5)
        var ids: IDSelection?
        if expressions.chance(1, in: 15) {
            let values = expressions.list(1...4) { $0.values.id() }
            ids =
                expressions.coin()
                ? .expression(expressions.literal(.array(values)))
                : .list(values.map { expressions.literal($0) })
        }
        return Source(
            name(collection), alias: hasAlias ? name(expressions.pick(["q", "r"])) : nil, ids: ids,
            directives: directives())
    }

    private mutating func directives() -> [Object] {
        guard expressions.chance(1, in: 3) else { return [] }
        return [
            expressions.pick([
                ["#intersects": true], ["#disable_index_scan": true], ["#prefer_order": true],
                ["#max_scans": 2], ["#index": "i0"], ["#index": "i1"], ["#index": "i2"],
                ["#index": "i3"], ["#index": "i0", "#intersects": true],
            ])
        ]
    }

    private mutating func columns() -> [ResultColumn] {
        switch expressions.below(6) {
        case 0, 1: return [.all(qualifier: nil, at: RandomExpressions.nowhere)]
        case 2:
            let all = ResultColumn.all(
                qualifier: name(expressions.pick(expressions.sources)),
                at: RandomExpressions.nowhere)
            return [all]
                + ["a", "n"].prefix(expressions.below(3)).map {
                    .expression(expressions.expression(2), alias: name($0))
                }
        case 3:
            return withoutAliases()
        default:
            let aliases = ["a", "b", "n", "m"].shuffled(using: &expressions.values.random)
            return (0...expressions.below(3)).map { index in
                .expression(
                    expressions.coin() ? expressions.path() : expressions.expression(2),
                    alias: name(aliases[index]))
            }
        }
    }

    /// Returns columns without aliases, rarely with equal names.
    private mutating func withoutAliases() -> [ResultColumn] {
        var columns: [ResultColumn] = []
        var names: Set<String> = []
        for _ in 0...expressions.below(3) {
            let path = expressions.chance(1, in: 12) ? bareSource() : expressions.path()
            guard case .path(let steps) = path.node,
                names.insert(steps.last ?? "").inserted || expressions.chance(1, in: 12)
            else { continue }
            columns.append(.expression(path, alias: nil))
        }
        return columns
    }

    /// Returns the bare name of a source, which denotes its document.
    private mutating func bareSource() -> Expression {
        Expression(.path([expressions.pick(expressions.sources)]), at: RandomExpressions.nowhere)
    }

    // MARK: Groups

    private mutating func addGroups(to select: inout Select) {
        select.groups = expressions.list(0...2) {
            $0.chance(2, in: 3) ? $0.path() : $0.expression(1)
        }
        // A literal key cannot be repeated as a column.
        let isBound = expressions.writing != .either
        select.groups.removeAll {
            switch $0.node {
            case .literal: true
            // A parameter would become a literal if values were written as literals.
            case .parameter: isBound
            default: false
            }
        }
        let keys = select.groups
        var columns: [ResultColumn] = []
        for (index, key) in keys.enumerated() where expressions.chance(3, in: 4) {
            columns.append(.expression(key, alias: name("k\(index)")))
        }
        for index in 0...expressions.below(3) {
            columns.append(.expression(aggregate(), alias: name("n\(index)")))
        }
        select.columns = columns
        if expressions.chance(1, in: 4) { nameGroups(&select) }
        if expressions.chance(1, in: 3) {
            let subject =
                expressions.chance(1, in: 3)
                ? Expression(.path(["n0"]), at: RandomExpressions.nowhere) : aggregate()
            let one = Expression(
                .comparison(
                    expressions.pick([.less, .greater, .equal, .notEqual]), subject,
                    expressions.literal(expressions.values.number())),
                at: RandomExpressions.nowhere)
            select.having = one
            if let key = keys.first, expressions.coin() {
                let test = Expression(
                    .test(expressions.pick([.null, .missing]), key, isNegated: true),
                    at: RandomExpressions.nowhere)
                select.having = Expression(
                    expressions.coin() ? .and([one, test]) : .or([one, test]),
                    at: RandomExpressions.nowhere)
            }
        }
        select.isDistinct = expressions.chance(1, in: 12)
    }

    /// Replaces GROUP BY keys by the aliases of columns.
    private mutating func nameGroups(_ select: inout Select) {
        for index in select.groups.indices where expressions.coin() {
            let alias = "k\(index)"
            let hasColumn = select.columns.contains {
                if case .expression(_, let name?) = $0 { name.text == alias } else { false }
            }
            guard hasColumn else { continue }
            select.groups[index] = Expression(.path([alias]), at: RandomExpressions.nowhere)
        }
    }

    private mutating func aggregate() -> Expression {
        let kind = expressions.pick(AggregateKind.allCases)
        if kind == .count, expressions.coin() {
            return Expression(.call(Call("count", [], isStar: true)), at: RandomExpressions.nowhere)
        }
        let operand = expressions.chance(3, in: 4) ? expressions.path() : expressions.expression(1)
        let canBeDistinct = kind != .min && kind != .max
        return Expression(
            .call(
                Call(
                    kind.rawValue, [operand],
                    isDistinct: canBeDistinct && expressions.chance(1, in: 4))),
            at: RandomExpressions.nowhere)
    }

    // MARK: Order

    mutating func ordering(_ select: Select, hasBounds: Bool = true) -> Ordering {
        var terms: [OrderTerm] = []
        if expressions.coin() {
            for _ in 0...expressions.below(3) {
                guard let term = orderTerm(select) else { continue }
                terms.append(OrderTerm(term, isDescending: expressions.coin()))
            }
        }
        guard hasBounds else { return Ordering(terms: terms) }
        var limit: Expression?
        var offset: Expression?
        if expressions.chance(1, in: 3) {
            limit = expressions.literal(expressions.pick([0, 1, 2, 5, 10, 1_000, .integer(.max)]))
        }
        if expressions.chance(1, in: 6) {
            offset = expressions.literal(expressions.pick([0, 1, 2, 5, 100, .integer(.max)]))
        }
        return Ordering(terms: terms, limit: limit, offset: offset)
    }

    private mutating func orderTerm(_ select: Select) -> Expression? {
        var columns: [Expression] = []
        for case .expression(let expression, let alias) in select.columns {
            columns.append(expression)
            if let alias {
                columns.append(Expression(.path([alias.text]), at: RandomExpressions.nowhere))
            }
        }
        if !select.columns.isEmpty, expressions.chance(1, in: 6) {
            // The column number is mostly valid, and sometimes one too large.
            let number = expressions.below(select.columns.count + expressions.below(6) / 5) + 1
            return Expression(
                .literal(.integer(Int64(number))), at: RandomExpressions.nowhere)
        }
        let term: Expression?
        if select.groups.isEmpty, !select.isDistinct, !Self.isGrouped(select) {
            if let column = columns.last, expressions.chance(1, in: 4) {
                term = column
            } else {
                term = expressions.chance(3, in: 4) ? expressions.path() : expressions.expression(1)
            }
        } else {
            // Grouped and distinct rows can be sorted by their columns only.
            term = columns.isEmpty ? nil : expressions.pick(columns)
        }
        // Constants are refused: a literal would be a column number, but a parameter would not.
        guard let term, NaiveSelect.readsRows(term) else { return nil }
        return term
    }

    private static func isGrouped(_ select: Select) -> Bool {
        select.having != nil
            || select.columns.contains {
                guard case .expression(let expression, _) = $0,
                    case .call(let call) = expression.node
                else { return false }
                return AggregateKind(rawValue: call.name) != nil
            }
    }
}
