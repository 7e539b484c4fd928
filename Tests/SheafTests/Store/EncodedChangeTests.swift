import Sheaf
import SheafDocument
import SheafStorage
import SheafTestSupport
import Testing

/// Transactions that change documents once or several times, in plain values or others.
@Suite struct EncodedChangeTests {
    private struct Car: Equatable {
        var make: String
        var number: Int64
        var notes: [String: Int64] = [:]

        init(make: String, number: Int64) {
            (self.make, self.number) = (make, number)
        }

        init?(_ item: QueryResultItem) throws {
            guard case .string(let make)? = try item["make"],
                case .integer(let number)? = try item["n"]
            else { return nil }
            self.init(make: make, number: number)
            guard case .object(let object)? = try item["notes"] else { return }
            for field in object {
                if case .integer(let value) = field.value { notes[field.name] = value }
            }
        }
    }

    private static let makes = ["Fiat", "Seat", "Volvo"]

    /// The expected documents, and the statements that change them.
    private struct Model {
        var cars: [String: Car] = [:]
        var random: SeededRandom

        private func id(_ count: Int) -> String { "car \(count)" }

        /// Executes a random statement, and changes the expected documents alike.
        mutating func execute(in transaction: StoreTransaction) async throws {
            let id = id(random.below(random.chance(1, in: 2) ? 6 : 400))
            let make = EncodedChangeTests.makes[random.below(3)]
            let number = Int64(random.below(1_000))
            let idArgument = QueryArguments(["id": .string(id)])
            switch random.below(11) {
            case 0, 1: try await insert([id], make, number, in: transaction)
            case 2:
                let others = (0..<random.below(20)).map { self.id(1_000 + $0 * 17 + Int(number)) }
                try await insert(others + [id], make, number, in: transaction)
            case 3, 4:
                try await transaction.execute(
                    "UPDATE cars SET make = :make, n = :n WHERE _id = :id",
                    QueryArguments([
                        "id": .string(id), "make": .string(make), "n": .integer(number),
                    ]))
                cars[id]?.make = make
                cars[id]?.number = number
            case 5:
                try await transaction.execute(
                    "UPDATE cars SET n = :n WHERE _id = :id",
                    QueryArguments(["id": .string(id), "n": .integer(number)]))
                cars[id]?.number = number
            case 6:
                let note = "note\(random.below(3))"
                try await transaction.execute(
                    DQL(verbatim: "UPDATE cars SET notes.\(note) = :n WHERE _id = :id"),
                    QueryArguments(["id": .string(id), "n": .integer(number)]))
                cars[id]?.notes[note] = number
            case 7:
                try await transaction.execute("DELETE FROM cars WHERE _id = :id", idArgument)
                cars[id] = nil
            case 8:
                let object = document(id, make, number)
                try await transaction.execute(
                    "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO NOTHING",
                    QueryArguments(["car": object]))
                if cars[id] == nil { cars[id] = Car(make: make, number: number) }
            case 9: try await failUpdate(of: id, in: transaction)
            default:
                try await transaction.execute("EVICT FROM cars WHERE _id = :id", idArgument)
                cars[id] = nil
            }
        }

        /// Returns a document, sometimes with a text that may be an attachment id.
        private mutating func document(_ id: String, _ make: String, _ number: Int64) -> Value {
            var object = Object([
                ("_id", .string(id)), ("make", .string(make)), ("n", .integer(number)),
            ])
            if random.chance(1, in: 5) {
                object["text"] = .string(String(repeating: "0123456789abcdef", count: 4))
            }
            return .object(object)
        }

        /// Executes an update that is refused after the document was opened.
        private func failUpdate(of id: String, in transaction: StoreTransaction) async throws {
            guard cars[id] != nil else { return }
            var nested = Value.integer(1)
            for _ in 0..<Value.maximumDepth - 1 { nested = .array([nested]) }
            let arguments = QueryArguments(["id": .string(id), "nested": nested])
            await #expect(throws: StoreError.self) {
                try await transaction.execute(
                    "UPDATE cars SET make = 'none', a.b.c = :nested WHERE _id = :id", arguments)
            }
        }

