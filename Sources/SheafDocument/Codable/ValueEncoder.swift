/// Makes values from `Encodable` types, without a text in between.
public struct ValueEncoder: Sendable {
    /// Whether fields of the type itself that are nil become null; else they are left out.
    private let keepsNil: Bool

    public init() {
        keepsNil = false
    }

    package init(keepsNil: Bool) {
        self.keepsNil = keepsNil
    }

    /// Encodes a type as a value; errors are those of `EncodingError`, with the path in the type.
    public func encode<T: Encodable>(_ source: T) throws -> Value {
        if let value = Encoding.value(of: source) { return value }
        let place = EncodingPlace()
        var encoding = Encoding(place, nil)
        encoding.keepsNil = keepsNil
        try encoding.encode(source)
        return try place.value(nil)
    }
}

/// What has been encoded at one place so far.
///
/// Encoding goes in any order and into several places at once, so places are objects; what is
/// encoded at once and whole needs none.
final class EncodingPlace {
    enum Kind {
        case nothing, value, array, object
    }

    enum Child {
        case value(Value)
        case place(EncodingPlace)
    }

    private(set) var kind = Kind.nothing
    private var isTooDeep = false
    private var value = Value.null
    /// Of an object's fields; empty in an array.
    private var names: [String] = []
    private var children: [Child] = []

    var count: Int { children.count }

    /// Makes this place a value.
    func set(_ value: Value) {
        kind = .value
        self.value = value
    }

    /// Makes this place an array or object; one that it is already goes on.
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

    /// Notes that more was nested here than values can hold.
    func refuse() {
        isTooDeep = true
    }

    /// What stands here in the end; a place where nothing was encoded is an empty object.
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
                    guard case .place(let place) = child else { return Self.value(of: child) }
                    return try place.value(CodingPath(path, index: index), depth: depth + 1)
                })
        case .object:
            var fields: [Object.Field] = []
            fields.reserveCapacity(children.count)
            for (name, child) in zip(names, children) {
                guard case .place(let place) = child else {
                    fields.append(Object.Field(name, Self.value(of: child)))
                    continue
                }
                let path = CodingPath(path, PathKey(name))
                fields.append(Object.Field(name, try place.value(path, depth: depth + 1)))
            }
            return .object(Object(sorting: fields))
        }
    }

    private static func value(of child: Child) -> Value {
        if case .value(let value) = child { value } else { .null }
    }
}

/// A place that is being encoded.
struct Encoding: Encoder {
    let place: EncodingPlace
    let path: CodingPath?
    /// How many arrays and objects lie around this place.
    private let depth: Int
    /// How many types are being encoded, each as a part of the one before it.
    private var typeCount = 0
    /// Whether the fields of this place that are nil become null; else they are left out.
    var keepsNil = false

    /// Types that stand for others and optionals nest without arrays and objects; circles do so
    /// without an end.
    private static let maximumTypeCount = 3 * Value.maximumDepth

    init(_ place: EncodingPlace, _ path: CodingPath?) {
        self.place = place
        self.path = path
        depth = 0
    }

    private init(_ place: EncodingPlace, in outer: Encoding, _ path: CodingPath?) {
        self.place = place
        self.path = path
        depth = outer.depth + 1
        typeCount = outer.typeCount
    }

    /// A place in this one, which is an array or object.
    ///
    /// Below the deepest that there can be it is this one again, and nothing in it counts: what nests
    /// without an end must end somewhere.
    func nested(_ add: (EncodingPlace) -> Void, _ path: @autoclosure () -> CodingPath) -> Encoding {
        guard depth < Value.maximumDepth else {
            place.refuse()
            return self
        }
        // The path of an element has the count of those before it.
        let path = path()
        let inner = EncodingPlace()
        add(inner)
        return Encoding(inner, in: self, path)
    }

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.begin(.object)
        return KeyedEncodingContainer(KeyedEncoding(self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.begin(.array)
        return UnkeyedEncoding(self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension Encoding: SingleValueEncodingContainer {
    func encodeNil() { place.set(.null) }
    func encode(_ source: Bool) { place.set(.bool(source)) }
    func encode(_ source: String) { place.set(.string(source)) }
    func encode(_ source: Double) { place.set(.float(source)) }
    func encode(_ source: Float) { place.set(.float(Double(source))) }
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
                    debugDescription: "\(source) is more than 64 bits with a sign can hold"))
        }
        place.set(.integer(integer))
    }

    func encode<T: Encodable>(_ source: T) throws {
        if let value = Self.value(of: source) { return place.set(value) }
        try encode(parts: source)
    }

    /// Encodes what `value(of:)` has no value of.
    func encode<T: Encodable>(parts source: T) throws {
        guard typeCount < Self.maximumTypeCount else { throw EncodingError.tooDeep(path) }
        var inner = self
        inner.typeCount += 1
        try source.encode(to: inner)
    }

    /// What needs no encoding; nil for anything else.
    static func value<T: Encodable>(of source: T) -> Value? {
        // The types are compared: by a cast alone every empty array is one of bytes.
        if T.self == String.self, let text = source as? String { return .string(text) }
        if T.self == Int.self, let integer = source as? Int { return .integer(Int64(integer)) }
        if T.self == Double.self, let float = source as? Double { return .float(float) }
        if T.self == Bool.self, let bool = source as? Bool { return .bool(bool) }
        if T.self == Value.self { return source as? Value }
        if T.self == [UInt8].self, let bytes = source as? [UInt8] { return .bytes(bytes) }
        // Whatever else holds bytes encodes them one by one.
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
                    + "\(Value.maximumDepth), or types in one another without an end"))
    }
}
