/// An encoder of `Encodable` types as values, without intermediate text.
public struct ValueEncoder: Sendable {
    /// Whether nil fields of the outermost type are encoded as null instead of omitted.
    private let keepsNil: Bool

    public init() {
        keepsNil = false
    }

    package init(keepsNil: Bool) {
        self.keepsNil = keepsNil
    }

    /// Encodes an instance as a value; throws an `EncodingError` with the path of the field.
    public func encode<T: Encodable>(_ source: T) throws -> Value {
        if let value = Encoding.value(of: source) { return value }
        let node = EncodingNode()
        var encoding = Encoding(node, nil)
        encoding.keepsNil = keepsNil
        try encoding.encode(source)
        return try node.value(nil)
    }
}

/// A node of the value being encoded.
///
/// Containers may be filled in any order, so nodes are objects; values encoded in one step need
/// none.
final class EncodingNode {
    enum Kind {
        case nothing, value, array, object
    }

    enum Child {
        case value(Value)
        case parent(EncodingNode)
    }

    private(set) var kind = Kind.nothing
    private var isTooDeep = false
    private var value = Value.null
    /// Field names of an object; empty for an array.
    private var names: [String] = []
    private var children: [Child] = []

    var count: Int { children.count }

    /// Sets the node to a single value.
    func set(_ value: Value) {
        kind = .value
        self.value = value
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

    /// Returns the encoded value; a node without content is an empty object.
    func value(_ path: CodingPath?, depth: Int = 0) throws -> Value {
        guard !isTooDeep, depth < Value.maximumDepth || kind == .value else {
            throw EncodingError.tooDeep(path)
        }
        switch kind {
        case .nothing: return .object(Object())
        case .value: return value
        case .array:
            return .array(
                try children.enumerated().map { index, child in
                    guard case .parent(let node) = child else { return Self.value(of: child) }
                    return try node.value(CodingPath(path, index: index), depth: depth + 1)
                })
        case .object:
            var fields: [Object.Field] = []
            fields.reserveCapacity(children.count)
            for (name, child) in zip(names, children) {
                guard case .parent(let node) = child else {
                    fields.append(Object.Field(name, Self.value(of: child)))
                    continue
                }
                let path = CodingPath(path, PathKey(name))
                fields.append(Object.Field(name, try node.value(path, depth: depth + 1)))
            }
            return .object(Object(sorting: fields))
        }
    }

    private static func value(of child: Child) -> Value {
        if case .value(let value) = child { value } else { .null }
    }
}

/// The encoder of one node.
struct Encoding: Encoder {
    let parent: EncodingNode
    let path: CodingPath?
    /// Number of enclosing arrays and objects.
    private let depth: Int
    /// Number of enclosing types being encoded.
    private var typeCount = 0
    /// Whether nil fields of this node are encoded as null instead of omitted.
    var keepsNil = false

    /// Maximum nesting of types: wrapper types and optionals add no arrays or objects.
    private static let maximumTypeCount = 3 * Value.maximumDepth

    init(_ node: EncodingNode, _ path: CodingPath?) {
        self.parent = node
        self.path = path
        depth = 0
    }

    private init(_ node: EncodingNode, in outer: Encoding, _ path: CodingPath?) {
        self.parent = node
        self.path = path
        depth = outer.depth + 1
        typeCount = outer.typeCount
    }

    /// Returns the encoder of a child node of this array or object.
    ///
    /// Beyond the maximum depth it returns this encoder again and discards content, so that
    /// infinite recursion ends with an error.
    func nested(_ add: (EncodingNode) -> Void, _ path: @autoclosure () -> CodingPath) -> Encoding {
        guard depth < Value.maximumDepth else {
            parent.refuse()
            return self
        }
        // The path of an element has its index, so it is computed before the child is added.
        let path = path()
        let inner = EncodingNode()
        add(inner)
        return Encoding(inner, in: self, path)
    }

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        parent.begin(.object)
        return KeyedEncodingContainer(KeyedEncoding(self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        parent.begin(.array)
        return UnkeyedEncoding(self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension Encoding: SingleValueEncodingContainer {
    func encodeNil() { parent.set(.null) }
    func encode(_ source: Bool) { parent.set(.bool(source)) }
    func encode(_ source: String) { parent.set(.string(source)) }
    func encode(_ source: Double) { parent.set(.float(source)) }
    func encode(_ source: Float) { parent.set(.float(Double(source))) }
    func encode(_ source: Int) throws { try encode(integer: source) }
    func encode(_ source: Int8) throws { try encode(integer: source) }
    func encode(_ source: Int16) throws { try encode(integer: source) }
    func encode(_ source: Int32) throws { try encode(integer: source) }
    func encode(_ source: Int64) throws { try encode(integer: source) }
    func encode(_ source: UInt) throws { try encode(integer: source) }
    func encode(_ source: UInt8) throws { try encode(integer: source) }
    func encode(_ source: UInt16) throws { try encode(integer: source) }
    func encode(_ source: UInt32) throws { try encode(integer: source) }
    func encode(_ source: UInt64) throws { try encode(integer: source) }

    private func encode(integer source: some FixedWidthInteger) throws {
        guard let integer = Int64(exactly: source) else {
            throw EncodingError.invalidValue(
                source,
                EncodingError.Context(
                    codingPath: codingPath,
                    debugDescription: "\(source) does not fit in a signed 64-bit integer"))
        }
        parent.set(.integer(integer))
    }

    func encode<T: Encodable>(_ source: T) throws {
        if let value = Self.value(of: source) { return parent.set(value) }
        try encode(parts: source)
    }

    /// Encodes an instance whose type has no direct value.
    func encode<T: Encodable>(parts source: T) throws {
        guard typeCount < Self.maximumTypeCount else { throw EncodingError.tooDeep(path) }
        var inner = self
        inner.typeCount += 1
        try source.encode(to: inner)
    }

    /// Returns the value of an instance whose type needs no encoder; nil for other types.
    static func value<T: Encodable>(of source: T) -> Value? {
        // The types are compared, since an empty array of any type casts to an array of bytes.
        if T.self == String.self, let text = source as? String { return .string(text) }
        if T.self == Int.self, let integer = source as? Int { return .integer(Int64(integer)) }
        if T.self == Double.self, let float = source as? Double { return .float(float) }
        if T.self == Bool.self, let bool = source as? Bool { return .bool(bool) }
        if T.self == Value.self { return source as? Value }
        if T.self == [UInt8].self, let bytes = source as? [UInt8] { return .bytes(bytes) }
        // Other collections of bytes would encode them one by one.
        guard let collection = source as? any MutableCollection else { return nil }
        return bytes(collection).map(Value.bytes)
    }

    private static func bytes<Elements: MutableCollection>(_ elements: Elements) -> [UInt8]? {
        guard Elements.Element.self == UInt8.self else { return nil }
        return elements.compactMap { $0 as? UInt8 }
    }
}

extension EncodingError {
    fileprivate static func tooDeep(_ path: CodingPath?) -> EncodingError {
        .invalidValue(
            (),
            EncodingError.Context(
                codingPath: CodingPath.keys(path),
                debugDescription: "arrays and objects are nested deeper than "
                    + "\(Value.maximumDepth), or types are nested endlessly"))
    }
}
