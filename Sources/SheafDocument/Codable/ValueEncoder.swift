/// Makes values from `Encodable` types, without a text in between.
public struct ValueEncoder: Sendable {
    public init() {}

    /// Encodes a type as a value; errors are those of `EncodingError`, with the path in the type.
    public func encode<T: Encodable>(_ source: T) throws -> Value {
        let place = EncodingPlace()
        try Encoding(place, nil).encode(source)
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

    /// What stands here in the end; a place where nothing was encoded is an empty object.
    func value(_ path: CodingPath?, depth: Int = 0) throws -> Value {
        guard depth <= Value.maximumDepth else {
            throw EncodingError.invalidValue(
                (),
                EncodingError.Context(
                    codingPath: CodingPath.keys(path),
                    debugDescription: "arrays and objects are nested deeper than "
                        + "\(Value.maximumDepth)"))
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

    init(_ place: EncodingPlace, _ path: CodingPath?) {
        self.place = place
        self.path = path
    }

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.begin(.object)
        return KeyedEncodingContainer(KeyedEncoding(place: place, path: path))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.begin(.array)
        return UnkeyedEncoding(place: place, path: path)
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
        // The types are compared: by a cast alone every empty array is one of bytes.
        if T.self == Value.self, let value = source as? Value {
            place.set(value)
        } else if T.self == [UInt8].self, let bytes = source as? [UInt8] {
            place.set(.bytes(bytes))
        } else {
            try source.encode(to: self)
        }
    }
}

/// An object that is being encoded.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: EncodingPlace
    let path: CodingPath?

    var codingPath: [any CodingKey] { CodingPath.keys(path) }

    func encodeNil(forKey key: Key) { add(.null, key) }
    func encode(_ source: Bool, forKey key: Key) { add(.bool(source), key) }
    func encode(_ source: String, forKey key: Key) { add(.string(source), key) }
    func encode(_ source: Double, forKey key: Key) { add(.float(source), key) }
    func encode(_ source: Int, forKey key: Key) { add(.integer(Int64(source)), key) }

    func encode<T: Encodable>(_ source: T, forKey key: Key) throws {
        try encoding(key).encode(source)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoding(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoding(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoding(PathKey.superclass) }
    func superEncoder(forKey key: Key) -> any Encoder { encoding(key) }

    private func add(_ value: Value, _ key: Key) {
        place.add(.value(value), named: key.stringValue)
    }

    private func encoding(_ key: some CodingKey) -> Encoding {
        let field = EncodingPlace()
        place.add(.place(field), named: key.stringValue)
        return Encoding(field, CodingPath(path, key))
    }
}

/// An array that is being encoded.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let place: EncodingPlace
    let path: CodingPath?

    var codingPath: [any CodingKey] { CodingPath.keys(path) }

    var count: Int { place.count }

    func encodeNil() { place.add(.value(.null)) }
    func encode(_ source: Bool) { place.add(.value(.bool(source))) }
    func encode(_ source: String) { place.add(.value(.string(source))) }
    func encode(_ source: Double) { place.add(.value(.float(source))) }
    func encode(_ source: Int) { place.add(.value(.integer(Int64(source)))) }

    func encode<T: Encodable>(_ source: T) throws {
        try next().encode(source)
    }

    func nestedContainer<Key: CodingKey>(
        keyedBy type: Key.Type
    ) -> KeyedEncodingContainer<Key> {
        next().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        next().unkeyedContainer()
    }

    func superEncoder() -> any Encoder { next() }

    private func next() -> Encoding {
        let element = EncodingPlace()
        defer { place.add(.place(element)) }
        return Encoding(element, CodingPath(path, index: count))
    }
}
