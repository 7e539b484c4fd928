import SheafDocument
import SheafQuery
import Testing

/// Statements that are known to touch few documents before they run.
@Suite struct BriefStatementTests {
    private func isBrief(_ text: String, _ arguments: ArgumentValues) throws -> Bool {
        try Parser.parse(text).isBrief(arguments)
    }

    private func documents(_ count: Int) -> Value {
        .array(Array(repeating: ["n": 1], count: count))
    }

    @Test func `a statement for one id is brief, and one that needs a plan is not`() throws {
        for text in [
            "SELECT * FROM t WHERE _id = :id", "UPDATE t SET a = a + 1 WHERE _id = 1",
            "DELETE FROM t WHERE _id = :id RETURNING *", "EVICT FROM t WHERE _id = 'a'",
        ] {
            #expect(try isBrief(text, ["id": 1]), "\(text)")
        }
        for text in ["SELECT * FROM t", "DELETE FROM t WHERE _id > 1", "SHOW ALL"] {
            #expect(try !isBrief(text, ["id": 1]), "\(text)")
        }
    }

    @Test func `an insertion of up to 16 documents is brief`() throws {
        let one = "INSERT INTO t DOCUMENTS (:a)"
        #expect(try isBrief(one, ["a": ["n": 1]]))
        #expect(try isBrief(one, [:]))
        #expect(try isBrief(one, ["a": documents(16)]))
        #expect(try !isBrief(one, ["a": documents(17)]))
        let two = "INSERT INTO t DOCUMENTS (:a), (:b)"
        #expect(try isBrief(two, ["a": documents(8), "b": documents(8)]))
        #expect(try !isBrief(two, ["a": documents(8), "b": documents(9)]))
        #expect(try isBrief(two, ["a": ["n": 1], "b": documents(15)]))
        #expect(try !isBrief(two, ["a": documents(16), "b": ["n": 1]]))
        let several = Array(repeating: "(:a)", count: 16).joined(separator: ", ")
        #expect(try isBrief("INSERT INTO t DOCUMENTS \(several)", ["a": ["n": 1]]))
        #expect(try !isBrief("INSERT INTO t DOCUMENTS \(several), (:a)", ["a": ["n": 1]]))
    }

    @Test func `the insertion of a JSON text is brief if it is one object of up to 16 KiB`() throws
    {
        func isBriefText(_ text: Value) throws -> Bool {
            try isBrief("INSERT INTO t DOCUMENTS (deserialize_json(:text))", ["text": text])
        }
        let padding = String(repeating: " ", count: 16_382)
        for text in ["{}", " \t\n{}", "{", "{}" + padding] {
            #expect(try isBriefText(.string(text)), "\(text.count)")
        }
        for text in ["", "  ", "[]", " [{}]", "1", "!{", "{} " + padding] {
            #expect(try !isBriefText(.string(text)), "\(text.count)")
        }
        // The statement fails at once.
        #expect(try isBriefText(1))
        // A text is one of the 16 documents, and another operand may be too long.
        let mixed = "INSERT INTO t DOCUMENTS (deserialize_json(:text)), (:a)"
        #expect(try isBrief(mixed, ["text": "{}", "a": documents(15)]))
        #expect(try !isBrief(mixed, ["text": "{}", "a": documents(16)]))
        #expect(try !isBrief(mixed, ["text": "[]", "a": documents(1)]))
    }

    /// Returns the field `n` of the first inserted documents.
    private func first(
        _ count: Int, of text: String, _ arguments: ArgumentValues
    ) throws -> [Value?] {
        let path = try #require(try Parser.parse(text).fastPath)
        return path.firstInsertedDocuments(count, arguments).map { $0["n"] }
    }

    @Test func `the first of several inserted documents are those of all operands in order`() throws
    {
        let (one, two, three): (Value, Value, Value) = (["n": 1], ["n": 2], ["n": 3])
        let four: Value = ["n": 4]
        let single = "INSERT INTO t DOCUMENTS (:a)"
        #expect(try first(5, of: single, ["a": one]) == [])
        #expect(try first(5, of: single, ["a": [one]]) == [])
        #expect(try first(5, of: single, ["a": [one, two]]) == [1, 2])
        #expect(try first(2, of: single, ["a": [one, two, three]]) == [1, 2])
        let pair = "INSERT INTO t DOCUMENTS (:a), (:b)"
        #expect(try first(5, of: pair, ["a": one, "b": two]) == [1, 2])
        #expect(try first(1, of: pair, ["a": one, "b": two]) == [1])
        #expect(try first(3, of: pair, ["a": one, "b": [two, three, four]]) == [1, 2, 3])
        #expect(try first(4, of: pair, ["a": [one, two], "b": [three, four]]) == [1, 2, 3, 4])
        #expect(try first(2, of: pair, ["a": [one, two], "b": three]) == [1, 2])
        // Other values, which the statement refuses, are left out.
        #expect(try first(3, of: pair, ["a": [.null, one], "b": 5]) == [1])
        let texts = "INSERT INTO t DOCUMENTS (deserialize_json(:text)), (:a)"
        #expect(try first(5, of: texts, ["text": "{\"n\":9}", "a": one]) == [1])
        #expect(try first(5, of: "DELETE FROM t WHERE _id = 1", [:]) == [])
    }
}
