import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafTestSupport
import Testing

/// Insertions of instances, compared with statements that insert the same values.
@Suite struct TypedInsertionTests {
    private struct Part: Codable, Equatable, Sendable {
        var _id: String?
        var number: Int
        var sizes: [Double]
        var maker: [String: String]
        var photo: Value?
    }

    private struct Outcome: Equatable {
        var ids: [Value] = []
        var error: StoreError.Reason?
    }

    private func outcome(_ body: () async throws -> [Value]) async throws -> Outcome {
        do { return Outcome(ids: try await body()) } catch let error as StoreError {
            return Outcome(error: error.reason)
        }
    }

    private func part(_ random: inout SeededRandom) -> Part {
        // A value with the shape of an attachment token is inserted as an object.
        let token: Value = ["id": .string(String(repeating: "0f", count: 32)), "len": 3]
        return Part(
            _id: "\(random.below(60))", number: random.below(9),
            sizes: (0..<random.below(3)).map { Double($0) / 2 },
            maker: random.chance(1, in: 2) ? [:] : ["name": "m\(random.below(3))", "city": "c"],
            photo: random.chance(1, in: 8) ? token : nil)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `inserting instances equals inserting their values`(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "typed insertions")
        let (typed, plain) = (try await Store.inMemory(), try await Store.inMemory())
        let parts = typed.collection("parts", of: Part.self)
        var failures = 0
        for round in 0..<120 {
            let batch = (0..<[1, 1, 1, 2, 20, 40][random.below(6)]).map { _ in part(&random) }
            let values = try batch.map { try ValueEncoder().encode($0) }
            if random.chance(1, in: 4) {
                for store in [typed, plain] { try await store.execute("DELETE FROM parts") }
            }
            let found = try await outcome {
                batch.count == 1
                    ? try await parts.insert(batch[0]).ids : try await parts.insert(batch).ids
            }
            let expected = try await outcome {
                try await plain.execute(
                    "INSERT INTO parts DOCUMENTS (:parts)",
                    QueryArguments(["parts": .array(values)])
                ).mutatedDocumentIDs
            }
            #expect(found == expected, "seed \(seed), round \(round)")
            if found.error != nil { failures += 1 }
            let contents = try await contents(of: typed)
            #expect(try await self.contents(of: plain) == contents, "seed \(seed), round \(round)")
        }
        #expect(failures > 5 && failures < 100, "seed \(seed): \(failures)")
        try await typed.close()
        try await plain.close()
    }

    private func contents(of store: Store) async throws -> [String] {
        let result = try await store.execute("SELECT * FROM parts ORDER BY _id")
        return try result.items.map { try $0.jsonString }
    }

    /// A document with one field of any name.
    private struct Named: Encodable {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(_ name: String) { stringValue = name }
            init?(stringValue: String) { self.init(stringValue) }
            init?(intValue: Int) { nil }
        }

