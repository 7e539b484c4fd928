/// A node of the value being encoded.
///
/// Containers may be filled in any order, so nodes are objects; values encoded in one step need
/// none.
final class EncodingNode {
    enum Kind {
        case nothing, leaf, array, object
    }

    enum Child {
        case leaf(EncodedLeaf)
        case parent(EncodingNode)
    }

    private(set) var kind = Kind.nothing
    private var isTooDeep = false
    private var leaf = EncodedLeaf.value(.null)
    /// Field names of an object; empty for an array.
    private var names: [String] = []
    private var children: [Child] = []

    var count: Int { children.count }

    /// Sets the node to a single value.
    func set(_ leaf: EncodedLeaf) {
        kind = .leaf
        self.leaf = leaf
    }

    /// Turns the node into an array or object; keeps its children if it already has this kind.
    func begin(_ kind: Kind) {
        guard self.kind != kind else { return }
        self.kind = kind
        names = []
        children = []
    }

    func add(_ child: Child) {
        children.append(child)
    }

    func add(_ child: Child, named name: String) {
        names.append(name)
        children.append(child)
    }

    /// Records that the nesting exceeds the maximum depth.
    func refuse() {
        isTooDeep = true
    }

    private func checkDepth(_ depth: Int, _ path: CodingPath?) throws {
        guard !isTooDeep, depth < Value.maximumDepth || kind == .leaf else {
            throw EncodingError.tooDeep(path)
        }
    }

    /// Returns the encoded value; a node without content is an empty object.
    func value(_ path: CodingPath?, _ coding: ValueCoding, depth: Int = 0) throws -> Value {
        try checkDepth(depth, path)
        switch kind {
        case .nothing: return .object(Object())
        case .leaf: return try leaf.value(coding, path)
        case .array:
            return .array(
                try children.enumerated().map { index, child in
                    try Self.value(of: child, CodingPath(path, index: index), coding, depth + 1)
                })
        case .object:
            var fields: [Object.Field] = []
            fields.reserveCapacity(children.count)
            for (name, child) in zip(names, children) {
                let value = try Self.value(
                    of: child, CodingPath(path, PathKey(name)), coding, depth + 1)
                fields.append(Object.Field(name, value))
            }
            return .object(Object(sorting: fields))
        }
    }

    private static func value(
        of child: Child, _ path: @autoclosure () -> CodingPath, _ coding: ValueCoding, _ depth: Int
    ) throws -> Value {
        switch child {
        case .leaf(let leaf): try leaf.value(coding, path())
        case .parent(let node): try node.value(path(), coding, depth: depth)
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
            return children.contains { child in
                switch child {
                case .leaf(.scalar): true
                case .leaf(.value): false
                case .parent(let node): node.hasScalars
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
        func contents(of child: Child, _ path: CodingPath) throws -> UncodedValue.Contents {
            switch child {
            case .leaf(let leaf): .leaf(leaf)
            case .parent(let node): try node.contents(path, depth: depth + 1)
            }
        }
        switch kind {
        case .nothing: return .object([])
        case .leaf: return .leaf(leaf)
        case .array:
            return .array(
                try children.enumerated().map { index, child in
                    try contents(of: child, CodingPath(path, index: index))
                })
        case .object:
            return .object(
                try zip(names, children).map { name, child in
                    (name, try contents(of: child, CodingPath(path, PathKey(name))))
                })
        }
    }
}
