package import SheafBytes

/// What a key of the log means (`format-spec/commits.md`, table 1).
package enum StoreKey: Hashable, Sendable {
    /// Where the commit came from; only if it was not written here.
    case origin
    /// The name of fields that has this number.
    case name(UInt16)
    /// The name of the collection that has this number.
    case collection(UInt16)
    /// The site of the store.
    case site
    /// What an index is of, by the number of its collection and its own.
    case index(collection: UInt16, number: UInt16)
    /// A token without a proof of possession, by the id of its attachment and the hash of the
    /// key of its document, 32 bytes each.
    case unprovenToken(attachment: [UInt8], document: [UInt8])
    /// The sites that the store had before the current one.
    case formerSites
    /// The latest time of the clock, where it has a counter.
    case clock
    /// The pauses of the site of another store.
    case pauses(Site)
    /// A document, by the number of its collection and the key of its id.
    case document(collection: UInt16, id: [UInt8])

    private enum First {
        static let origin: UInt8 = 0x01
        static let name: UInt8 = 0x02
        static let collection: UInt8 = 0x03
        static let site: UInt8 = 0x04
        static let index: UInt8 = 0x05
        static let unprovenToken: UInt8 = 0x06
        static let formerSites: UInt8 = 0x07
        static let clock: UInt8 = 0x08
        static let pauses: UInt8 = 0x09
        static let document: UInt8 = 0x10
    }

    /// All names of fields, all names of collections, all indexes, and all documents.
    package static let names = KeyRange(from: [First.name], to: [First.name + 1])
    package static let collections = KeyRange(from: [First.collection], to: [First.collection + 1])
    package static let indexes = KeyRange(from: [First.index], to: [First.index + 1])
    package static let documents = KeyRange(from: [First.document], to: [First.document + 1])
    /// The pauses of all other stores.
    package static let pauses = KeyRange(from: [First.pauses], to: [First.pauses + 1])
    /// All unproven tokens.
    package static let unprovenTokens = KeyRange.prefix([First.unprovenToken])

    /// The unproven tokens of one attachment.
    package static func unprovenTokens(of attachment: [UInt8]) -> KeyRange {
        KeyRange.prefix([First.unprovenToken] + attachment)
    }

    /// All documents of a collection.
    package static func documents(of collection: UInt16) -> KeyRange {
        let first = StoreKey.document(collection: collection, id: []).bytes
        guard collection < .max else { return KeyRange(from: first, to: [First.document + 1]) }
        return KeyRange(
            from: first, to: StoreKey.document(collection: collection + 1, id: []).bytes)
    }

    /// Writes the key of a document whose id is a text, and returns its length; nil where there is
    /// no room for it, or the text is none that most texts are like.
    package static func write(
        documentOf collection: UInt16, id: String, to key: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard key.count > documentPrefixLength else { return nil }
        key[0] = First.document
        key[1] = UInt8(collection >> 8)
        key[2] = UInt8(collection & 0xFF)
        let rest = UnsafeMutableRawBufferPointer(rebasing: key[documentPrefixLength...])
        return SortKey.write(identityOf: id, to: rest).map { documentPrefixLength + $0 }
    }

    /// The key of a document whose id has a key.
    package static func document(_ collection: UInt16, id: UnsafeRawBufferPointer) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(documentPrefixLength + id.count)
        key.append(First.document)
        key.append(UInt8(collection >> 8))
        key.append(UInt8(collection & 0xFF))
        key.append(contentsOf: id)
        return key
    }

    /// How many bytes stand before the id in the key of a document.
    package static let documentPrefixLength = 3

    /// The number of the collection whose document has a key; none where it is another key.
    package static func collection(ofDocument key: UnsafeRawBufferPointer) -> UInt16? {
        guard key.count > documentPrefixLength, key[0] == First.document else { return nil }
        return UInt16(key[1]) << 8 | UInt16(key[2])
    }

    /// Reads a key; nil where it is none of these.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first else { return nil }
        let number = bytes.count >= 3 ? UInt16(bytes[1]) << 8 | UInt16(bytes[2]) : 0
        switch (first, bytes.count) {
        case (First.origin, 1): self = .origin
        case (First.site, 1): self = .site
        case (First.formerSites, 1): self = .formerSites
        case (First.clock, 1): self = .clock
        case (First.pauses, 9):
            self = .pauses(Site(rawValue: bytes.dropFirst().reduce(0) { $0 << 8 | UInt64($1) }))
        case (First.name, 3): self = .name(number)
        case (First.collection, 3): self = .collection(number)
        case (First.index, 5):
            let index = UInt16(bytes[3]) << 8 | UInt16(bytes[4])
            // Links to tombstones have the last number in place of that of an index.
            guard index < .max else { return nil }
            self = .index(collection: number, number: index)
        case (First.unprovenToken, 1 + 2 * SHA256.length):
            self = .unprovenToken(
                attachment: Array(bytes[1...SHA256.length]),
                document: Array(bytes[(1 + SHA256.length)...]))
        case (First.document, 4...):
            self = .document(collection: number, id: Array(bytes.dropFirst(3)))
        default: return nil
        }
    }

    /// The key as the log has it.
    package var bytes: [UInt8] {
        switch self {
        case .origin: [First.origin]
        case .site: [First.site]
        case .formerSites: [First.formerSites]
        case .clock: [First.clock]
        case .pauses(let site):
            [First.pauses]
                + (0..<8).map { UInt8(truncatingIfNeeded: site.rawValue >> (56 - 8 * $0)) }
        case .name(let number): Self.bytes(First.name, number)
        case .collection(let number): Self.bytes(First.collection, number)
        case .index(let collection, let number):
            Self.bytes(First.index, collection) + [UInt8(number >> 8), UInt8(number & 0xFF)]
        case .unprovenToken(let attachment, let document):
            [First.unprovenToken] + attachment + document
        case .document(let collection, let id): Self.bytes(First.document, collection) + id
        }
    }

    /// The key of the document of a collection that has an id.
    package static func bytes(
        ofDocument id: Value, collection: UInt16
    ) throws(DocumentID.Refusal) -> [UInt8] {
        try DocumentID.check(id, depth: 1)
        let key = SortKey.identity(of: id, behind: bytes(First.document, collection))
        try DocumentID.checkLength(key.count - documentPrefixLength)
        return key
    }

    private static func bytes(_ first: UInt8, _ number: UInt16) -> [UInt8] {
        [first, UInt8(number >> 8), UInt8(number & 0xFF)]
    }
}

