import SheafBytes

/// A decoder of the fields of an object in an encoded document.
struct EntryFieldsDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: EncodedObject
    let loan: DocumentLoan
    let path: CodingPath?
    let depth: Int

    var codingPath: [any CodingKey] { CodingPath.keys(path) }

    var allKeys: [Key] {
        // Damaged fields are reported when they are decoded.
        let names = loan.names
        let id = hasID ? Key(stringValue: DocumentDecoder.idName) : nil
        return (id.map { [$0] } ?? [])
            + (0..<object.count).compactMap { index in
                guard (try? object.entry(index).shown()) != nil,
                    let name = try? object.name(index, names)
                else { return nil }
                return Key(stringValue: name)
            }
    }

    /// Whether these are the fields of a document with an id.
    private var hasID: Bool { depth == 1 && loan.hasID }

    /// Returns the decoder of the id if it is the field of a key; nil for other fields.
    @inline(__always)
    private func id(_ key: some CodingKey) throws(Malformed) -> Decoding? {
        guard hasID, key.stringValue == DocumentDecoder.idName, let id = try loan.id() else {
            return nil
        }
        return Decoding(id, CodingPath(path, key), loan.coding)
    }

    func contains(_ key: Key) -> Bool {
        if hasID, key.stringValue == DocumentDecoder.idName { return true }
        return (try? loan.entry(key.stringValue, in: object)) != nil
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        if let id = try id(key) { return id.decodeNil() }
        let entry = try entry(key)
        switch try entry.tag() {
        case .null: return true
        case .several, .token: return try decoding(entry, key).decoding().decodeNil()
        default: return false
        }
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        if let id = try id(key) { return try id.decode(type) }
        let entry = try entry(key)
        switch try entry.tag() {
        case .no: return false
        case .yes: return true
        default: return try decoding(entry, key).decoding().decode(type)
        }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        if let id = try id(key) { return try id.decode(type) }
        let entry = try entry(key)
        guard try entry.tag() == .string else {
            return try decoding(entry, key).decoding().decode(type)
        }
        return try text(try entry.payloadBytes(), at: entry.start)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        if let id = try id(key) { return try id.decode(type) }
        let entry = try entry(key)
        guard case .float(let found)? = try entry.number() else {
            return try decoding(entry, key).decoding().decode(type)
        }
        return found
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        if let id = try id(key) { return try id.decode(type) }
        let entry = try entry(key)
        guard case .integer(let found)? = try entry.number(), let int = Int(exactly: found) else {
            return try decoding(entry, key).decoding().decode(type)
        }
        return int
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        if let id = try id(key) { return try id.decode(type) }
        return try decoding(entry(key), key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        if let id = try id(key) { return try id.container(keyedBy: type) }
        return try decoding(entry(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        if let id = try id(key) { return try id.unkeyedContainer() }
        return try decoding(entry(key), key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        try decoding(entry(PathKey.superclass), PathKey.superclass)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        if let id = try id(key) { return id }
        return try decoding(entry(key), key)
    }

    private func entry(_ key: some CodingKey) throws -> EncodedEntry {
        guard let entry = try loan.entry(key.stringValue, in: object) else {
            throw DecodingError.missing(key, at: path)
        }
        return entry
    }

    private func decoding(_ entry: EncodedEntry, _ key: some CodingKey) -> EntryDecoding {
        EntryDecoding(entry, loan, CodingPath(path, key), depth: depth)
    }
}
