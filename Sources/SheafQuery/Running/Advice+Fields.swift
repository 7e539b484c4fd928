import SheafBytes
import SheafDocument

/// The fields of an index that would help, by what they help with.
struct AdvisedFields {
    /// Those of which the statement names the values, in any order.
    var points: [[String]] = []
    /// One range of values, or an order.
    var tail: [IndexDescription.Field] = []
    var isOrder = false
    /// What else the statement reads, so that it needs no documents.
    var covered: [[String]] = []

    var all: [IndexDescription.Field] {
        points.map { IndexDescription.Field($0, isDescending: false) } + tail
            + covered.map { IndexDescription.Field($0, isDescending: false) }
    }

    /// Whether an index does all that this one would do.
    func isServed(by fields: [IndexDescription.Field]) -> Bool {
        let first = fields.prefix(points.count).map(\.path)
        guard first.count == points.count, points.allSatisfy(first.hasSpelling) else {
            return false
        }
        let next = fields.dropFirst(points.count).prefix(tail.count)
        guard next.count == tail.count, zip(next, tail).allSatisfy({ $0.path.isSpelled($1.path) })
        else { return false }
        // Backwards all directions are the opposite ones.
        let turns = zip(next, tail).map { $0.isDescending != $1.isDescending }
        guard turns.allSatisfy({ $0 == turns[0] }) else { return false }
        return covered.allSatisfy { path in fields.contains { $0.path.isSpelled(path) } }
    }

    /// What it is good for.
    var reason: String {
        func names(_ paths: [[String]]) -> String {
            paths.map { path in
                var printer = Printer()
                printer.write(path: path)
                return printer.text
            }.joined(separator: ", ")
        }
        var parts: [String] = []
        if !points.isEmpty { parts.append("finds documents by \(names(points))") }
        if !tail.isEmpty {
            let fields = names(tail.map(\.path))
            parts.append(isOrder ? "has the order of \(fields)" : "finds a range of \(fields)")
        }
        if !covered.isEmpty { parts.append("has all that the statement reads") }
        return parts.joined(separator: ", ")
    }
}

/// Finds the fields that an index should have.
extension AdvisedFields {
    /// So many fields has an index that is to have all that a statement reads.
    private static let maximumCovered = 6

    /// The fields for a conjunction; none where the ids say already which documents those are.
    init?(_ fields: FieldSets, _ wishes: IndexWishes) {
        if let ids = fields.set(of: [Row.idName]), ids.isPoints { return nil }
        let useful = fields.sets.filter { $0.path != [Row.idName] && !$0.path.isEmpty }
        let equal = useful.filter { $0.set.isPoints && $0.set.ranges.count == 1 }.map(\.path)
        let lists = useful.filter { $0.set.isPoints && $0.set.ranges.count > 1 }.map(\.path)
        let ranges = useful.filter { Self.isRange($0.set) }.map(\.path)
        var order = wishes.order.filter { !equal.hasSpelling($0.path) }
        // Entries with equal values are in the order of their ids, and no two documents share one.
        if let id = order.firstIndex(where: { $0.path == [Row.idName] }) {
            order.removeSubrange(id...)
        }
        let isIndexable = order.allSatisfy { $0.path.first != Row.idName }
        points = equal
        let stopsEarly = wishes.hasLimit || !equal.isEmpty && ranges.isEmpty
        if let first = order.first, isIndexable, lists.isEmpty,
            stopsEarly || ranges.hasSpelling(first.path)
        {
            (tail, isOrder) = (order, true)
        } else {
            points += lists
            tail = ranges.prefix(1).map { IndexDescription.Field($0, isDescending: false) }
        }
        cover(wishes)
    }

    /// Adds what the statement reads besides, where that spares it all documents.
    private mutating func cover(_ wishes: IndexWishes) {
        guard let grouped = wishes.grouped else { return }
        let known = all.map(\.path)
        let rest = grouped.filter { !known.hasSpelling($0) }
        if known.count + rest.count <= Self.maximumCovered { covered = rest }
    }

    /// Whether values lie between two bounds, and not everywhere but in some places.
    private static func isRange(_ set: ComponentSet) -> Bool {
        guard !set.isPoints, set.ranges.count == 1, let range = set.ranges.first else {
            return false
        }
        return range.lower != ComponentRange.all.lower
    }
}