/// The ids of documents, as keys have them.
package enum DocumentID {
    /// Why a value is no id.
    package enum Refusal: Error, Hashable, Sendable {
        case float
        case null
        case tooDeep(limit: Int)
        case tooLong(byteCount: Int, limit: Int)
    }

    /// So long may the key of an id be: keys of the log have 1,024 bytes.
    package static let maximumLength = 1_021

    /// The key of an id.
    package static func key(of id: Value) throws(Refusal) -> [UInt8] {
        try check(id, depth: 1)
        let key = SortKey.identity(of: id)
        try checkLength(key.count)
        return key
    }

    fileprivate static func checkLength(_ length: Int) throws(Refusal) {
        guard length <= maximumLength else {
            throw .tooLong(byteCount: length, limit: maximumLength)
        }
    }

    /// Whether some bytes are the key of an id, as they are written.
    package static func isKey(_ bytes: [UInt8]) throws(Malformed) -> Bool {
        guard bytes.count <= maximumLength else { return false }
        if bytes.span.withUnsafeBytes({ SortKey.isPlainText($0) }) { return true }
        let id = try id(of: bytes)
        guard let key = try? key(of: id) else { return false }
        return key == bytes
    }

    /// The id that a key has.
    package static func id(of key: [UInt8]) throws(Malformed) -> Value {
        try key.span.withUnsafeBytes { key throws(Malformed) in try id(of: key) }
    }

    /// The id that a key has.
    package static func id(of key: UnsafeRawBufferPointer) throws(Malformed) -> Value {
        let values = try SortKeyReader.read(key, descending: [false])
        guard values.count == 1, let id = values[0] else {
            throw .invalid("what is no id", at: 0)
        }
        return id
    }

    /// What cannot be an id; `depth` counts the arrays and objects, this one included.
    fileprivate static func check(_ id: Value, depth: Int) throws(Refusal) {
        func checkDepth() throws(Refusal) {
            guard depth <= Value.maximumDepth else { throw .tooDeep(limit: Value.maximumDepth) }
        }
        switch id {
        case .float: throw .float
        case .null: throw .null
        case .array(let values):
            try checkDepth()
            for value in values { try check(value, depth: depth + 1) }
        case .object(let object):
            try checkDepth()
            for field in object { try check(field.value, depth: depth + 1) }
        case .bool, .integer, .string, .bytes: break
        }
    }
}

extension DocumentID.Refusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .float: "an _id is no float, and holds none; use an integer or a string"
        case .null: "an _id is not null, and holds no null; use a string"
        case .tooDeep(let limit):
            "arrays and objects in an _id are nested at most \(limit) deep"
        case .tooLong(let count, let limit):
            "an _id takes at most \(limit) bytes as a key, and this one takes \(count)"
        }
    }
}
