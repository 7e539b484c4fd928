import SheafBytes
import SheafDocument

/// The fields of a suggested index, grouped by purpose.
struct AdvisedFields {
    /// Fields compared for equality with constants, in any order.
    var points: [[String]] = []
    /// The fields of a range or of ORDER BY.
    var tail: [IndexDescription.Field] = []
    var isOrder = false
    /// The other fields that the statement reads, which make the index covering.
    var covered: [[String]] = []

    var all: [IndexDescription.Field] {
        points.map { IndexDescription.Field($0, isDescending: false) } + tail
            + covered.map { IndexDescription.Field($0, isDescending: false) }
    }

    /// Whether an index with these fields serves the same purposes.
    func isServed(by fields: [IndexDescription.Field]) -> Bool {
        let first = fields.prefix(points.count).map(\.path)
        guard first.count == points.count, points.allSatisfy(first.hasSpelling) else {
            return false
        }
        let next = fields.dropFirst(points.count).prefix(tail.count)
        guard next.count == tail.count, zip(next, tail).allSatisfy({ $0.path.isSpelled($1.path) })
        else { return false }
        // Scanned backward, an index has all directions reversed.
        let turns = zip(next, tail).map { $0.isDescending != $1.isDescending }
        guard turns.allSatisfy({ $0 == turns[0] }) else { return false }
        return covered.allSatisfy { path in fields.contains { $0.path.isSpelled(path) } }
    }

    /// The purpose of the index, as text.
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
        if !covered.isEmpty { parts.append("contains all fields that the statement reads") }
        return parts.joined(separator: ", ")
    }
}

/// Selection of the fields for an index.
extension AdvisedFields {
    /// Maximum number of fields of a suggested covering index.
    private static let maximumCovered = 6

    /// Creates the fields for a conjunction; nil if it is a lookup by ids.
    init?(_ fields: FieldSets, _ candidates: IndexCandidates) {
        if let ids = fields.set(of: [Row.idName]), ids.isPoints { return nil }
        let useful = fields.sets.filter { $0.path != [Row.idName] }
        let equal = useful.filter { $0.set.isPoints && $0.set.ranges.count == 1 }.map(\.path)
        let lists = useful.filter { $0.set.isPoints && $0.set.ranges.count > 1 }.map(\.path)
        let ranges = useful.filter { Self.isRange($0.set) }.map(\.path)
        var order = candidates.order.filter { !equal.hasSpelling($0.path) }
        // Ids are unique and break ties between index entries, so later terms have no effect.
        if let id = order.firstIndex(where: { $0.path == [Row.idName] }) {
            order.removeSubrange(id...)
        }
        let isIndexable = order.allSatisfy { $0.path.first != Row.idName }
        points = equal
        let stopsEarly = candidates.hasLimit || !equal.isEmpty && ranges.isEmpty
        if let first = order.first, isIndexable, lists.isEmpty,
            stopsEarly || ranges.hasSpelling(first.path)
        {
            (tail, isOrder) = (order, true)
        } else {
            points += lists
            tail = ranges.prefix(1).map { IndexDescription.Field($0, isDescending: false) }
        }
        cover(candidates)
    }

    /// Adds the other fields that the statement reads, if a covering index stays small.
    private mutating func cover(_ candidates: IndexCandidates) {
        guard let grouped = candidates.grouped else { return }
        let known = all.map(\.path)
        let rest = grouped.filter { !known.hasSpelling($0) }
        if known.count + rest.count <= Self.maximumCovered { covered = rest }
    }

    /// Whether a set of values is one range with a lower bound.
    private static func isRange(_ set: ComponentSet) -> Bool {
        guard !set.isPoints, set.ranges.count == 1, let range = set.ranges.first else {
            return false
        }
        return range.lower != ComponentRange.all.lower
    }
}
