import SheafDocument
import SheafQuery
import SheafTestSupport

/// A generator of random statements that write or create and drop indexes.
struct RandomWrites {
    var selects: RandomSelects

    private static let paths = [
        ["a"], ["b"], ["s"], ["l"], ["o"], ["o", "x"], ["o", "z", "w"], ["d"], ["c"],
        ["n"],
    ]

    init(seed: UInt64) {
        selects = RandomSelects(seed: seed)
    }

    mutating func body(isLong: Bool) -> Statement.Body {
        selects.expressions.arguments = [:]
        if selects.expressions.chance(1, in: 4) { return pointBody() }
        switch selects.expressions.below(8) {
        case 0, 1, 2: return .insert(insert(isLong: isLong))
        case 3: return .delete(delete())
        default: return .update(update())
        }
    }

    // MARK: Documents

    mutating func insert(isLong: Bool, count: Int = 4) -> Insert {
        let documents = (0...selects.expressions.below(count)).map { _ in
            var object = selects.expressions.values.object(isLong: isLong)
            object["_id"] = selects.expressions.values.id()
            return selects.expressions.literal(.object(object))
        }
        let isInitial = selects.expressions.chance(1, in: 8)
        return Insert(
            into: source(), .expressions(documents), isInitial: isInitial,
            onConflict: isInitial
                ? .doNothing
                : selects.expressions.pick([.fail, .doNothing, .merge, .merge, .mergeDifferences]),
            returning: isInitial ? [] : returning())
    }

    /// Returns an INSERT of twenty new documents.
    mutating func largeInsert(firstID: Int) -> Insert {
        selects.expressions.arguments = [:]
        let documents = (firstID..<firstID + 20).map { id in
            var object = selects.expressions.values.object(isLong: false)
            object["_id"] = .integer(Int64(id))
            return selects.expressions.literal(.object(object))
        }
        return Insert(
            into: Source(Name("t", at: RandomExpressions.nowhere)), .expressions(documents),
            isInitial: false, onConflict: .fail, returning: [])
    }

    private mutating func delete() -> Delete {
        let source = source()
        var select = Select(columns: [], source: source)
        select.condition = selects.expressions.condition(2)
        return Delete(
            from: source, isEviction: selects.expressions.chance(1, in: 3),
            condition: select.condition, ordering: selects.ordering(select),
            returning: returning())
    }

    private mutating func update() -> Update {
        let source = source()
        var assignments: [Assignment] = []
        if selects.expressions.chance(1, in: 4) {
            assignments.append(
                .increment(
                    Path(
                        selects.expressions.pick([["n"], ["n"], ["n"], ["o", "x"]]),
                        at: RandomExpressions.nowhere),
                    by: selects.expressions.literal(.integer(Int64(selects.expressions.below(5))))))
        }
        for _ in 0...selects.expressions.below(2) {
            let value =
                selects.expressions.coin()
                ? selects.expressions.literal(selects.expressions.values.value(isLong: true))
                : selects.expressions.expression(1)
            assignments.append(.set(path(), value))
        }
        if selects.expressions.chance(1, in: 4) { assignments.append(.unset(path())) }
        return Update(
            source, assignments, condition: selects.expressions.condition(2),
            returning: returning())
    }

    mutating func path() -> Path {
        Path(selects.expressions.pick(Self.paths), at: RandomExpressions.nowhere)
    }

    mutating func source() -> Source {
        let name = selects.expressions.pick(["t", "t", "u"])
        selects.expressions.sources = [name]
        return Source(Name(name, at: RandomExpressions.nowhere))
    }

    mutating func returning() -> [ResultColumn] {
        guard selects.expressions.chance(1, in: 3) else { return [] }
        if selects.expressions.coin() {
            return [.all(qualifier: nil, at: RandomExpressions.nowhere)]
        }
        return [.expression(selects.expressions.expression(1), alias: nil)]
    }

    // MARK: Indexes

    mutating func index() -> Statement.Body {
        let name = "i\(selects.expressions.below(4))"
        let collection = Name(
            selects.expressions.pick(["t", "t", "u"]), at: RandomExpressions.nowhere)
        guard selects.expressions.chance(5, in: 6) else {
            return .dropIndex(
                DropIndex(
                    Name(name, at: RandomExpressions.nowhere), on: collection, allowsMissing: true))
        }
        var paths: [[String]] = []
        for _ in 0...selects.expressions.below(3) {
            let path = selects.expressions.pick(
                [["a"], ["b"], ["s"], ["a"], ["b"]] + RandomValues.paths)
            if !paths.contains(path) { paths.append(path) }
        }
        return .createIndex(
            CreateIndex(
                Name(name, at: RandomExpressions.nowhere), on: collection,
                paths.map {
                    CreateIndex.Field(
                        Path($0, at: RandomExpressions.nowhere),
                        isDescending: selects.expressions.chance(1, in: 3))
                }, allowsExisting: true))
    }
}
