import Sheaf
import SheafDocument
import SheafStatements
import Testing

/// The notes on conditions that found nothing.
@Suite struct ConditionNoteTests {
    /// Runs statements that find nothing, each with the notes that its result must have.
    private func check(_ cases: [(statement: String, notes: [String])]) async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            """
            INSERT INTO sales DOCUMENTS
                ({'_id': 'a', 'price': 5, 'city': 'Rome', 'customer': {'name': 'Ann'}}),
                ({'_id': 'b', 'price': 7.5, 'city': 'Oslo', 'note': null})
            """)
        for (statement, notes) in cases {
            let result = try await store.execute(DQL(verbatim: statement), ["p": [1], "n": 5])
            #expect(result.items.isEmpty, "\(statement)")
            #expect(result.notes == notes, "\(statement)")
        }
        try await store.close()
    }

    private func check(conditions: [(condition: String, notes: [String])]) async throws {
        try await check(
            conditions.map { ("SELECT * FROM sales WHERE " + $0.condition, $0.notes) })
    }

    @Test func `a constant of another type than all values of a field is named`() async throws {
        try await check(conditions: [
            ("5 = city", ["city has only texts in sales, and 5 is a number"]),
            ("city = -(5)", ["city has only texts in sales, and -(5) is a number"]),
            ("city > :n", ["city has only texts in sales, and :n is a number"]),
            ("price = :p", ["price has only numbers in sales, and :p is an array"]),
            ("city = true", ["city has only texts in sales, and true is a boolean"]),
            ("customer = 5", ["customer has only objects in sales, and 5 is a number"]),
            ("customer.name = 5", ["customer.name has only texts in sales, and 5 is a number"]),
            ("city IN (1, true)", ["city has only texts in sales, and 1 is a boolean or a number"]),
            (
                "price BETWEEN 'a' AND 'b'",
                [
                    "price has only numbers in sales, and 'a' is a text",
                    "price has only numbers in sales, and 'b' is a text",
                ]
            ),
            ("price BETWEEN 'a' AND 8", ["price has only numbers in sales, and 'a' is a text"]),
            // One of the constants may be equal, and a negated comparison need not be.
            ("city IN (1, 'Paris')", []), ("price NOT BETWEEN 'a' AND 'b'", []),
            ("city = [5]", []), ("note = 5", []), ("price = 5 + 1", []),
        ])
    }

    @Test func `a comparison with NULL is named once, on either side and in a range`() async throws
    {
        let null =
            "a comparison with NULL is never true; write IS NULL, or IS MISSING where the field "
            + "may be absent"
        try await check(conditions: [
            ("NULL = note", [null]), ("NULL = NULL", [null]),
            ("note = NULL OR NULL = note", [null]), ("price BETWEEN NULL AND 8", [null]),
            ("price BETWEEN 1 AND NULL", [null]), ("price NOT BETWEEN 1 AND NULL", [null]),
            ("price > 100 AND note IS NOT NULL", []),
        ])
    }

    @Test func `a text in double quotes is named if it is compared with constants`() async throws {
        let city = "\"city\" is a text here, not a field; write city for the field"
        try await check(conditions: [
            ("'Rome' = \"city\"", [city]), ("\"city\" = \"Rome\"", [city]),
            ("\"city\" IN ('Rome', 'Oslo')", [city]), ("\"city\" BETWEEN 'S' AND 'Z'", [city]),
            ("\"city\" IN ('Rome', price)", []), ("'city' = 'Rome'", []),
            (
                "\"two words\" IS NULL",
                [
                    "\"two words\" is a text here, not a field; write `two words` for the field"
                ]
            ),
        ])
    }

    @Test func `a name beside a field may be a text without quotes`() async throws {
        func note(_ name: String) -> [String] {
            ["\(name) is a field here, and no document in sales has it; write '\(name)' for a text"]
        }
        try await check(conditions: [
            ("price BETWEEN low AND 9", note("low")), ("price BETWEEN 1 AND low", note("low")),
            ("city LIKE Berlin", note("Berlin")), ("city IN ('Paris', Berlin)", note("Berlin")),
            // Neither is compared with a field, or a single name.
            ("lower(city) = Berlin", ["no document in sales has a field Berlin"]),
            ("'Rome' = Berlin", ["no document in sales has a field Berlin"]),
            ("city = Berlin.x", ["no document in sales has a field Berlin"]),
        ])
    }

    @Test func `the notes are on all expressions but the names of columns`() async throws {
        let price = ["no document in sales has a field prce; did you mean price?"]
        try await check([
            ("SELECT city FROM sales GROUP BY city HAVING MAX(prce) > 1", price),
            ("SELECT price AS p FROM sales WHERE price > 100 ORDER BY p", []),
            (
                "SELECT price AS p FROM sales WHERE price > 100 ORDER BY p.x",
                ["no document in sales has a field p"]
            ),
            ("SELECT prce AS p FROM sales WHERE price > 100 ORDER BY p", price),
            ("UPDATE sales SET x = prce WHERE price > 100", price),
            ("UPDATE sales UNSET prce WHERE price > 100", []),
            ("DELETE FROM sales WHERE price > 100 ORDER BY prce LIMIT 1", price),
            ("SELECT sales FROM sales WHERE price > 100", []),
        ])
    }
}
