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
/// Encoding goes in any order and into several places at once, so places are objects.
final class EncodingPlace {
    enum Content {
        case nothing
        case value(Value)
        case array([EncodingPlace])
        case object([(name: String, place: EncodingPlace)])
    }

    var content: Content

    init(_ content: Content = .nothing) {
        self.content = content
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
        switch content {
        case .nothing: return .object(Object())
        case .value(let value): return value
        case .array(let places):
            return .array(
                try places.enumerated().map { index, place in
                    try place.value(CodingPath(path, index: index), depth: depth + 1)
                })
        case .object(let fields):
            return .object(
                Object(
                    sorting: try fields.map { name, place in
                        let path = CodingPath(path, PathKey(name))
                        return Object.Field(name, try place.value(path, depth: depth + 1))
                    }))
        }
    }

    /// The place of a field, which is made anew if it is there.
    func field(_ name: String) -> EncodingPlace {
        let place = EncodingPlace()
        guard case .object(var fields) = content else {
            content = .object([(name, place)])
            return place
        }
        content = .nothing
        fields.append((name, place))
        content = .object(fields)
        return place
    }

    /// The place of one more element.
    func element() -> EncodingPlace {
        let place = EncodingPlace()
        guard case .array(var places) = content else {
            content = .array([place])
            return place
        }
        // The array is taken out first, so that it grows in place.
        content = .nothing
        places.append(place)
        content = .array(places)
        return place
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
        // A second container of the same object goes on with the first.
        if case .object = place.content {} else { place.content = .object([]) }
        return KeyedEncodingContainer(KeyedEncoding(place: place, path: path))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = place.content {} else { place.content = .array([]) }
        return UnkeyedEncoding(place: place, path: path)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension Encoding: SingleValueEncodingContainer {
    func encodeNil() { place.content = .value(.null) }
    func encode(_ source: Bool) { place.content = .value(.bool(source)) }
    func encode(_ source: String) { place.content = .value(.string(source)) }
    func encode(_ source: Double) { place.content = .value(.float(source)) }
    func encode(_ source: Float) { place.content = .value(.float(Double(source))) }
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
        place.content = .value(.integer(integer))
    }

    func encode<T: Encodable>(_ source: T) throws {
        // The types are compared: by a cast alone every empty array is one of bytes.
        if T.self == Value.self, let value = source as? Value {
            place.content = .value(value)
        } else if T.self == [UInt8].self, let bytes = source as? [UInt8] {
            place.content = .value(.bytes(bytes))
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

    func encodeNil(forKey key: Key) {
        encoding(key).encodeNil()
    }

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

    private func encoding(_ key: some CodingKey) -> Encoding {
        Encoding(place.field(key.stringValue), CodingPath(path, key))
    }
}

/// An array that is being encoded.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let place: EncodingPlace
    let path: CodingPath?

    var codingPath: [any CodingKey] { CodingPath.keys(path) }

    var count: Int {
        if case .array(let places) = place.content { places.count } else { 0 }
    }

    func encodeNil() { next().encodeNil() }

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
        let index = count
        return Encoding(place.element(), CodingPath(path, index: index))
    }
}