        /// Inserts cars in one statement, which fails atomically if one of them exists.
        private mutating func insert(
            _ ids: [String], _ make: String, _ number: Int64, in transaction: StoreTransaction
        ) async throws {
            var documents: [Value] = []
            for id in ids { documents.append(document(id, make, number)) }
            let arguments = QueryArguments(["cars": .array(documents)])
            guard ids.allSatisfy({ cars[$0] == nil }) else {
                let error = await #expect(throws: StoreError.self) {
                    try await transaction.execute("INSERT INTO cars DOCUMENTS (:cars)", arguments)
                }
                #expect(error?.reason == .conflict)
                return
            }
            try await transaction.execute("INSERT INTO cars DOCUMENTS (:cars)", arguments)
            for id in ids { cars[id] = Car(make: make, number: number) }
        }

        /// Compares all documents, found one by one, by a scan, and by an index.
        func compare(
            _ when: String, _ execute: (DQL, QueryArguments) async throws -> QueryResult
        ) async throws {
            var found: [String: Car] = [:]
            for item in try await execute("SELECT * FROM cars", [:]).items {
                guard case .string(let id)? = try item["_id"] else { continue }
                found[id] = try Car(item)
            }
            #expect(found == cars, "\(when), by a scan")
            for make in EncodedChangeTests.makes {
                let ids = try await execute(
                    "SELECT _id FROM cars WHERE make = :make", ["make": make]
                ).items.compactMap { item -> String? in
                    guard case .string(let id)? = try item["_id"] else { return nil }
                    return id
                }
                let expected = cars.filter { $0.value.make == make }.keys.sorted()
                #expect(ids.sorted() == expected, "\(when), by the index")
            }
            for number in 0..<12 {
                let id = "car \(number)"
                let items = try await execute(
                    "SELECT * FROM cars WHERE _id = :id", ["id": id]
                ).items
                #expect(try items.first.flatMap { try Car($0) } == cars[id], "\(when), by id")
            }
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `documents changed once or often in a transaction match a model`(
        seed: UInt64
    ) async throws {
        let directory = TemporaryDirectory()
        // Without a flush, transactions see the commits before them as pending.
        var options = StoreOptions(
            durability: seed.isMultiple(of: 2) ? .full : .relaxed(milliseconds: 60_000))
        // Changes beyond this length are written before the transaction commits.
        if let length = [1, 700, nil][Int(seed / 2 % 3)] {
            options.storage.stagingThreshold = length
            options.storage.segmentLength = 10_000
        }
        var store = try await Store.open(at: directory.path, options: options)
        try await store.execute("CREATE INDEX by_make ON cars (make)")
        var model = Model(random: SeededRandom(seed: seed, "encoded changes"))
        for round in 0..<25 {
            let before = model
            let commits = model.random.chance(3, in: 4)
            let count = 1 + model.random.below(30)
            let isRead = model.random.chance(1, in: 3)
            var next = model
            try await store.transaction { transaction in
                for step in 0..<count {
                    try await next.execute(in: transaction)
                    guard isRead, step.isMultiple(of: 5) else { continue }
                    try await next.compare("seed \(seed), round \(round), step \(step)") {
                        try await transaction.execute($0, $1)
                    }
                }
                return commits ? .commit : .rollback
            }
            model = commits ? next : Model(cars: before.cars, random: next.random)
            let expected = model
            try await store.transaction { transaction in
                try await expected.compare("seed \(seed), round \(round)") {
                    try await transaction.execute($0, $1)
                }
                return .rollback
            }
            guard model.random.chance(1, in: 8) else { continue }
            try await store.close()
            try expectSound(directory.path, seed: seed)
            store = try await Store.open(at: directory.path, options: options)
        }
        try await store.close()
        try expectSound(directory.path, seed: seed)
    }

    /// Verifies the files of a closed store.
    private func expectSound(_ path: String, seed: UInt64) throws {
        let volume = try ReadOnlyVolume.open(at: path)
        let found = try Verifier.verify(volume)
        #expect(found.findings.filter { $0.severity != .note } == [], "seed \(seed)")
        let temporary = try volume.names().filter { FileName($0) == .temporary }
        #expect(temporary == [], "seed \(seed)")
    }

    @Test func `inserting the id of a document with the text of a token conflicts`() async throws {
        let store = try await Store.inMemory()
        let tokenLike = Value.object(
            Object([("_id", 1), ("text", .string(String(repeating: "0123456789abcdef", count: 4)))])
        )
        try await store.execute(
            "INSERT INTO cars DOCUMENTS (:car)", QueryArguments(["car": tokenLike]))
        let error = await #expect(throws: StoreError.self) {
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
        }
        #expect(error?.reason == .conflict)
        try await store.close()
    }

    @Test func `a document of exactly the maximum length is accepted, and no longer one`()
        async throws
    {
        let store = try await Store.inMemory()
        func insert(_ length: Int, id: Int64) async throws {
            let text = Value.string(String(repeating: "z", count: length))
            try await store.execute(
                "INSERT INTO cars DOCUMENTS (:car)",
                QueryArguments(["car": .object(Object([("_id", .integer(id)), ("t", text)]))]))
        }
        // Names that occur once are spelled, and a number takes as many bytes here.
        for id in 0..<3 as Range<Int64> { try await insert(1, id: id) }
        try await store.execute("ALTER SYSTEM SET document_size_hard_limit_bytes = 1000")
        var longest = 0
        for length in 900..<1_000 {
            do { try await insert(length, id: Int64(length)) } catch let error as StoreError {
                #expect(error.reason == .limit)
                break
            }
            longest = length
        }
        #expect(950..<999 ~= longest)
        await #expect(throws: StoreError.self) { try await insert(longest + 1, id: 5) }
        try await insert(longest, id: 6)
        await #expect(throws: StoreError.self) {
            try await store.execute(
                "UPDATE cars SET u = 'more' WHERE _id = 6")
        }
        try await store.close()
    }

    @Test
    func `after a rollback, the next transaction does not see a document of a failed update`()
        async throws
    {
        let store = try await Store.inMemory(
            options: StoreOptions(durability: .relaxed(milliseconds: 60_000)))
        // With a pending commit, the pending documents outlive a transaction.
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        var nested = Value.integer(1)
        for _ in 0..<Value.maximumDepth - 1 { nested = .array([nested]) }
        let arguments = QueryArguments(["nested": nested])
        try await store.transaction { transaction in
            for _ in 0..<2 {
                try await transaction.execute(
                    "INSERT INTO cars DOCUMENTS ({'_id': 1}) ON ID CONFLICT DO NOTHING")
            }
            await #expect(throws: StoreError.self) {
                try await transaction.execute(
                    "UPDATE cars SET a.b.c = :nested WHERE _id = 1", arguments)
            }
            return .rollback
        }
        try await store.transaction { transaction in
            #expect(try await transaction.execute("SELECT * FROM cars").items.count == 1)
            try await transaction.execute("INSERT INTO cars DOCUMENTS ({'_id': 1})")
            return .commit
        }
        try await store.close()
    }

    @Test func `a document inserted and evicted in one transaction stays absent`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0, 'n': 0})")
        try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 1})")
            try await transaction.execute("EVICT FROM cars WHERE _id = 1")
            return .commit
        }
        try await store.execute("UPDATE cars SET n = 5 WHERE _id = 0")
        #expect(try await store.execute("SELECT * FROM cars").items.count == 1)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': 2})")
        #expect(try await store.execute("SELECT * FROM cars").items.count == 2)
        try await store.close()
    }

    @Test func `many documents of one transaction are found again`() async throws {
        let store = try await Store.inMemory()
        try await store.transaction { transaction in
            for number in 0..<3_000 as Range<Int64> {
                try await transaction.execute(
                    "INSERT INTO cars DOCUMENTS (:car)",
                    QueryArguments([
                        "car": .object(
                            Object([("_id", .integer(number)), ("n", .integer(number))]))
                    ]))
            }
            for number in 0..<3_000 as Range<Int64> {
                try await transaction.execute(
                    "UPDATE cars SET n = :n WHERE _id = :id",
                    QueryArguments(["id": .integer(number), "n": .integer(-number)]))
            }
            return .commit
        }
        let items = try await store.execute("SELECT * FROM cars").items
        #expect(items.count == 3_000)
        for item in items {
            guard case .integer(let id)? = try item["_id"] else { continue }
            #expect(try item["n"] == .integer(-id))
        }
        try await store.close()
    }
}
