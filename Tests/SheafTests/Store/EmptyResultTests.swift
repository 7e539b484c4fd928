import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport
import Testing

/// The notes on empty results.
struct EmptyResultTests {
    private func store() async throws -> Store {
        let store = try await Store.inMemory()
        try await store.execute(
            """
            INSERT INTO sales DOCUMENTS
                ({'_id': 'a', 'price': 5, 'city': 'Rome', 'customer': {'name': 'Ann'}}),
                ({'_id': 'b', 'price': 7.5, 'city': 'Oslo', 'note': null})
            """)
        return store
    }

    private func notes(
        _ query: DQL, _ arguments: QueryArguments = QueryArguments()
    ) async throws -> [String] {
        let store = try await store()
        let result = try await store.execute(query, arguments)
        try await store.close()
        #expect(result.items.isEmpty)
        return result.notes
    }

    @Test(arguments: [7, 8, 9])
    func `an empty result has at most eight notes`(count: Int) async throws {
        let names = (0..<count).map { "zzqq\($0)" }
        let condition = names.map { "\($0) = 1" }.joined(separator: " AND ")
        let notes = try await notes(DQL(verbatim: "SELECT * FROM sales WHERE " + condition))
        #expect(notes == names.prefix(8).map { "no document in sales has a field \($0)" })
    }

