import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Tokens written without a declared type, and objects that resemble tokens.
@Suite struct AttachmentTypingTests {
    private let clock = FakeClock()
    private static let photo = SampleFile(seed: 21, length: 3)

    private func store(isStrict: Bool = false) async throws -> Store {
        var options = StoreOptions()
        options.isStrict = isStrict
        options.storage.clock = clock.clock
        return try await Store.inMemory(options: options)
    }

    /// Whether the attachment survives three collections with an hour between them.
    private func isKept(_ id: AttachmentID, in store: Store) async throws -> Bool {
        for _ in 0..<3 {
            try await store.collectAttachments()
            clock.advance(milliseconds: 3_600_000)
        }
        return try store.attachments.has(id)
    }

    /// Returns the documents of `cars` as JSON, read with declared types.
    private func declared(_ types: String, _ store: Store) async throws -> [String] {
        let result = try await store.execute(
            DQL(verbatim: "SELECT * FROM COLLECTION cars (\(types))"))
        return try result.items.map { try $0.jsonString }
    }

    /// Statements, most without a type for the token, and the types that show it afterward.
    static let statements: [(text: String, types: String)] = [
        ("INSERT INTO cars DOCUMENTS ({'_id': 1, 'photo': :token})", "photo ATTACHMENT"),
        ("INSERT INTO cars DOCUMENTS (:car)", "photo ATTACHMENT"),
        ("INSERT INTO cars INITIAL DOCUMENTS (:car)", "photo ATTACHMENT"),
        ("INSERT INTO cars INITIAL DOCUMENTS ({'_id': 1, 'photo': :token})", "photo ATTACHMENT"),
        (
            "INSERT INTO COLLECTION cars (photo ATTACHMENT) INITIAL DOCUMENTS (:car)",
            "photo ATTACHMENT"
        ),
        ("INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO NOTHING", "photo ATTACHMENT"),
        ("INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE", "photo ATTACHMENT"),
        ("INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO MERGE", "photo ATTACHMENT"),
        ("INSERT INTO COLLECTION cars (n COUNTER) DOCUMENTS (:car)", "photo ATTACHMENT"),
        (
            "INSERT INTO COLLECTION cars (box MAP) DOCUMENTS ({'_id': 1, 'box': {'photo': :token}})",
            "box MAP (photo ATTACHMENT)"
        ),
    ]

    @Test(arguments: statements, [false, true])
    func `a token without a declared type is an attachment`(
        _ statement: (text: String, types: String), _ isStrict: Bool
    ) async throws {
        let store = try await store(isStrict: isStrict)
        let photo = try await store.newAttachment(
            data: Self.photo.bytes, metadata: ["type": "image/jpeg"])
        let token = photo.token.value
        try await store.execute(
            DQL(verbatim: statement.text),
            QueryArguments(["token": token, "car": ["_id": 1, "photo": token]]))
        let seen = try await declared(statement.types, store)
        #expect(seen.count == 1 && seen.first?.contains(photo.id.description) == true, "\(seen)")
        #expect(try await isKept(photo.id, in: store))
        // The attachment is unreferenced after the document is deleted.
        try await store.execute("DELETE FROM cars WHERE _id = 1")
        #expect(try await !isKept(photo.id, in: store))
        try await store.close()
    }

