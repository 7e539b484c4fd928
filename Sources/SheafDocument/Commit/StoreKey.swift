package import SheafBytes

/// The meaning of a key of the log (`format-spec/commits.md`, table 1).
package enum StoreKey: Hashable, Sendable {
    /// The origin of the commit, if it was replicated.
    case origin
    /// The field name with this number.
    case name(UInt16)
    /// The collection name with this number.
    case collection(UInt16)
    /// The site of the store.
    case site
    /// The definition of an index, by the number of its collection and its own number.
    case index(collection: UInt16, number: UInt16)
    /// A token without proof of possession, by attachment id and hash of the document key.
    case unprovenToken(attachment: [UInt8], document: [UInt8])
    /// Earlier sites of the store.
    case formerSites
    /// The latest time of the clock, if its counter is not zero.
    case clock
    /// The pauses of a site, as reported by peers.
    case pauses(Site)
    /// The progress of an unfinished import, by the hash of its source and collection.
    case importProgress(UInt64)
    /// The progress of the store in a shard of a hub log, by the number of the shard.
    case storedShard(UInt16)
    /// A document, by the number of its collection and its encoded id.
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
        static let importProgress: UInt8 = 0x0A
        static let storedShard: UInt8 = 0x0B
        static let document: UInt8 = 0x10
    }

    /// Ranges of all field names, collection names, indexes, and documents.
    package static let names = KeyRange(from: [First.name], to: [First.name + 1])
    package static let collections = KeyRange(from: [First.collection], to: [First.collection + 1])
    package static let indexes = KeyRange(from: [First.index], to: [First.index + 1])
    package static let documents = KeyRange(from: [First.document], to: [First.document + 1])
    /// Range of the pauses of all sites, as reported by peers.
    package static let pauses = KeyRange(from: [First.pauses], to: [First.pauses + 1])
    /// Range of the progress of all unfinished imports.
    package static let imports = KeyRange.prefix([First.importProgress])
    /// Range of all unproven tokens.
    package static let unprovenTokens = KeyRange.prefix([First.unprovenToken])

    /// Returns the range of the unproven tokens of an attachment.
    package static func unprovenTokens(of attachment: [UInt8]) -> KeyRange {
        KeyRange.prefix([First.unprovenToken] + attachment)
    }

    /// Returns the range of the documents of a collection.
    package static func documents(of collection: UInt16) -> KeyRange {
        let first = StoreKey.document(collection: collection, id: []).bytes
        guard collection < .max else { return KeyRange(from: first, to: [First.document + 1]) }
        return KeyRange(
            from: first, to: StoreKey.document(collection: collection + 1, id: []).bytes)
    }

    /// Writes the key of a document with a text id, and returns its length.
    ///
    /// Returns nil if the buffer is too short or the text needs the general encoding.
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

    /// Returns the key of a document with an encoded id.
    package static func document(_ collection: UInt16, id: UnsafeRawBufferPointer) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(documentPrefixLength + id.count)
        key.append(First.document)
        key.append(UInt8(collection >> 8))
        key.append(UInt8(collection & 0xFF))
        key.append(contentsOf: id)
        return key
    }

    /// Number of bytes before the id in the key of a document.
    package static let documentPrefixLength = 3

    /// Returns the collection number of a document key; nil for other keys.
    package static func collection(ofDocument key: UnsafeRawBufferPointer) -> UInt16? {
        guard key.count > documentPrefixLength, key[0] == First.document else { return nil }
        return UInt16(key[1]) << 8 | UInt16(key[2])
    }

    /// Decodes a key; nil for unknown keys.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first else { return nil }
        let number = bytes.count >= 3 ? UInt16(bytes[1]) << 8 | UInt16(bytes[2]) : 0
        switch (first, bytes.count) {
        case (First.origin, 1): self = .origin
        case (First.site, 1): self = .site
        case (First.formerSites, 1): self = .formerSites
        case (First.clock, 1): self = .clock
        case (First.pauses, 9):
            self = .pauses(Site(rawValue: Self.integer(bytes.dropFirst())))
        case (First.importProgress, 9): self = .importProgress(Self.integer(bytes.dropFirst()))
        case (First.storedShard, 3): self = .storedShard(number)
        case (First.name, 3): self = .name(number)
        case (First.collection, 3): self = .collection(number)
        case (First.index, 5):
            let index = UInt16(bytes[3]) << 8 | UInt16(bytes[4])
            // Index entries of tombstones have the maximum number instead of an index number.
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

    /// Whether the key belongs to the catalog: a name, a collection or an index.
    package var isOfCatalog: Bool {
        switch self {
        case .name, .collection, .index: true
        default: false
        }
    }

    /// The encoded key.
    package var bytes: [UInt8] {
        switch self {
        case .origin: [First.origin]
        case .site: [First.site]
        case .formerSites: [First.formerSites]
        case .clock: [First.clock]
        case .pauses(let site): [First.pauses] + Self.bytes(site.rawValue)
        case .importProgress(let hash): [First.importProgress] + Self.bytes(hash)
        case .storedShard(let number): Self.bytes(First.storedShard, number)
        case .name(let number): Self.bytes(First.name, number)
        case .collection(let number): Self.bytes(First.collection, number)
        case .index(let collection, let number):
            Self.bytes(First.index, collection) + [UInt8(number >> 8), UInt8(number & 0xFF)]
        case .unprovenToken(let attachment, let document):
            [First.unprovenToken] + attachment + document
        case .document(let collection, let id): Self.bytes(First.document, collection) + id
        }
    }

    /// Maximum length of a text whose key is made on the stack.
    private static let longestShortID = 256

    /// Returns the key of the document with an id.
    package static func bytes(
        ofDocument id: Value, collection: UInt16
    ) throws(DocumentError) -> [UInt8] {
        if case .string(let text) = id, text.utf8.count <= longestShortID {
            let key = withUnsafeTemporaryAllocation(
                byteCount: documentPrefixLength + longestShortID + 2, alignment: 1
            ) { room -> [UInt8]? in
                write(documentOf: collection, id: text, to: room)
                    .map { Array(UnsafeRawBufferPointer(rebasing: room[..<$0])) }
            }
            if let key { return key }
        }
        try DocumentID.check(id, depth: 1)
        let key = SortKey.identity(of: id, behind: bytes(First.document, collection))
        try DocumentID.checkLength(key.count - documentPrefixLength)
        return key
    }

    private static func integer(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private static func bytes(_ first: UInt8, _ number: UInt16) -> [UInt8] {
        [first, UInt8(number >> 8), UInt8(number & 0xFF)]
    }
}

/// The ids of documents, and their encoding in keys.
package enum DocumentID {
    /// Maximum length of an encoded id: keys of the log have up to 1,024 bytes.
    package static let maximumLength = 1_021

    /// Returns the encoded id.
    package static func key(of id: Value) throws(DocumentError) -> [UInt8] {
        try check(id, depth: 1)
        let key = SortKey.identity(of: id)
        try checkLength(key.count)
        return key
    }

    fileprivate static func checkLength(_ length: Int) throws(DocumentError) {
        guard length <= maximumLength else {
            throw .id(.tooLong(byteCount: length, limit: maximumLength))
        }
    }

    /// Whether bytes are an id in canonical encoding.
    package static func isKey(_ bytes: [UInt8]) throws(Malformed) -> Bool {
        guard bytes.count <= maximumLength else { return false }
        if bytes.span.withUnsafeBytes({ SortKey.isPlainText($0) }) { return true }
        let id = try id(of: bytes)
        guard let key = try? key(of: id) else { return false }
        return key == bytes
    }

    /// Decodes an id.
    package static func id(of key: [UInt8]) throws(Malformed) -> Value {
        try key.span.withUnsafeBytes { key throws(Malformed) in try id(of: key) }
    }

    /// Decodes an id.
    package static func id(of key: UnsafeRawBufferPointer) throws(Malformed) -> Value {
        let values = try SortKeyReader.read(key, descending: [false])
        guard values.count == 1, let id = values[0] else {
            throw .invalid("a key that is not an id", at: 0)
        }
        return id
    }

    /// Throws if a value cannot be an id; `depth` counts the enclosing arrays and objects plus one.
    fileprivate static func check(_ id: Value, depth: Int) throws(DocumentError) {
        func checkDepth() throws(DocumentError) {
            guard depth <= Value.maximumDepth else {
                throw .id(.tooDeep(limit: Value.maximumDepth))
            }
        }
        switch id {
        case .float: throw .id(.float)
        case .null: throw .id(.null)
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
