import SheafDocument
import SheafQuery
import SheafStatements

/// The assignments that turn one document into another.
struct DocumentDifference {
    private var assignments: [(path: [String], value: Value)] = []
    private var removals: [[String]] = []

    /// Compares two documents; fields of objects are compared one by one if `isDeep`.
    init(from old: Object, to new: Object, isDeep: Bool) {
        compare(old, new, at: [], isDeep: isDeep)
    }

    private mutating func compare(
        _ old: Object, _ new: Object, at path: [String], isDeep: Bool
    ) {
        for field in new {
            let path = path + [field.name]
            guard let before = old[field.name] else {
                assignments.append((path, field.value))
                continue
            }
            if isDeep, case .object(let inner) = field.value, case .object(let outer) = before,
                !inner.isAttachmentToken, !outer.isAttachmentToken
            {
                compare(outer, inner, at: path, isDeep: true)
            } else if !before.isIdentical(to: field.value) {
                assignments.append((path, field.value))
            }
        }
        for field in old where new[field.name] == nil { removals.append(path + [field.name]) }
    }

    /// Returns the statement that changes a document; nil if nothing differs.
    func update(of collection: String, id: Value) -> DQL? {
        guard !assignments.isEmpty || !removals.isEmpty else { return nil }
        var text = DQL.StringInterpolation(literalCapacity: 64, interpolationCount: 8)
        text.appendLiteral("UPDATE ")
        text.appendInterpolation(identifier: collection)
        for (number, assignment) in assignments.enumerated() {
            text.appendLiteral(number == 0 ? " SET " : ", ")
            text.append(path: assignment.path)
            text.appendLiteral(" = ")
            text.appendInterpolation(assignment.value)
        }
        for (number, path) in removals.enumerated() {
            text.appendLiteral(number == 0 ? " UNSET " : ", ")
            text.append(path: path)
        }
        text.appendLiteral(" WHERE _id = ")
        text.appendInterpolation(id)
        return DQL(stringInterpolation: text)
    }
}

extension DQL.StringInterpolation {
    fileprivate mutating func append(path: [String]) {
        for (number, name) in path.enumerated() {
            if number > 0 { appendLiteral(".") }
            appendInterpolation(identifier: name)
        }
    }
}
