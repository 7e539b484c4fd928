import SheafBytes
package import SheafDocument

/// A document that differs between two stores.
package struct DocumentDifference {
    /// The kind of a difference.
    package enum Kind {
        /// The document exists in the left store only.
        case onlyLeft
        /// The document exists in the right store only.
        case onlyRight
        /// The document exists in both, and these fields differ.
        case fields([FieldDifference])
    }

    package let collection: String
    package let id: Value
    package let kind: Kind
}

/// A field with another value or another type on each side; nil where it is missing.
package struct FieldDifference {
    /// The content of the field on one side.
    package struct Side {
        package let part: Part
        package let value: Value
    }

    package let path: [String]
    package let left: Side?
    package let right: Side?

    /// Returns the differences of two documents, by path.
    static func all(_ left: VisibleField, _ right: VisibleField) -> [FieldDifference] {
        var found: [FieldDifference] = []
        compare(left, right, [], &found)
        return found
    }

    private static func compare(
        _ left: VisibleField?, _ right: VisibleField?, _ path: [String],
        _ found: inout [FieldDifference]
    ) {
        guard let left, let right, left.part == right.part, left.part == .map else {
            if let left, let right, left.isIdentical(to: right) { return }
            if left == nil, right == nil { return }
            if case (.object(let leftValue), .object(let rightValue), .register)? = Self.objects(
                left, right)
            {
                return compare(leftValue, rightValue, path, &found)
            }
            found.append(FieldDifference(path: path, left: Side(left), right: Side(right)))
            return
        }
        merge(left.fields.map { ($0.name, $0.field) }, right.fields.map { ($0.name, $0.field) }) {
            compare($1, $2, path + [$0], &found)
        }
    }

    /// Returns the values of two fields that both have the same type; nil otherwise.
    private static func objects(
        _ left: VisibleField?, _ right: VisibleField?
    ) -> (Value, Value, Part)? {
        guard let left, let right, left.part == right.part else { return nil }
        return (left.value, right.value, left.part)
    }

    /// Compares the fields of two objects that are registers.
    private static func compare(
        _ left: Object, _ right: Object, _ path: [String], _ found: inout [FieldDifference]
    ) {
        merge(left.map { ($0.name, $0.value) }, right.map { ($0.name, $0.value) }) {
            name, left, right in
            if let left, let right, left.isIdentical(to: right) { return }
            if case (.object(let left)?, .object(let right)?) = (left, right) {
                return compare(left, right, path + [name], &found)
            }
            found.append(
                FieldDifference(
                    path: path + [name], left: left.map { Side(part: .register, value: $0) },
                    right: right.map { Side(part: .register, value: $0) }))
        }
    }

    /// Calls `body` with each name of two sorted lists, and what each list has for it.
    private static func merge<Element>(
        _ left: [(String, Element)], _ right: [(String, Element)],
        _ body: (String, Element?, Element?) -> Void
    ) {
        var (first, second) = (left[...], right[...])
        while let next = first.first ?? second.first {
            let order: Int
            if let one = first.first, let other = second.first {
                order = UTF8Order.compare(one.0, other.0)
            } else {
                order = first.isEmpty ? 1 : -1
            }
            let name = order > 0 ? second[second.startIndex].0 : next.0
            body(
                name, order <= 0 ? first.removeFirst().1 : nil,
                order >= 0 ? second.removeFirst().1 : nil)
        }
    }
}

extension FieldDifference.Side {
    fileprivate init?(_ field: VisibleField?) {
        guard let field else { return nil }
        self.init(part: field.part, value: field.completeValue)
    }
}