    @Test func `an unknown collection is named with a similar one`() async throws {
        #expect(
            try await notes("SELECT * FROM sale")
                == ["there is no collection sale; did you mean sales?"])
        #expect(try await notes("SELECT * FROM other") == ["there is no collection other"])
        #expect(
            try await notes("UPDATE salse SET a = 1")
                == ["there is no collection salse; did you mean sales?"])
        #expect(
            try await notes("DELETE FROM salse WHERE _id = 'a'")
                == ["there is no collection salse; did you mean sales?"])
        #expect(
            try await notes("SELECT * FROM salse WHERE _id = 'a'")
                == ["there is no collection salse; did you mean sales?"])
    }

    @Test func `a collection without documents is named`() async throws {
        let store = try await store()
        try await store.execute("DELETE FROM sales WHERE true")
        let result = try await store.execute("SELECT * FROM sales WHERE prce = 1")
        #expect(result.notes == ["the collection sales has no documents"])
        try await store.close()
    }

    @Test func `an unknown field is named with a similar one`() async throws {
        let price = "no document in sales has a field prce; did you mean price?"
        #expect(try await notes("SELECT * FROM sales WHERE prce > 5") == [price])
        #expect(try await notes("UPDATE sales SET x = 1 WHERE prce > 5") == [price])
        #expect(try await notes("EVICT FROM sales WHERE prce > 5") == [price])
        #expect(
            try await notes("SELECT s.city FROM sales AS s WHERE s.customer.nme = 'Ann'")
                == [
                    "no document in sales has a field customer.nme; did you mean customer.name?"
                ])
        #expect(
            try await notes("SELECT price.net FROM sales WHERE price > 100 GROUP BY price.net")
                == ["no document in sales has a field price.net"])
        #expect(
            try await notes("SELECT * FROM sales WHERE price > 100 ORDER BY prize")
                == ["no document in sales has a field prize; did you mean price?"])
        #expect(
            try await notes("SELECT * FROM sales AS s JOIN sales AS t ON t._id = s.sale")
                == ["no document in sales has a field sale"])
    }

    @Test func `a field of another collection does not exist in this one`() async throws {
        let store = try await store()
        try await store.execute("INSERT INTO others DOCUMENTS ({'_id': 1, 'weight': 2})")
        let result = try await store.execute("SELECT * FROM sales WHERE weight = 2")
        #expect(result.notes == ["no document in sales has a field weight"])
        try await store.close()
    }

    @Test func `a forgotten quote is suggested`() async throws {
        #expect(
            try await notes("SELECT * FROM sales WHERE city = Berlin")
                == [
                    "Berlin is a field here, and no document in sales has it; write 'Berlin' for "
                        + "a text"
                ])
        #expect(
            try await notes("SELECT * FROM sales WHERE city IN (Berlin, 'Paris')")
                == [
                    "Berlin is a field here, and no document in sales has it; write 'Berlin' for "
                        + "a text"
                ])
        #expect(
            try await notes("SELECT * FROM sales WHERE price = prize")
                == [
                    "prize is a field here, and no document in sales has it; did you mean price, "
                        + "or the text 'prize'?"
                ])
    }

    @Test func `a comparison with another type is named`() async throws {
        #expect(
            try await notes("SELECT * FROM sales WHERE price = '5'")
                == ["price has only numbers in sales, and '5' is a text"])
        #expect(
            try await notes("SELECT * FROM sales WHERE city IN (1, 2)")
                == ["city has only texts in sales, and 1 is a number"])
        #expect(
            try await notes("SELECT * FROM sales WHERE _id = :id", ["id": 5])
                == ["_id has only texts in sales, and :id is a number"])
        #expect(
            try await notes("SELECT * FROM sales WHERE price LIKE '5%'")
                == ["price has only numbers in sales, and '5%' is a text"])
        #expect(try await notes("SELECT * FROM sales WHERE price = 6").isEmpty)
        #expect(try await notes("SELECT * FROM sales WHERE note = 6").isEmpty)
    }

    @Test func `an array in a list is named`() async throws {
        #expect(
            try await notes("SELECT * FROM sales WHERE city IN (:cities)", ["cities": ["Rome"]])
                == [
                    "IN (:cities) compares with the array itself; write IN :cities to compare "
                        + "with its elements"
                ])
    }

    @Test func `a text in double quotes is named`() async throws {
        #expect(
            try await notes("SELECT * FROM sales WHERE \"city\" = 'Rome'")
                == ["\"city\" is a text here, not a field; write city for the field"])
        #expect(
            try await notes("SELECT * FROM sales WHERE \"city\" LIKE 'R%'")
                == ["\"city\" is a text here, not a field; write city for the field"])
    }

    @Test func `a comparison with NULL is named`() async throws {
        let note =
            "a comparison with NULL is never true; write IS NULL, or IS MISSING where the field "
            + "may be absent"
        #expect(try await notes("SELECT * FROM sales WHERE note = NULL") == [note])
        #expect(try await notes("SELECT * FROM sales WHERE city != :city", ["city": nil]) == [note])
    }

    @Test func `comparisons within other expressions are named`() async throws {
        let null =
            "a comparison with NULL is never true; write IS NULL, or IS MISSING where the field "
            + "may be absent"
        let type = "city has only texts in sales, and 5 is a number"
        for (condition, note) in [
            ("price > 100 AND note = NULL", null), ("NOT (city = NULL)", null),
            ("price > 100 OR city = 5", type), ("price > 100 XOR (price > 100 OR city = 5)", type),
            ("CASE WHEN city = NULL THEN true ELSE false END", null),
            ("ANY v IN customer SATISFIES v = NULL END", null),
            ("ANY v IN customer SATISFIES v = 'Bob' OR city = 5 END", type),
            ("array_length(ARRAY v FOR v IN customer WHEN v = NULL END) > 0", null),
            (
                "price > 100 OR city = Berlin",
                "Berlin is a field here, and no document in sales has it; write 'Berlin' for a "
                    + "text"
            ),
        ] {
            let found = try await notes(
                DQL(verbatim: "SELECT * FROM sales WHERE " + condition))
            #expect(found == [note], "\(condition)")
        }
        #expect(
            try await notes(
                "SELECT * FROM sales WHERE array_length(ARRAY v FOR v IN customer END) > 5"
            ).isEmpty)
    }

    @Test func `a field that strict mode hides is named`() async throws {
        let store = try await store()
        try await store.execute("ALTER SYSTEM SET dql_strict_mode = true")
        try await store.execute(
            "INSERT INTO COLLECTION sales (tags MAP) DOCUMENTS ({'_id': 'c', 'tags': {'x': 1}})")
        let result = try await store.execute("SELECT * FROM sales WHERE tags.x = 1")
        #expect(
            result.notes == [
                "strict mode hides the field tags.x of sales, which is no register there; declare "
                    + "its type after the name of the collection, as in COLLECTION sales (tags MAP)"
            ])
        let declared = try await store.execute(
            "SELECT * FROM COLLECTION sales (tags MAP) WHERE tags.x = 1")
        #expect(declared.items.count == 1 && declared.notes.isEmpty)
        try await store.close()
    }

    @Test func `results with rows, written documents and failed inserts have no notes`()
        async throws
    {
        let store = try await store()
        for query: DQL in [
            "SELECT prce FROM sales", "SELECT * FROM sales WHERE _id = 'a'",
            "UPDATE sales SET prce = 1 WHERE _id = 'a'", "SELECT COUNT(*) FROM salse",
            "CREATE INDEX i ON nothing (x)", "SHOW dql_strict_mode",
        ] {
            #expect(try await store.execute(query).notes.isEmpty, "\(query)")
        }
        try await store.close()
    }

    @Test func `only the first documents of a large collection are read`() async throws {
        let store = try await store()
        try await store.transaction { transaction in
            for id in 0..<1_200 {
                try await transaction.execute(
                    "INSERT INTO t DOCUMENTS ({'_id': \(id), 'n': \(id)})")
            }
        }
        try await store.execute("UPDATE t SET last = true WHERE _id = 1199")
        let first = try await store.execute("SELECT * FROM t WHERE m = 1 AND last = false")
        #expect(
            first.notes == [
                "none of the first 1000 documents in t has a field m; did you mean n?",
                "none of the first 1000 documents in t has a field last",
            ])
        let typed = try await store.execute("SELECT * FROM t WHERE n = 'x'")
        #expect(
            typed.notes == [
                "n has only numbers in the first 1000 documents of t, and 'x' is a text"
            ])
        try await store.close()
    }

    @Test func `a transaction makes no claims on documents that it has changed`() async throws {
        let store = try await store()
        try await store.transaction { transaction in
            let before = try await transaction.execute("SELECT * FROM sales WHERE prce = 1")
            try await transaction.execute("INSERT INTO sales DOCUMENTS ({'_id': 'c', 'prce': 2})")
            try await transaction.execute("INSERT INTO fresh DOCUMENTS ({'_id': 'c', 'prce': 2})")
            for query: DQL in [
                "SELECT * FROM sales WHERE prce = 1", "UPDATE sales SET x = 1 WHERE prce = 1",
                "SELECT * FROM fresh WHERE prce = 1", "SELECT * FROM fresh WHERE _id = 'd'",
                "SELECT * FROM sales WHERE _id = 'd'",
            ] {
                #expect(try await transaction.execute(query).notes.isEmpty, "\(query)")
            }
            #expect(before.notes.count == 1)
            let other = try await transaction.execute("SELECT * FROM sales WHERE price = NULL")
            #expect(other.notes.count == 1)
        }
        try await store.close()
    }

    @Test func `the notes stay those of the snapshot of the result`() async throws {
        let store = try await store()
        let result = try await store.execute("SELECT * FROM sales WHERE weight = 1")
        try await store.execute("UPDATE sales SET weight = 2 WHERE _id = 'a'")
        #expect(result.notes == ["no document in sales has a field weight"])
        try await store.close()
        #expect(result.notes == ["no document in sales has a field weight"])
    }

    @Test func `notes never deny a field that a document has`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("notes on empty results, seed \(seed)")
        var random = SeededRandom(seed: seed, "notes")
        let fields = ["a", "b", "ab", "m.x", "m.y", "m.z.w"]
        for _ in 0..<60 {
            let store = try await Store.inMemory()
            var documents: [String: [Object]] = ["t": [], "u": []]
            for id in 0..<random.below(8) {
                var document: Object = ["_id": .integer(Int64(id))]
                if random.below(2) == 0 { document["a"] = Self.value(&random) }
                if random.below(3) == 0 { document["b"] = Self.value(&random) }
                switch random.below(4) {
                case 0: document["m"] = Self.value(&random)
                case 1: document["m"] = ["x": Self.value(&random)]
                case 2: document["m"] = ["y": 1, "z": ["w": Self.value(&random)]]
                default: break
                }
                let name = random.below(3) == 0 ? "u" : "t"
                documents[name, default: []].append(document)
                try await store.execute(
                    DQL(verbatim: "INSERT INTO \(name) DOCUMENTS (:document)"),
                    QueryArguments(["document": Value.object(document)]))
            }
            for _ in 0..<40 {
                let name = ["t", "u"][random.below(2)]
                let used = (0..<1 + random.below(3)).map { _ in fields[random.below(fields.count)] }
                let condition = used.map { "\($0) \(Self.comparison(&random))" }
                    .joined(separator: random.below(3) == 0 ? " OR " : " AND ")
                let text = "SELECT * FROM \(name) WHERE \(condition)"
                let result = try await store.execute(DQL(verbatim: text))
                let context = Comment(rawValue: "seed \(seed): \(text) \(result.notes)")
                guard result.items.isEmpty else {
                    #expect(result.notes.isEmpty, context)
                    continue
                }
                let known = documents[name] ?? []
                for field in used {
                    let path = field.split(separator: ".").map(String.init)
                    let prefixes = (1...path.count).map { Array(path.prefix($0)) }
                    let missing = prefixes.first { prefix in
                        known.allSatisfy { Self.value(in: $0, prefix) == nil }
                    }
                    let isDenied = result.notes.contains {
                        let claim = $0.prefix { $0 != ";" }
                        return prefixes.contains { prefix in
                            claim == "no document in \(name) has a field "
                                + prefix.joined(separator: ".")
                        }
                    }
                    #expect(isDenied == (missing != nil && !known.isEmpty), context)
                }
            }
            try await store.close()
        }
    }

    private static func value(_ random: inout SeededRandom) -> Value {
        [1, "x", .null, true, [1]][random.below(5)]
    }

    private static func comparison(_ random: inout SeededRandom) -> String {
        ["= 1", "> 5", "= 'x'", "IN (1, 2)", "LIKE 'y%'", "IS NULL", "= NULL", "BETWEEN 3 AND 4"][
            random.below(8)]
    }

    private static func value(in object: Object, _ path: [String]) -> Value? {
        var value: Value? = .object(object)
        for name in path {
            guard case .object(let inner)? = value else { return nil }
            value = inner[name]
        }
        return value
    }
}
