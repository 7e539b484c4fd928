/// An encoder of `Encodable` types as values, without intermediate text.
public struct ValueEncoder: Sendable {
    /// Whether nil fields of the outermost type are encoded as null instead of omitted.
    private let keepsNil: Bool
    private let coding: ValueCoding

    /// Creates an encoder of dates, decimals and durations in the forms of a coding.
    public init(coding: ValueCoding = ValueCoding()) {
        self.coding = coding
        keepsNil = false
    }

    package init(keepsNil: Bool) {
        coding = ValueCoding()
        self.keepsNil = keepsNil
    }

    /// Encodes an instance as a value; throws an `EncodingError` with the path of the field.
    public func encode<T: Encodable>(_ source: T) throws -> Value {
        switch Encoding.leaf(of: source) {
        case .value(let value)?: return value
        case .scalar(let scalar)?: return try scalar.value(coding, nil)
        case nil: return try node(of: source).takeValue(nil, coding)
        }
    }

    /// Encodes an instance whose dates, decimals and durations await a coding.
    package func encodeForAnyCoding<T: Encodable>(_ source: T) throws -> UncodedValue {
        switch Encoding.leaf(of: source) {
        case .value(let value)?: return .value(value)
        case .scalar(let scalar)?: return UncodedValue(scalar)
        case nil:
            let node = try node(of: source)
            guard node.hasScalars else { return .value(try node.takeValue(nil, coding)) }
            return try node.uncoded(nil)
        }
    }

    private func node<T: Encodable>(of source: T) throws -> EncodingNode {
        let node = EncodingNode()
        var encoding = Encoding(node, nil)
        encoding.keepsNil = keepsNil
        try encoding.encode(source)
        return node
    }
}

/// A value whose dates, decimals and durations await a coding.
package struct UncodedValue: Sendable {
    indirect enum Contents: Sendable {
        case leaf(EncodedLeaf)
        case array([Contents])
        case object([(name: String, contents: Contents)])
    }

    let contents: Contents

    init(_ contents: Contents) {
        self.contents = contents
    }

    init(_ scalar: CodedScalar) {
        contents = .leaf(.scalar(scalar))
    }

    static func value(_ value: Value) -> UncodedValue { UncodedValue(.leaf(.value(value))) }

    /// The value, if it is the same in all codings.
    package var fixedValue: Value? {
        if case .leaf(.value(let value)) = contents { value } else { nil }
    }

    /// Returns the value in a coding; throws an `EncodingError` if there is none.
    package func value(_ coding: ValueCoding) throws -> Value {
        try Self.value(contents, coding, nil)
    }

    private static func value(
        _ contents: Contents, _ coding: ValueCoding, _ path: CodingPath?
    ) throws -> Value {
        switch contents {
        case .leaf(let leaf): return try leaf.value(coding, path)
        case .array(let elements):
            return .array(
                try elements.enumerated().map { index, element in
                    try value(element, coding, CodingPath(path, index: index))
                })
        case .object(let fields):
            return .object(
                Object(
                    try fields.map { name, contents in
                        (name, try value(contents, coding, CodingPath(path, PathKey(name))))
                    }))
        }
    }
}

/// A part of an encoded value without parts of its own.
enum EncodedLeaf: Sendable {
    case value(Value)
    case scalar(CodedScalar)

    func value(_ coding: ValueCoding, _ path: @autoclosure () -> CodingPath?) throws -> Value {
        switch self {
        case .value(let value): value
        case .scalar(let scalar): try scalar.value(coding, path())
        }
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
    func nested(
        _ known: EncodingNode?, _ add: (EncodingNode) -> Void, _ path: @autoclosure () -> CodingPath
    ) -> Encoding {
        guard depth < Value.maximumDepth else {
            parent.refuse()
            return self
        }
        // The path of an element has its index, so it is computed before the child is added.
        let path = path()
        if let known { return Encoding(known, in: self, path) }
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
    func encodeNil() { parent.set(.value(.null)) }
    func encode(_ source: Bool) { parent.set(.value(.bool(source))) }
    func encode(_ source: String) { parent.set(.value(.string(source))) }
    func encode(_ source: Double) { parent.set(.value(.float(source))) }
    func encode(_ source: Float) { parent.set(.value(.float(Double(source)))) }
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
        parent.set(.value(.integer(integer)))
    }

    func encode<T: Encodable>(_ source: T) throws {
        if let leaf = Self.leaf(of: source) { return parent.set(leaf) }
        try encode(parts: source)
    }

    /// Encodes an instance whose type has no direct value.
    func encode<T: Encodable>(parts source: T) throws {
        guard typeCount < Self.maximumTypeCount else { throw EncodingError.tooDeep(path) }
        var inner = self
        inner.typeCount += 1
        try source.encode(to: inner)
    }

    /// Returns the encoding of an instance whose type needs no encoder; nil for other types.
    static func leaf<T: Encodable>(of source: T) -> EncodedLeaf? {
        if let value = value(of: source) { return .value(value) }
        return CodedScalar(source).map { .scalar($0) }
    }

    private static func value<T: Encodable>(of source: T) -> Value? {
        // The types are compared, since an empty array of any type casts to an array of bytes.
        if T.self == String.self, let text = source as? String { return .string(text) }
        if T.self == Int.self, let integer = source as? Int { return .integer(Int64(integer)) }
        if T.self == Double.self, let float = source as? Double { return .float(float) }
        if T.self == Bool.self, let bool = source as? Bool { return .bool(bool) }
        if T.self == Value.self { return source as? Value }
        if T.self == [UInt8].self, let bytes = source as? [UInt8] { return .bytes(bytes) }
        if let value = FoundationTypes.value(of: source) { return value }
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
    static func tooDeep(_ path: CodingPath?) -> EncodingError {
        .invalidValue(
            (),
            EncodingError.Context(
                codingPath: CodingPath.keys(path),
                debugDescription: "arrays and objects are nested deeper than "
                    + "\(Value.maximumDepth), or types are nested endlessly"))
    }
}