    @Test(
        arguments: [
            "UPDATE cars SET photo = :token WHERE _id = 1", "UPDATE cars SET photo = :token",
            "UPDATE COLLECTION cars (n COUNTER) APPLY n INCREMENT BY 1 SET photo = :token",
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'photo': :token}) ON ID CONFLICT DO UPDATE",
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'photo': :token}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
        ], [false, true])
    func `a token that is written into a document is an attachment`(
        _ statement: String, _ isStrict: Bool
    ) async throws {
        let store = try await store(isStrict: isStrict)
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'a': 1})")
        for _ in 0..<2 {
            try await store.execute(DQL(verbatim: statement), ["token": photo.token.value])
            let seen = try await declared("photo ATTACHMENT", store)
            #expect(seen.first?.contains(photo.id.description) == true, "\(seen)")
        }
        #expect(try await isKept(photo.id, in: store))
        try await store.close()
    }

    @Test func `a token in maps within maps is an attachment`() async throws {
        let store = try await store()
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        let token = photo.token.value
        try await store.execute(
            "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": 1, "a": ["b": ["c": token]]] as Value])
        try await store.execute("UPDATE cars SET x = :x", ["x": ["y": token] as Value])
        let seen = try await declared(
            "a MAP (b MAP (c ATTACHMENT)), x MAP (y ATTACHMENT)", store)
        #expect(seen.first?.components(of: photo.id.description) == 2, "\(seen)")
        // The tokens are visible without declared types.
        let shown = try await store.execute("SELECT a.b.c.id AS one, x.y.id AS two FROM cars")
        #expect(try shown.items[0]["one"] == .string(photo.id.description))
        #expect(try shown.items[0]["two"] == .string(photo.id.description))
        #expect(try await isKept(photo.id, in: store))
        try await store.close()
    }

    @Test(arguments: [
        "UPDATE cars SET photos = [:token] WHERE _id = 1",
        "UPDATE cars SET photos = {'all': [1, {'x': :token}]} WHERE _id = 1",
        "UPDATE COLLECTION cars (photos REGISTER) SET photos = :token WHERE _id = 1",
        "UPDATE COLLECTION cars (photos REGISTER) SET photos = {'x': :token} WHERE _id = 1",
    ])
    func `a token that cannot be an attachment keeps its file`(
        _ statement: String
    ) async throws {
        let store = try await store()
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
        try await store.execute(DQL(verbatim: statement), ["token": photo.token.value])
        let seen = try await declared("photos ATTACHMENT", store)
        #expect(seen == [#"{"_id":1}"#])
        #expect(try await isKept(photo.id, in: store))
        try await store.execute("UPDATE cars UNSET photos WHERE _id = 1")
        #expect(try await !isKept(photo.id, in: store))
        try await store.close()
    }

    @Test(arguments: [
        "UPDATE COLLECTION cars (photo MAP) SET photo = :token",
        "INSERT INTO COLLECTION cars (photo MAP) DOCUMENTS ({'_id': 2, 'photo': :token})",
    ])
    func `a token in a field that is declared as a map is refused`(
        _ statement: String
    ) async throws {
        let store = try await store()
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
        do {
            try await store.execute(DQL(verbatim: statement), ["token": photo.token.value])
            Issue.record("The token was accepted.")
        } catch let error as StoreError {
            #expect(error.reason == .argument)
            #expect(
                error.message.contains("photo is a MAP, but the value is an attachment token"))
            #expect(error.hint?.contains("ATTACHMENT") == true)
        }
        try await store.close()
    }

    @Test func `objects that only resemble tokens are not tokens`() throws {
        let id = Value.string(Self.photo.id.description)
        let tokens: [Object] = [
            ["id": id, "len": 0], ["id": id, "len": .integer(1 << 36)],
            ["id": id, "len": 1, "metadata": [:]], ["id": id, "len": 1, "metadata": ["a": "b"]],
        ]
        let others: [Object] = [
            ["id": id], ["id": id, "len": 1.0], ["id": id, "len": -1],
            ["id": id, "len": .integer((1 << 36) + 1)], ["id": id, "len": 1, "n": 1],
            ["id": id, "len": 1, "metadata": 1], ["id": id, "len": 1, "metadata": ["a": 1]],
            ["id": .string(Self.photo.id.description.uppercased()), "len": 1],
            ["id": .string(Self.photo.id.description + "0"), "len": 1], [:],
        ]
        #expect(tokens.allSatisfy { $0.isAttachmentToken })
        #expect(others.allSatisfy { !$0.isAttachmentToken })
    }

    @Test(arguments: UInt64(0)..<20)
    func `the digits of an id are found at any position`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "texts")
        let digits = Array("0123456789abcdef".utf8)
        let text = Array(Self.photo.id.description.utf8)
        for _ in 0..<200 {
            // The text mixes hexadecimal digits and random bytes.
            func noise(_ count: Int) -> [UInt8] {
                (0..<count).map { _ in
                    random.chance(1, in: 3)
                        ? digits[random.below(16)] : UInt8(truncatingIfNeeded: random.below(256))
                }
            }
            let before =
                noise(random.below(200)) + [0x40]
                + (0..<random.below(5)).map { _ in digits[random.below(16)] }
            let bytes = before + text + noise(random.below(100))
            var isFound = false
            bytes.withUnsafeBytes { bytes in
                AttachmentTexts.forEach(in: bytes) { found in
                    isFound = isFound || found.elementsEqual(text)
                    return !isFound
                }
            }
            #expect(isFound, "seed \(seed)")
        }
        let none =
            Array(repeating: UInt8(0x61), count: 63) + [0x20] + Array(repeating: 0x39, count: 63)
        #expect(!none.withUnsafeBytes { AttachmentTexts.isAny(in: $0) })
    }

    /// Maps and registers that resemble tokens, as older versions wrote them.
    @Test(arguments: [0, 1, 2])
    func `a token stored as a map or register keeps its file`(_ variant: Int) async throws {
        let store = try await store()
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        let id = photo.id.description
        switch variant {
        case 0:
            // The map is written field by field.
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'photo': {'len': 3}})")
            try await store.execute(
                "UPDATE cars SET photo.id = :id WHERE _id = 1", ["id": Value.string(id)])
        case 1:
            try await store.execute(
                "INSERT INTO COLLECTION cars (photo REGISTER) DOCUMENTS ({'_id': 1, 'photo': {'id': :id, 'len': 3}})",
                ["id": Value.string(id)])
        default:
            try await store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 1, 'photo': {'len': 3}, 'long': :long})",
                ["long": Value.string(String(repeating: "x", count: 4_000))])
            // This writes a delta record on top of a state.
            try await store.execute(
                "UPDATE cars SET photo.id = :id WHERE _id = 1", ["id": Value.string(id)])
        }
        let seen = try await declared("photo ATTACHMENT", store)
        #expect(seen.first?.contains(id) == false)
        #expect(try await isKept(photo.id, in: store))
        // A token that is written again becomes an attachment.
        try await store.execute(
            "UPDATE cars SET photo = :token WHERE _id = 1", ["token": photo.token.value])
        let again = try await declared("photo ATTACHMENT", store)
        #expect(again.first?.contains(id) == true)
        try await store.execute("EVICT FROM cars WHERE _id = 1")
        #expect(try await !isKept(photo.id, in: store))
        try await store.close()
    }

    @Test func `a token stored in an array during a collection keeps its file`() async throws {
        let store = try await store()
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        try await store.collectAttachments()
        clock.advance(milliseconds: 3_600_000)
        let before = store.queries.snapshot()
        try await store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 1, 'photos': [:token]})",
            ["token": photo.token.value])
        let found = try store.attachments.collect(graceMilliseconds: 600_000) {
            try before.referencedAttachments(among: $0)
        }
        #expect(found.removed == 0 && found.unreferenced == 1)
        try await store.close()
    }

    @Test func `a token that a peer sends in an array keeps its file`() throws {
        let scene = try FileScene(2)
        try scene.subscribe(1, ["SELECT * FROM cars"])
        try scene.connect(0, 1)
        try scene.execute(
            0, "INSERT INTO cars DOCUMENTS ({'_id': 1, 'photos': [:token]})",
            ["token": try Self.photo.token.value])
        try scene.run()
        _ = try scene.nodes[1].attachments.add(Self.photo.bytes)
        let snapshot = scene.nodes[1].store.queries.snapshot()
        #expect(try snapshot.referencedAttachments(among: [Self.photo.id]) == [Self.photo.id])
    }

    @Test func `a document of a Codable type has its token as an attachment`() async throws {
        struct Car: Codable {
            let _id: Int
            let photo: AttachmentToken
        }
        let store = try await store()
        let photo = try await store.newAttachment(data: Self.photo.bytes)
        try await store.execute(
            "INSERT INTO cars DOCUMENTS (:car)",
            ["car": try ValueEncoder().encode(Car(_id: 1, photo: photo.token))])
        let seen = try await declared("photo ATTACHMENT", store)
        #expect(seen.first?.contains(photo.id.description) == true)
        #expect(try await isKept(photo.id, in: store))
        try await store.close()
    }
}

extension String {
    /// Returns the number of occurrences of a text.
    fileprivate func components(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let found = rest.firstRange(of: text) {
            (count, rest) = (count + 1, rest[found.upperBound...])
        }
        return count
    }
}
