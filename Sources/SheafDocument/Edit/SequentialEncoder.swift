/// The encoder of one member of a container.
struct SequentialEncoder: Encoder, SingleValueEncodingContainer {
    private let encoding: SequentialEncoding
    private let parent: SequentialEncoding.ContainerReference
    private let member: Int32

    init(
        _ encoding: SequentialEncoding, _ parent: SequentialEncoding.ContainerReference,
        member: Int32
    ) {
        self.encoding = encoding
        self.parent = parent
        self.member = member
    }

    var codingPath: [any CodingKey] { encoding.codingPath(of: parent, member) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(
            SequentialKeyedEncoding(
                encoding, encoding.container(isObject: true, at: member, in: parent)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        SequentialUnkeyedEncoding(
            encoding, encoding.container(isObject: false, at: member, in: parent))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { encoding.set(.null, at: member, in: parent) }
    func encode(_ source: Bool) { encoding.set(.bool(source), at: member, in: parent) }
    func encode(_ source: String) { encoding.set(.string(source), at: member, in: parent) }
    func encode(_ source: Double) { encoding.set(.float(source), at: member, in: parent) }
    func encode(_ source: Float) { encode(Double(source)) }
    func encode(_ source: Int) { encoding.set(.integer(Int64(source)), at: member, in: parent) }
    func encode(_ source: Int8) { encode(Int(source)) }
    func encode(_ source: Int16) { encode(Int(source)) }
    func encode(_ source: Int32) { encode(Int(source)) }
    func encode(_ source: Int64) { encoding.set(.integer(source), at: member, in: parent) }
    func encode(_ source: UInt) throws { encode(try encoding.integer(source)) }
    func encode(_ source: UInt8) { encode(Int(source)) }
    func encode(_ source: UInt16) { encode(Int(source)) }
    func encode(_ source: UInt32) { encode(Int(source)) }
    func encode(_ source: UInt64) throws { encode(try encoding.integer(source)) }

    func encode<T: Encodable>(_ source: T) throws {
        try encoding.set(encoding: source, at: member, in: parent)
    }
}

extension SequentialEncoding {
    func integer(_ source: some FixedWidthInteger) throws(NeedsValueEncoding) -> Int64 {
        guard let integer = Int64(exactly: source) else { throw fallingBack() }
        return integer
    }

    /// Falls back and returns an encoder whose content is discarded.
    func discardedSuperEncoder(_ key: PathKey, in container: ContainerReference) -> any Encoder {
        var path: CodingPath?
        for key in codingPath(of: container) { path = CodingPath(path, PathKey(key)) }
        fallBack()
        return Encoding(EncodingNode(), CodingPath(path, key))
    }
}

/// An encoder of the fields of an object.
private struct SequentialKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let encoding: SequentialEncoding
    private let object: SequentialEncoding.ContainerReference

    init(_ encoding: SequentialEncoding, _ object: SequentialEncoding.ContainerReference) {
        self.encoding = encoding
        self.object = object
    }

    var codingPath: [any CodingKey] { encoding.codingPath(of: object) }

    func encodeNil(forKey key: Key) {
        encoding.put(key.stringValue, in: object, .null) { $0.write(.null) }
    }
    func encode(_ source: Bool, forKey key: Key) {
        encoding.put(key.stringValue, in: object, .bool(source)) { $0.write(source ? .yes : .no) }
    }
    func encode(_ source: String, forKey key: Key) {
        encoding.put(key.stringValue, in: object, .string(source)) { $0.write(text: source) }
    }
    func encode(_ source: Double, forKey key: Key) {
        encoding.put(key.stringValue, in: object, .float(source)) {
            $0.write(source, marked: nil)
        }
    }
    func encode(_ source: Int, forKey key: Key) { put(Int64(source), key) }
    func encode(_ source: Int32, forKey key: Key) { put(Int64(source), key) }
    func encode(_ source: Int64, forKey key: Key) { put(source, key) }

    private func put(_ source: Int64, _ key: Key) {
        encoding.put(key.stringValue, in: object, .integer(source)) {
            $0.write(source, marked: nil)
        }
    }

    func encode<T: Encodable>(_ source: T, forKey key: Key) throws {
        try encoding.put(PathKey(key), in: object, encoding: source)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        KeyedEncodingContainer(
            SequentialKeyedEncoding<Nested>(
                encoding, encoding.nested(isObject: true, PathKey(key), in: object)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        SequentialUnkeyedEncoding(
            encoding, encoding.nested(isObject: false, PathKey(key), in: object))
    }

    func superEncoder() -> any Encoder {
        encoding.discardedSuperEncoder(.superclass, in: object)
    }
    func superEncoder(forKey key: Key) -> any Encoder {
        encoding.discardedSuperEncoder(PathKey(key), in: object)
    }
}

/// An encoder of the elements of an array.
private struct SequentialUnkeyedEncoding: UnkeyedEncodingContainer {
    private let encoding: SequentialEncoding
    private let array: SequentialEncoding.ContainerReference
    // Counted here, so that a loop up to a count ends after a fallback, too.
    private(set) var count = 0

    init(_ encoding: SequentialEncoding, _ array: SequentialEncoding.ContainerReference) {
        self.encoding = encoding
        self.array = array
    }

    var codingPath: [any CodingKey] { encoding.codingPath(of: array) }

    mutating func encodeNil() { put(.null) { $0.write(.null) } }
    mutating func encode(_ source: Bool) { put(.bool(source)) { $0.write(source ? .yes : .no) } }
    mutating func encode(_ source: String) { put(.string(source)) { $0.write(text: source) } }
    mutating func encode(_ source: Double) {
        put(.float(source)) { $0.write(source, marked: nil) }
    }
    mutating func encode(_ source: Int) {
        put(.integer(Int64(source))) { $0.write(Int64(source), marked: nil) }
    }

    private mutating func put(
        _ value: @autoclosure () -> Value, _ write: (inout EntryWriter) -> Void
    ) {
        count += 1
        encoding.put("", in: array, value(), write)
    }

    mutating func encode<T: Encodable>(_ source: T) throws {
        try encoding.put(nextKey(), in: array, encoding: source)
    }

    mutating func nestedContainer<Key: CodingKey>(
        keyedBy type: Key.Type
    ) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(
            SequentialKeyedEncoding<Key>(
                encoding, encoding.nested(isObject: true, nextKey(), in: array)))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        SequentialUnkeyedEncoding(
            encoding, encoding.nested(isObject: false, nextKey(), in: array))
    }

    mutating func superEncoder() -> any Encoder {
        encoding.discardedSuperEncoder(nextKey(), in: array)
    }

    private mutating func nextKey() -> PathKey {
        defer { count += 1 }
        return PathKey(index: count)
    }
}

extension EntryWriter {
    fileprivate mutating func write(text: String) {
        write(.string)
        text.withRawUTF8 { write($0) }
    }
}
