/// A node of the value being encoded.
///
/// Containers may be filled in any order, so nodes are objects; values encoded in one step need
/// none.
final class EncodingNode {
    enum Kind {
        case nothing, leaf, array, object
    }

    private(set) var kind = Kind.nothing
    private var isTooDeep = false
    private var leaf = EncodedLeaf.value(.null)
    /// The elements of an array; null where a part of its own, or a scalar, belongs.
    private var elements: [Value] = []
    /// The fields of an object, unsorted; null where a part of its own, or a scalar, belongs.
    private var fields: [Object.Field] = []
    /// The parts that fill the gaps, by ascending index.
    private var parts: [(index: Int, part: Part)] = []

    private enum Part {
        case scalar(CodedScalar)
        case node(EncodingNode)
    }

    /// Number of elements or fields.
    var count: Int { kind == .object ? fields.count : elements.count }

    /// Sets the node to a single value.
    func set(_ leaf: EncodedLeaf) {
        kind = .leaf
        self.leaf = leaf
    }

    /// Turns the node into an array or object; keeps its children if it already has this kind.
    func begin(_ kind: Kind) {
        guard self.kind != kind else { return }
        self.kind = kind
        (elements, fields, parts) = ([], [], [])
        if kind == .object { fields.reserveCapacity(8) }
    }

    func add(_ value: Value) {
        elements.append(value)
    }

    func add(_ value: Value, named name: String) {
        fields.append(Object.Field(name, value))
    }

    func add(_ leaf: EncodedLeaf) {
        switch leaf {
        case .value(let value): add(value)
        case .scalar(let scalar): add(Part.scalar(scalar))
        }
    }

    func add(_ leaf: EncodedLeaf, named name: String) {
        switch leaf {
        case .value(let value): add(value, named: name)
        case .scalar(let scalar): add(Part.scalar(scalar), named: name)
        }
    }

    /// The part of its own that a field has; nil if it has none.
    func node(named name: String) -> EncodingNode? {
        // Names are equal if their bytes are, as in objects.
        for (index, part) in parts where UTF8Order.compare(fields[index].name, name) == 0 {
            if case .node(let node) = part { return node }
        }
        return nil
    }

    func add(_ node: EncodingNode) { add(Part.node(node)) }

    func add(_ node: EncodingNode, named name: String) { add(Part.node(node), named: name) }

    private func add(_ part: Part) {
        parts.append((elements.count, part))
        elements.append(.null)
    }

    private func add(_ part: Part, named name: String) {
        parts.append((fields.count, part))
        fields.append(Object.Field(name, .null))
    }

    /// Records that the nesting exceeds the maximum depth.
    func refuse() {
        isTooDeep = true
    }

    // MARK: The value

    /// Returns the encoded value, once; a node without content is an empty object.
    func takeValue(_ path: CodingPath?, _ coding: ValueCoding, depth: Int = 0) throws -> Value {
        try checkDepth(depth, path)
        switch kind {
        case .nothing: return .object(Object())
        case .leaf: return try leaf.value(coding, path)
        case .array:
            var elements = take(&elements)
            for (index, part) in parts {
                elements[index] = try Self.value(
                    of: part, CodingPath(path, index: index), coding, depth)
            }
            return .array(elements)
        case .object:
            var fields = take(&fields)
            for (index, part) in parts {
                fields[index].value = try Self.value(
                    of: part, CodingPath(path, PathKey(fields[index].name)), coding, depth)
            }
            return .object(Object(sorting: fields))
        }
    }

    private static func value(
        of part: Part, _ path: CodingPath, _ coding: ValueCoding, _ depth: Int
    ) throws -> Value {
        switch part {
        case .scalar(let scalar): try scalar.value(coding, path)
        case .node(let node): try node.takeValue(path, coding, depth: depth + 1)
        }
    }

    /// Returns an array and leaves an empty one, so that the caller can change it in place.
    private func take<Element>(_ array: inout [Element]) -> [Element] {
        var taken: [Element] = []
        swap(&taken, &array)
        return taken
    }

    private func checkDepth(_ depth: Int, _ path: CodingPath?) throws {
        guard !isTooDeep, depth < Value.maximumDepth || kind == .leaf else {
            throw EncodingError.tooDeep(path)
        }
    }

    // MARK: Values that await a coding

    /// Whether the value contains a date, a decimal or a duration.
    var hasScalars: Bool {
        switch kind {
        case .nothing: return false
        case .leaf:
            guard case .scalar = leaf else { return false }
            return true
        case .array, .object:
            return parts.contains { _, part in
                switch part {
                case .scalar: true
                case .node(let node): node.hasScalars
                }
            }
        }
    }

    /// Returns the encoded value, whose dates, decimals and durations await a coding.
    func uncoded(_ path: CodingPath?) throws -> UncodedValue {
        UncodedValue(try contents(path, depth: 0))
    }

    private func contents(_ path: CodingPath?, depth: Int) throws -> UncodedValue.Contents {
        try checkDepth(depth, path)
        switch kind {
        case .nothing: return .object([])
        case .leaf: return .leaf(leaf)
        case .array:
            var contents = elements.map { UncodedValue.Contents.leaf(.value($0)) }
            for (index, part) in parts {
                contents[index] = try Self.contents(
                    of: part, CodingPath(path, index: index), depth)
            }
            return .array(contents)
        case .object:
            var contents = fields.map {
                (name: $0.name, contents: UncodedValue.Contents.leaf(.value($0.value)))
            }
            for (index, part) in parts {
                contents[index].contents = try Self.contents(
                    of: part, CodingPath(path, PathKey(fields[index].name)), depth)
            }
            return .object(contents)
        }
    }

    private static func contents(
        of part: Part, _ path: CodingPath, _ depth: Int
    ) throws -> UncodedValue.Contents {
        switch part {
        case .scalar(let scalar): .leaf(.scalar(scalar))
        case .node(let node): try node.contents(path, depth: depth + 1)
        }
    }
}
