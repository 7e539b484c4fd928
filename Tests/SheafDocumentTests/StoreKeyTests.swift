import SheafBytes
import SheafDocument
import Testing

/// Tests of the keys of the log, and of the ids of documents in them.
@Suite struct StoreKeyTests {
    private static let hash = [UInt8](repeating: 0xFF, count: 32)
    private static let id: [UInt8] = [0x40, 0xFF, 0]

    private static let keys: [StoreKey] = [
        .origin, .name(0), .name(.max), .collection(0), .collection(.max), .site,
        .index(collection: 0, number: 0), .index(collection: .max, number: 65_534),
        .unprovenToken(attachment: hash, document: hash), .formerSites, .clock,
        .pauses(Site(rawValue: 0)), .pauses(Site(rawValue: .max)), .importProgress(0),
        .importProgress(.max), .storedShard(0), .storedShard(.max),
        .document(collection: 0, id: id), .document(collection: 255, id: id),
        .document(collection: 256, id: id), .document(collection: 65_534, id: id),
        .document(collection: .max, id: id),
    ]

    private func keys(in range: KeyRange) -> [StoreKey] {
        Self.keys.filter { range.contains($0.bytes) }
    }

    @Test func `a range has all keys of its kind, and no others`() {
        #expect(keys(in: StoreKey.names) == [.name(0), .name(.max)])
        #expect(keys(in: StoreKey.collections) == [.collection(0), .collection(.max)])
        #expect(keys(in: StoreKey.indexes) == Array(Self.keys[6...7]))
        #expect(keys(in: StoreKey.unprovenTokens) == [Self.keys[8]])
        #expect(keys(in: StoreKey.unprovenTokens(of: Self.hash)) == [Self.keys[8]])
        let other = Self.hash.dropLast() + [0xFE]
        #expect(keys(in: StoreKey.unprovenTokens(of: Array(other))) == [])
        #expect(keys(in: StoreKey.pauses) == Array(Self.keys[11...12]))
        #expect(keys(in: StoreKey.imports) == [.importProgress(0), .importProgress(.max)])
        #expect(keys(in: StoreKey.documents) == Array(Self.keys[17...]))
        for collection: UInt16 in [0, 255, 256, 65_534, .max] {
            #expect(
                keys(in: StoreKey.documents(of: collection))
                    == [.document(collection: collection, id: Self.id)])
        }
        #expect(keys(in: StoreKey.documents(of: 1)) == [])
    }

    @Test func `a key is decoded, and other bytes are not`() {
        for (number, key) in Self.keys.enumerated() {
            let bytes = key.bytes
            #expect(bytes.withUnsafeBytes { StoreKey($0) } == key)
            #expect(key.isOfCatalog == [1, 2, 3, 4, 6, 7].contains(number))
            let collection = bytes.withUnsafeBytes { StoreKey.collection(ofDocument: $0) }
            guard case .document(let expected, let id) = key else {
                // A document may have any id, but no other key may have more bytes.
                #expect((bytes + [0]).withUnsafeBytes { StoreKey($0) } == nil)
                #expect(collection == nil)
                continue
            }
            #expect(collection == expected)
            #expect(id.withUnsafeBytes { StoreKey.document(expected, id: $0) } == bytes)
            let prefix = bytes.prefix(3)
            #expect(prefix.withUnsafeBytes { StoreKey.collection(ofDocument: $0) } == nil)
            #expect(prefix.withUnsafeBytes { StoreKey($0) } == nil)
        }
        // The number of an index is not that of the entries of tombstones.
        let tombstones: [UInt8] = [5, 0, 1, 0xFF, 0xFF]
        #expect(tombstones.withUnsafeBytes { StoreKey($0) } == nil)
    }

    /// Writes a key into buffers of any size, and expects it if the buffer has room.
    private func expect(
        _ key: [UInt8], _ write: (UnsafeMutableRawBufferPointer) -> Int?
    ) {
        for room in 0...key.count + 2 {
            var buffer = [UInt8](repeating: 0xEE, count: room)
            let length = buffer.withUnsafeMutableBytes { write($0) }
            #expect(length == (room < key.count ? nil : key.count), "\(key), \(room) bytes")
            guard room >= key.count else { continue }
            #expect(Array(buffer[..<key.count]) == key)
            #expect(buffer[key.count...].allSatisfy { $0 == 0xEE })
        }
    }

    @Test func `a key is written into a buffer that has room for it`() {
        expect([0x10, 0x12, 0x34, 0x40, 0x61, 0x62, 0]) { room in
            StoreKey.write(documentOf: 0x1234, id: "ab", to: room)
        }
        expect([0x10, 0xFF, 0x00, 0x40, 0]) { room in
            StoreKey.write(documentOf: 0xFF00, id: "", to: room)
        }
        expect([0x40, 0xC3, 0xA9, 0]) { room in SortKey.write(identityOf: "\u{E9}", to: room) }
        let text: [UInt8] = [0xC3, 0xA9]
        expect([0x40, 0xC3, 0xA9, 0]) { room in
            text.withUnsafeBytes { SortKey.write(identityOfText: $0, to: room) }
        }
        expect([0x20, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0]) { room in
            SortKey.write(identityOf: 1, to: room)
        }
        expect([0x20, 0x40, 0x0F, 255, 255, 255, 255, 255, 255]) { room in
            SortKey.write(identityOf: -1, to: room)
        }
    }

    @Test func `texts and integers that need the general encoding are not written`() {
        var buffer = [UInt8](repeating: 0, count: 64)
        buffer.withUnsafeMutableBytes { room in
            for text in ["\0", "a\u{1}", "\u{1}b"] {
                #expect(SortKey.write(identityOf: text, to: room) == nil)
                #expect(StoreKey.write(documentOf: 1, id: text, to: room) == nil)
                #expect(
                    Array(text.utf8).withUnsafeBytes {
                        SortKey.write(identityOfText: $0, to: room)
                    } == nil)
            }
            let invalid: [UInt8] = [0x61, 0xFF]
            #expect(
                invalid.withUnsafeBytes { SortKey.write(identityOfText: $0, to: room) } == nil)
            let last: Int64 = 1 << 53 - 1
            for integer in [last, -last, 0, 255] {
                let length = SortKey.write(identityOf: integer, to: room)
                #expect(length == 9)
                #expect(Array(room[..<9]) == SortKey.identity(of: .integer(integer)))
            }
            for integer in [last + 1, -last - 1, .max, .min] {
                #expect(SortKey.write(identityOf: integer, to: room) == nil)
            }
        }
    }

    @Test func `the key of a document has the encoded id, however it is encoded`() throws {
        var ids: [Value] = [
            1, -1, true, .bytes([0, 1]), ["a": 1], [1, "b"], "\0", "a\u{1}b", .integer(.max),
        ]
        for length in [0, 1, 254, 255, 256, 257, 258, 1_019] {
            ids.append(.string(String(repeating: "x", count: length)))
            ids.append(.string(String(repeating: "\u{E9}", count: length / 2)))
        }
        for length in [254, 255, 256] {
            ids.append(.string(String(repeating: "x", count: length) + "\0"))
        }
        for id in ids {
            let key = try DocumentID.key(of: id)
            let bytes = try StoreKey.bytes(ofDocument: id, collection: 0x1234)
            #expect(bytes == [0x10, 0x12, 0x34] + key)
            #expect(try DocumentID.isKey(key))
            #expect(try DocumentID.id(of: key) == id)
        }
        let long = Value.string(String(repeating: "x", count: 1_020))
        #expect(throws: DocumentError.id(.tooLong(byteCount: 1_022, limit: 1_021))) {
            try StoreKey.bytes(ofDocument: long, collection: 1)
        }
        let longKey = SortKey.identity(of: long)
        #expect(longKey.count == 1_022)
        #expect(try !DocumentID.isKey(longKey))
    }

    @Test func `floats, null and deep nesting are refused in an id`() throws {
        func nested(_ levels: Int, _ leaf: Value, isObject: Bool) -> Value {
            (0..<levels).reduce(leaf) { value, _ in
                isObject ? .object(Object([("a", value)])) : .array([value])
            }
        }
        let cases: [(id: Value, reason: InvalidID)] = [
            (1.5, .float), (1.0, .float), (.null, .null), ([1, [.null]], .null),
            (["a": ["b": 0.5]], .float), (["a": [1, .null]], .null),
            (nested(65, 1, isObject: false), .tooDeep(limit: 64)),
            (nested(65, 1, isObject: true), .tooDeep(limit: 64)),
        ]
        for (id, reason) in cases {
            #expect(throws: DocumentError.id(reason)) { try DocumentID.key(of: id) }
            #expect(throws: DocumentError.id(reason)) {
                try StoreKey.bytes(ofDocument: id, collection: 1)
            }
        }
        for isObject in [false, true] {
            let id = nested(64, 1, isObject: isObject)
            #expect(try DocumentID.id(of: try DocumentID.key(of: id)) == id)
        }
    }

    @Test func `bytes that are the key of another value are not the key of an id`() throws {
        for value: Value in [.null, [.null], ["a": .null]] {
            #expect(try !DocumentID.isKey(SortKey.identity(of: value)))
        }
        let missing = #expect(throws: Malformed.self) { try DocumentID.isKey([0x80]) }
        #expect(missing == .invalid("a key that is not an id", at: 0))
        // A float has a trailer, which the key of an id has not.
        let float = #expect(throws: Malformed.self) {
            try DocumentID.isKey(SortKey.identity(of: 0.5))
        }
        #expect(float == .unexpected(0xBF, at: 1))
        let more = #expect(throws: Malformed.self) { try DocumentID.isKey([0x40, 0x61, 0, 0]) }
        #expect(more == .unexpected(0, at: 3))
        #expect(throws: Malformed.self) { try DocumentID.isKey([0x40, 0xFF, 0]) }
        #expect(throws: Malformed.self) { try DocumentID.isKey([0x40]) }
        #expect(throws: Malformed.self) { try DocumentID.isKey([]) }
    }
}
