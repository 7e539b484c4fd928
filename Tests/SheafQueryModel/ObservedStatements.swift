import SheafDocument
import SheafQuery
import SheafTestSupport

/// A generator of observed statements and of concurrent writes.
struct ObservedStatements {
    private(set) var selects: RandomSelects
    private var writes: RandomWrites

    /// Field names that first occur while statements are observed.
    private static let lateNames = (0..<12).map { "late\($0)" }

    init(seed: UInt64) {
        selects = RandomSelects(seed: seed)
        writes = RandomWrites(seed: seed &+ 1)
    }

    // MARK: Reading

    /// Returns a SELECT, which may use one of `indexes`, and its arguments.
    mutating func select(
        indexes: [RandomSelects.Index]
    ) -> (select: Select, arguments: [String: Value]) {
        selects.indexes = indexes
        let select = selects.expressions.chance(1, in: 3) ? selects.select() : plainSelect()
        return (select, selects.expressions.arguments)
    }

    /// Returns a SELECT of one collection that an incremental view can maintain.
    private mutating func plainSelect() -> Select {
        selects.expressions.arguments = [:]
        let name = selects.expressions.pick(["t", "t", "t", "u"])
        selects.expressions.sources = [name]
        var select = Select(
            columns: [], source: Source(Name(name, at: RandomExpressions.nowhere)))
        var terms = (0...selects.expressions.below(5) / 3).map { _ in term() }
        if selects.expressions.chance(1, in: 6) { terms.append(selects.expressions.condition(1)) }
        if selects.expressions.chance(5, in: 6) {
            select.condition =
                terms.count > 1
                ? Expression(.and(terms), at: RandomExpressions.nowhere) : terms[0]
        }
        select.columns = [.all(qualifier: nil, at: RandomExpressions.nowhere)]
        if selects.expressions.chance(1, in: 3) {
            select.columns = (0...selects.expressions.below(3)).map { _ in
                .expression(path(), alias: nil)
            }
        }
        var limit: Expression?
        if selects.expressions.chance(1, in: 3) {
            limit = selects.expressions.literal(
                selects.expressions.pick([0, 1, 2, 3, 5, 10, 1_000]))
        }
        var order: [OrderTerm] = []
        if selects.expressions.chance(2, in: 3) {
            for _ in 0...selects.expressions.below(4) / 2 {
                order.append(OrderTerm(path(), isDescending: selects.expressions.coin()))
            }
        }
        select.ordering = Ordering(terms: order, limit: limit)
        return select
    }

    private mutating func path() -> Expression {
        if selects.expressions.chance(1, in: 4) {
            return selects.expressions.field([selects.expressions.pick(Self.lateNames)])
        }
        return selects.expressions.field(
            selects.expressions.pick([["a"], ["a"], ["b"], ["s"], ["c"], ["_id"], ["o", "x"]]))
    }

    /// Returns a condition on a field, in most cases one that an observer index supports.
    private mutating func term() -> Expression {
        let path = path()
        let value = selects.expressions.literal(valueBeside(path))
        let operation: ComparisonOperator = selects.expressions.pick([
            .equal, .equal, .equal, .less, .greaterOrEqual, .notEqual,
        ])
        return Expression(
            selects.expressions.coin()
                ? .comparison(operation, path, value) : .comparison(operation, value, path),
            at: RandomExpressions.nowhere)
    }

    private mutating func valueBeside(_ path: Expression) -> Value {
        if case .path(let names) = path.node, names.last?.hasPrefix("late") == true {
            return selects.expressions.pick([0, 1, 2, "a"])
        }
        return selects.expressions.valueBeside(path)
    }

    // MARK: Writing

    /// Returns a statement that writes, and its arguments.
    mutating func write(isLong: Bool) -> (body: Statement.Body, arguments: [String: Value]) {
        guard selects.expressions.chance(1, in: 2) else {
            let body = writes.body(isLong: isLong)
            return (body, writes.selects.expressions.arguments)
        }
        selects.expressions.arguments = [:]
        let name = selects.expressions.pick(["t", "t", "u"])
        selects.expressions.sources = [name]
        let source = Source(Name(name, at: RandomExpressions.nowhere))
        let update = Update(
            source, [assignment()],
            condition: selects.expressions.chance(3, in: 4) ? term() : nil, returning: [])
        return (.update(update), selects.expressions.arguments)
    }

    private mutating func assignment() -> Assignment {
        let path = path()
        guard case .path(let names) = path.node, names.last != "_id" else {
            return .set(
                Path(["a"], at: RandomExpressions.nowhere), selects.expressions.field(["a"]))
        }
        let last = Array(names.suffix(names.contains("x") ? 2 : 1))
        switch selects.expressions.below(8) {
        // Assigns a field to itself, which must cause no delivery.
        case 0, 1: return .set(Path(last, at: RandomExpressions.nowhere), path)
        case 2: return .unset(Path(last, at: RandomExpressions.nowhere))
        default:
            return .set(
                Path(last, at: RandomExpressions.nowhere),
                selects.expressions.literal(valueBeside(path)))
        }
    }

    /// Returns an INSERT of some documents into `t` or `u`, and its arguments.
    mutating func insert(isLong: Bool) -> (body: Statement.Body, arguments: [String: Value]) {
        writes.selects.expressions.arguments = [:]
        let insert = writes.insert(isLong: isLong, count: 8)
        return (.insert(insert), writes.selects.expressions.arguments)
    }

    /// Returns a statement that creates or drops an index.
    mutating func index() -> Statement.Body { writes.index() }
}
