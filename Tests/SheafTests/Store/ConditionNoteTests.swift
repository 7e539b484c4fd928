import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// The notes on conditions that no document satisfies.
@Suite struct ConditionNoteTests {
    private func store() async throws -> Store {
        let store = try await Store.inMemory()
        try await store.execute(
            """
            INSERT INTO sales DOCUMENTS
                ({'_id': 'a', 'price': 5, 'city': 'Rome', 'open': true, 'tags': ['x'],
                    'customer': {'name': 'Ann'}}),
                ({'_id': 'b', 'price': 7.5, 'city': 'Oslo', 'open': false, 'mixed': 1}),
                ({'_id': 'c', 'mixed': 'x', 'note': null})
            """)
        return store
    }

    /// Expects the notes of statements, which must have no rows.
    private func expect(_ cases: [(text: String, notes: [String])]) async throws {
        let store = try await store()
        let arguments: QueryArguments = [
            "array": [1] as Value, "object": ["k": 1] as Value, "bytes": Value.bytes([1]),
        ]
        for (text, notes) in cases {
            let result = try await store.execute(DQL(verbatim: text), arguments)
            #expect(result.items.isEmpty, "\(text)")
            #expect(result.notes == notes, "\(text)")
        }
        try await store.close()
    }

    private func expect(conditions: [(condition: String, notes: [String])]) async throws {
        try await expect(
            conditions.map { ("SELECT * FROM sales WHERE " + $0.condition, $0.notes) })
    }

    private static let null =
        "a comparison with NULL is never true; write IS NULL, or IS MISSING where the field may be "
        + "absent"
    private static let quoted = "\"city\" is a text here, not a field; write city for the field"

    private static func bareWord(_ name: String) -> String {
        "\(name) is a field here, and no document in sales has it; write '\(name)' for a text"
    }

    @Test func `a constant of another type is named with both types`() async throws {
        func number(_ text: String) -> String {
            "price has only numbers in sales, and \(text)"
        }
        func text(_ text: String) -> String { "city has only texts in sales, and \(text)" }
        try await expect(conditions: [
            ("price BETWEEN 'a' AND 'b'", [number("'a' is a text"), number("'b' is a text")]),
            ("price BETWEEN 9 AND 'b'", [number("'b' is a text")]),
            ("price NOT BETWEEN 'a' AND 'b'", []), ("price IN ('a', 1)", []),
            ("price IN ('a', true)", [number("'a' is a boolean or a text")]),
            ("price NOT LIKE 'x%'", []), ("'x' = price", [number("'x' is a text")]),
            ("price > 'x'", [number("'x' is a text")]), ("city = -5", [text("-5 is a number")]),
            ("city = true", [text("true is a boolean")]),
            ("city < :array", [text(":array is an array")]),
            ("city = :object", [text(":object is an object")]),
            ("city = :bytes", [text(":bytes is binary")]), ("city = lower('X')", []),
            ("open = 1", ["open has only booleans in sales, and 1 is a number"]),
            ("tags = 'x'", ["tags has only arrays in sales, and 'x' is a text"]),
            ("customer = 'Ann'", ["customer has only objects in sales, and 'Ann' is a text"]),
            ("mixed = true", ["mixed has only numbers or texts in sales, and true is a boolean"]),
            ("mixed = 2", []), ("note = 5", []),
            ("_id = 5", ["_id has only texts in sales, and 5 is a number"]),
            ("price BETWEEN NULL AND 3", [Self.null]), ("NULL = price", [Self.null]),
        ])
    }

    @Test func `a name without quotes and a text in double quotes are named`() async throws {
        try await expect(conditions: [
            ("city LIKE Bern", [Self.bareWord("Bern")]),
            ("city BETWEEN Aa AND Bb", [Self.bareWord("Aa"), Self.bareWord("Bb")]),
            ("ANY v IN tags SATISFIES v = w END", [Self.bareWord("w")]),
            ("ANY v IN tags SATISFIES w = v END", ["no document in sales has a field w"]),
            ("Bern = city", ["no document in sales has a field Bern"]),
            ("5 = Bern", ["no document in sales has a field Bern"]),
            ("city = price.x", ["no document in sales has a field price.x"]),
            ("\"city\" IN ('Rome')", [Self.quoted]), ("\"city\" = \"Rome\"", [Self.quoted]),
            ("'Rome' = \"city\"", [Self.quoted]), ("\"city\" IS NULL", [Self.quoted]),
            ("\"city\" BETWEEN 'A' AND 'B'", [Self.quoted]), ("\"Bern\" = city", []),
            ("'city' = 'Rome'", []), ("city IN (\"Bern\")", []),
        ])
    }

    @Test func `the first missing name of a path is named with a similar one`() async throws {
        try await expect(conditions: [
            ("customer.name.first = 1", ["no document in sales has a field customer.name.first"]),
            (
                "customers.name = 1",
                ["no document in sales has a field customers; did you mean customer?"]
            ),
            (
                "customer.nam.first = 1",
                ["no document in sales has a field customer.nam; did you mean customer.name?"]
            ),
            ("price.net.tax = 1", ["no document in sales has a field price.net"]),
            ("zz = 1 OR zz = 2", ["no document in sales has a field zz"]),
        ])
    }

    @Test func `all expressions of a statement are searched for missing fields`() async throws {
        let note = "no document in sales has a field prce; did you mean price?"
        try await expect([
            (
                "SELECT city FROM sales GROUP BY city HAVING city = 5",
                ["city has only texts in sales, and 5 is a number"]
            ),
            ("SELECT prce FROM sales WHERE price > 100", [note]),
            ("SELECT price AS p FROM sales WHERE price > 100 ORDER BY p", []),
            ("SELECT price AS p FROM sales WHERE price > 100 ORDER BY prce", [note]),
            ("UPDATE sales SET x = prce WHERE price > 100", [note]),
            ("UPDATE sales APPLY n INCREMENT BY prce WHERE price > 100", [note]),
            ("UPDATE sales APPLY n RESTART WITH prce WHERE price > 100", [note]),
            ("UPDATE sales APPLY n RESTART WHERE price > 100", []),
            ("UPDATE sales UNSET prce WHERE price > 100", []),
            ("DELETE FROM sales WHERE price > 100 ORDER BY prce LIMIT 1", [note]),
            ("INSERT INTO other SELECT * FROM sales WHERE prce = 1", [note]),
            ("SELECT * FROM system:indexes WHERE nme = 1", []),
            ("SELECT * FROM sales AS OF COMMIT 1 WHERE prce = 1", []),
            (
                "SELECT * FROM COLLECTION sales (city COUNTER) WHERE city = 1",
                ["no document in sales has a field city of the type that the statement declares"]
            ),
        ])
    }

    @Test func `notes know the documents of a collection of up to 1,000, deleted ones included`()
        async throws
    {
        let store = try await Store.inMemory()
        func notes() async throws -> [String] {
            try await store.execute("SELECT * FROM t WHERE m = 1").notes
        }
        let objects = (0..<1_000).map { Value.object(["_id": .integer(Int64($0))]) }
        try await store.execute(
            "INSERT INTO t DOCUMENTS (:all)", ["all": Value.array(objects)])
        #expect(try await notes() == ["no document in t has a field m"])
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1000})")
        #expect(try await notes() == ["none of the first 1000 documents in t has a field m"])
        try await store.execute("DELETE FROM t WHERE _id < 1000")
        #expect(try await notes() == [])
        try await store.close()
    }
}