        let name: String
        let text: String

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(text, forKey: Key(name))
        }
    }

    @Test func `names that get numbers during an insertion are read in its transaction`()
        async throws
    {
        let store = try await Store.inMemory()
        let documents = store.collection("c", of: Named.self)
        // Documents of more than 8 KiB are measured with all of their names.
        let long = String(repeating: "x", count: 10_000)
        let engine = store.queries.documents
        let sequence = (0..<40).lazy.map { number in
            let name = number < 20 ? "early" : "late\(number % 2)"
            if number >= 20 { _ = engine.assignNumbers(to: [Array(name.utf8)]) }
            return Named(name: name, text: number % 3 == 0 ? long : "t")
        }
        try await store.transaction { transaction in
            try await documents.within(transaction).insert(sequence)
            for name in ["late0", "late1"] {
                let found = try await transaction.execute(
                    DQL(verbatim: "SELECT * FROM c WHERE \(name) IS NOT MISSING"))
                #expect(found.items.count == 10)
                for item in found.items { #expect(try item.jsonString.contains(name)) }
            }
            return .commit
        }
        #expect(try await store.execute("SELECT * FROM c").items.count == 40)
        try await store.close()
    }

    @Test func `documents whose names change are inserted, and their new names get numbers`()
        async throws
    {
        let store = try await Store.inMemory()
        let documents = store.collection("c", of: Named.self)
        let sequence = (0..<2_100).lazy.map { Named(name: $0 < 20 ? "early" : "late", text: "t") }
        #expect(try await documents.insert(sequence).ids.count == 2_100)
        let names = store.queries.documents.newestCatalog.names
        #expect(names.number(of: Array("late".utf8)) != nil)
        let late = try await store.execute("SELECT * FROM c WHERE late = 't'")
        #expect(late.items.count == 2_080)
        try await store.close()
    }

    @Test func `an id that a sequence repeats is named as such`() async throws {
        let store = try await Store.inMemory()
        let parts = store.collection("parts", of: Part.self)
        for repeated in [3, 30] {
            let sequence = (0..<40).map { number in
                let id = number == repeated + 2 ? repeated : number
                return Part(_id: "\(id)", number: 0, sizes: [], maker: [:], photo: nil)
            }
            let error = await #expect(throws: StoreError.self) {
                try await parts.insert(sequence)
            }
            #expect(error?.message.contains("have the _id \"\(repeated)\"") == true)
        }
        try await store.close()
    }

    @Test(arguments: [
        "SET dql_strict_mode = true", "SET dql_default_directives = {'#max_joins': 1}",
    ])
    func `parameters that need plans insert the same documents`(_ setting: String) async throws {
        let store = try await Store.inMemory()
        try await store.execute(DQL(verbatim: "ALTER SYSTEM \(setting)"))
        let parts = store.collection("parts", of: Part.self)
        let sequence = (0..<1_100).lazy.map {
            Part(_id: "\($0)", number: $0, sizes: [0.5], maker: [:], photo: nil)
        }
        #expect(try await parts.insert(sequence).ids.count == 1_100)
        #expect(try await parts.get("1050")?.number == 1_050)
        try await store.close()
    }

    @Test func `an array in a JSON text is inserted, and DISTINCT is refused`() async throws {
        let store = try await Store.inMemory()
        let texts = ["[{\"_id\":1},{\"_id\":2}]", " {\"_id\":3}"]
        for text in texts {
            try await store.execute(
                "INSERT INTO c DOCUMENTS (deserialize_json(:text))", ["text": text])
        }
        #expect(try await store.execute("SELECT * FROM c").items.count == 3)
        await #expect(throws: StoreError.self) {
            try await store.execute(
                "INSERT INTO c DOCUMENTS (deserialize_json(DISTINCT :text))",
                ["text": "{\"_id\":4}"])
        }
        try await store.close()
    }

    @Test func `an attachment token of an instance is stored as a token`() async throws {
        let store = try await Store.inMemory()
        let token: Value = ["id": .string(String(repeating: "0f", count: 32)), "len": 3]
        let parts = store.collection("parts", of: Part.self)
        try await parts.insert(Part(_id: "a", number: 1, sizes: [], maker: [:], photo: token))
        let snapshot = store.queries.snapshot()
        let number = try #require(snapshot.catalog.number(ofCollection: "parts"))
        let key = try StoreKey.bytes(ofDocument: "a", collection: number)
        let document = try #require(try snapshot.document(key))
        let hasTokens = try document.bytes.withUnsafeBytes { try EncodedDocument($0).hasTokens() }
        #expect(hasTokens)
        try await store.close()
    }

    @Test func `an id is generated for an instance without one`() async throws {
        let store = try await Store.inMemory()
        let parts = store.collection("parts", of: Part.self)
        let part = Part(_id: nil, number: 1, sizes: [], maker: [:], photo: nil)
        let written = try await parts.insert(part)
        let id = try #require(written.ids.first)
        #expect(try await parts.get(id)?.number == 1)
        try await store.close()
    }

    @Test func `a transaction sees instances that it has inserted`() async throws {
        let store = try await Store.inMemory()
        let parts = store.collection("parts", of: Part.self)
        try await store.transaction { transaction in
            let inner = parts.within(transaction)
            let part = Part(_id: "a", number: 1, sizes: [0.5], maker: ["name": "x"], photo: nil)
            try await inner.insert(part)
            #expect(try await inner.get("a") == part)
            try await inner.update("a") { $0.number = 2 }
            return .commit
        }
        #expect(try await parts.get("a")?.number == 2)
        try await store.close()
    }
}
