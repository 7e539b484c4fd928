/// An encoder of the fields of an object.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let encoding: Encoding
    private var node: EncodingNode { encoding.parent }

    init(_ encoding: Encoding) {
        self.encoding = encoding
    }

    var codingPath: [any CodingKey] { encoding.codingPath }

    func encodeNil(forKey key: Key) { add(.null, key) }
    func encode(_ source: Bool, forKey key: Key) { add(.bool(source), key) }
    func encode(_ source: String, forKey key: Key) { add(.string(source), key) }
    func encode(_ source: Double, forKey key: Key) { add(.float(source), key) }
    func encode(_ source: Int, forKey key: Key) { add(.integer(Int64(source)), key) }

    func encode<T: Encodable>(_ source: T, forKey key: Key) throws {
        if let leaf = Encoding.leaf(of: source) {
            return node.add(leaf, named: key.stringValue)
        }
        try encoding(key).encode(parts: source)
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
        node.add(value, named: key.stringValue)
    }

    private func encoding(_ key: some CodingKey) -> Encoding {
        // A second container of the same key continues the first one.
        encoding.nested(
            node.node(named: key.stringValue), { node.add($0, named: key.stringValue) },
            CodingPath(encoding.path, key))
    }
}

/// An encoder of the elements of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    private let encoding: Encoding
    private var node: EncodingNode { encoding.parent }

    init(_ encoding: Encoding) {
        self.encoding = encoding
    }

    var codingPath: [any CodingKey] { encoding.codingPath }

    var count: Int { node.count }

    func encodeNil() { node.add(.null) }
    func encode(_ source: Bool) { node.add(.bool(source)) }
    func encode(_ source: String) { node.add(.string(source)) }
    func encode(_ source: Double) { node.add(.float(source)) }
    func encode(_ source: Int) { node.add(.integer(Int64(source))) }

    func encode<T: Encodable>(_ source: T) throws {
        if let leaf = Encoding.leaf(of: source) { return node.add(leaf) }
        try next().encode(parts: source)
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
        encoding.nested(nil, { node.add($0) }, CodingPath(encoding.path, index: count))
    }
}

extension KeyedEncoding {
    private func add<T: Encodable>(_ source: T?, ifPresent key: Key) throws {
        if let source {
            try encode(source, forKey: key)
        } else if encoding.keepsNil {
            encodeNil(forKey: key)
        }
    }

    // Each type has its own requirement, whose default omits nil.
    func encodeIfPresent(_ source: Bool?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: String?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: Double?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: Float?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: Int?, forKey key: Key) throws { try add(source, ifPresent: key) }
    func encodeIfPresent(_ source: Int8?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: Int16?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: Int32?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: Int64?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: UInt?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: UInt8?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: UInt16?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: UInt32?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: UInt64?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
    func encodeIfPresent(_ source: (some Encodable)?, forKey key: Key) throws {
        try add(source, ifPresent: key)
    }
}
