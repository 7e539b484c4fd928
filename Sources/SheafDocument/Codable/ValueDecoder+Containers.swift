import SheafBytes

/// A decoder of the fields of an object.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: Object
    let path: CodingPath?
    let coding: ValueCoding

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var allKeys: [Key] { object.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool {
        object[key.stringValue] != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try decoding(key).decodeNil()
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        if case .bool(let found)? = object[key.stringValue] { return found }
        return try decoding(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        if case .string(let found)? = object[key.stringValue] { return found }
        return try decoding(key).decode(type)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        if case .float(let found)? = object[key.stringValue] { return found }
        return try decoding(key).decode(type)
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        if case .integer(let found)? = object[key.stringValue], let int = Int(exactly: found) {
            return int
        }
        return try decoding(key).decode(type)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try decoding(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoding(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoding(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        try decoding(named: PathKey.superclass)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try decoding(key)
    }

    private func decoding(_ key: Key) throws -> Decoding {
        try decoding(named: key)
    }

    private func decoding(named key: some CodingKey) throws -> Decoding {
        guard let value = object[key.stringValue] else {
            throw DecodingError.missing(key, at: path)
        }
        return Decoding(value, CodingPath(path, key), coding)
    }
}

extension DecodingError {
    /// Returns the error for a missing field.
    static func missing(_ key: some CodingKey, at path: CodingPath?) -> DecodingError {
        .keyNotFound(
            key,
            Context(
                codingPath: CodingPath.keys(path),
                debugDescription: "the object has no field \""
                    + key.stringValue.shortened + "\""))
    }
}

/// A decoder of the elements of an array.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let values: [Value]
    let path: CodingPath?
    let coding: ValueCoding
    private(set) var currentIndex = 0

    init(values: [Value], path: CodingPath?, coding: ValueCoding) {
        self.values = values
        self.path = path
        self.coding = coding
    }

    var codingPath: [any CodingKey] { CodingPath.keys(path) }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    mutating func decodeNil() throws -> Bool {
        let isNil = try current(Never?.self).decodeNil()
        // The container advances only if the element is nil.
        if isNil { currentIndex += 1 }
        return isNil
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let decoded = try current(type).decode(type)
        currentIndex += 1
        return decoded
    }

    mutating func nestedContainer<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        let container = try current([String: Value].self).container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try current([Value].self).unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoding = try current((any Decoder).self)
        currentIndex += 1
        return decoding
    }

    private func current(_ type: Any.Type) throws -> Decoding {
        let elementPath = CodingPath(path, index: currentIndex)
        guard currentIndex < values.count else {
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: CodingPath.keys(elementPath),
                    debugDescription: "the array has only \(values.count) elements"))
        }
        return Decoding(values[currentIndex], elementPath, coding)
    }
}
