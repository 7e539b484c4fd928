package import SheafBytes

/// The visible content of a field with its type, which the value alone does not show.
package struct VisibleField {
    package let part: Part
    /// The value; an object without fields for a map.
    package let value: Value
    /// The visible fields of a map, sorted by the UTF-8 bytes of their names.
    package let fields: [(name: String, field: VisibleField)]

    /// Whether value and type are the same; 1 differs from 1.0, and a counter from a number.
    package func isIdentical(to other: VisibleField) -> Bool {
        guard part == other.part, value.isIdentical(to: other.value),
            fields.count == other.fields.count
        else { return false }
        return zip(fields, other.fields).allSatisfy { left, right in
            UTF8Order.compare(left.name, right.name) == 0
                && left.field.isIdentical(to: right.field)
        }
    }

    /// The value of the field, including those of the fields of a map.
    package var completeValue: Value {
        guard part == .map else { return value }
        return .object(
            Object(sorting: fields.map { Object.Field($0.name, $0.field.completeValue) }))
    }
}

extension EncodedDocument {
    /// Returns the visible fields of the document as a map; nil if it is a tombstone.
    package func visibleField(_ names: NameTable) throws(Malformed) -> VisibleField? {
        guard try exists(), let fields = try fields() else { return nil }
        return try fields.visibleField(names, depth: 1)
    }
}

extension EncodedObject {
    fileprivate func visibleField(
        _ names: NameTable, depth: Int
    ) throws(Malformed) -> VisibleField {
        var fields: [(name: String, field: VisibleField)] = []
        for index in 0..<count {
            guard let field = try entry(index).visibleField(names, depth: depth + 1) else {
                continue
            }
            fields.append((try name(index, names), field))
        }
        fields.sort { UTF8Order.compare($0.name, $1.name) < 0 }
        return VisibleField(part: .map, value: .object(Object()), fields: fields)
    }
}

extension EncodedEntry {
    fileprivate func visibleField(
        _ names: NameTable, depth: Int
    ) throws(Malformed) -> VisibleField? {
        guard let shown = try shown() else { return nil }
        let tag = try shown.tag()
        guard let part = tag.part else { return nil }
        guard tag == .map || tag == .bareMap else {
            guard let value = try value(names, depth: depth) else { return nil }
            return VisibleField(part: part, value: value, fields: [])
        }
        guard depth <= Value.maximumDepth else {
            throw .tooDeep(at: shown.start, limit: Value.maximumDepth)
        }
        return try shown.object().visibleField(names, depth: depth)
    }
}

extension Value {
    /// Whether two values have the same type and content: 1 differs from 1.0, and -0.0 from 0.0.
    package func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.integer(let left), .integer(let right)): return left == right
        case (.float(let left), .float(let right)): return left.bitPattern == right.bitPattern
        case (.string(let left), .string(let right)): return UTF8Order.compare(left, right) == 0
        case (.bytes(let left), .bytes(let right)): return left == right
        case (.array(let left), .array(let right)):
            return left.count == right.count
                && zip(left, right).allSatisfy { $0.isIdentical(to: $1) }
        case (.object(let left), .object(let right)):
            return left.count == right.count
                && zip(left, right).allSatisfy { left, right in
                    UTF8Order.compare(left.name, right.name) == 0
                        && left.value.isIdentical(to: right.value)
                }
        default: return false
        }
    }
}
