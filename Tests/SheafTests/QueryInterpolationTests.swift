import Foundation
import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import Testing

/// Queries written as literals with interpolated values.
@Suite struct QueryInterpolationTests {
    private enum Fuel: String, Encodable { case gas, diesel }

    private struct Car: Encodable {
        var _id = "a"
        var owners: [String?] = ["Ann", nil]
        var photo = Data([0, 255])
        var fuel = Fuel.gas
    }

    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
    }

    @Test func `interpolated values become numbered arguments`() throws {
        let (color, limit) = ("blue", 5)
        let query: DQL = "SELECT * FROM cars WHERE color = \(color) LIMIT \(limit)"
        #expect(query.text == "SELECT * FROM cars WHERE color = :$1 LIMIT :$2")
        #expect(query.description == query.text && !query.text.contains("blue"))
        #expect(try store.rows(query) == [])
    }

    @Test func `values of all encodable types can be interpolated`() throws {
        func value(_ query: DQL) throws -> Value? { try store.value(query) }
        #expect(try value("SELECT \("text") AS v FROM t") == "text")
        #expect(try value("SELECT \("text".dropFirst()) AS v FROM t") == "ext")
        #expect(try value("SELECT \(5) AS v FROM t") == 5)
        #expect(try value("SELECT type(\(5)) AS v FROM t") == "integer")
        #expect(try value("SELECT type(\(5.0)) AS v FROM t") == "float")
        #expect(try value("SELECT \(Int8.min) AS v FROM t") == -128)
        #expect(try value("SELECT \(UInt64(Int64.max)) AS v FROM t") == .integer(.max))
        #expect(try value("SELECT \(Float(0.5)) AS v FROM t") == 0.5)
        #expect(try value("SELECT \(true) AS v FROM t") == true)
        #expect(try value("SELECT \([1, 2]) AS v FROM t") == [1, 2])
        #expect(try value("SELECT \(["a": [1.5]]) AS v FROM t") == ["a": [1.5]])
        #expect(try value("SELECT \([] as [Int]) AS v FROM t") == [])
        #expect(try value("SELECT \(Fuel.diesel) AS v FROM t") == "diesel")
        #expect(try value("SELECT \(Value.null) AS v FROM t") == .null)
        #expect(try value("SELECT \([1, "a", .null] as Value) AS v FROM t") == [1, "a", .null])
        #expect(try value("SELECT \([UInt8]([0, 255])) AS v FROM t") == .bytes([0, 255]))
        #expect(try value("SELECT \(Data([0, 255])) AS v FROM t") == .bytes([0, 255]))
        let rest: ContiguousArray<UInt8> = [255]
        #expect(try value("SELECT \(rest) AS v FROM t") == .bytes([255]))
        let car: Value = [
            "_id": "a", "owners": ["Ann", .null], "photo": .bytes([0, 255]), "fuel": "gas",
        ]
        #expect(try value("SELECT \(Car()) AS v FROM t") == car)
        let unknown: any Encodable = Car()
        #expect(try value("SELECT \(unknown) AS v FROM t") == car)
    }

    @Test func `nil is NULL`() throws {
        let (text, data): (String?, Data?) = (nil, nil)
        #expect(try store.value("SELECT \(text) AS v FROM t") == .null)
        #expect(try store.value("SELECT \(data) AS v FROM t") == .null)
        #expect(try store.value("SELECT \("a" as String?) AS v FROM t") == "a")
        #expect(try store.value("SELECT \(Data([1]) as Data?) AS v FROM t") == .bytes([1]))
        #expect(try store.value("SELECT \(5 as Int?) IS NULL AS v FROM t") == false)
    }

    @Test func `values can be interpolated wherever a parameter is allowed`() throws {
        try store.execute("INSERT INTO cars DOCUMENTS (\(Car())), ({_id: \("b"), n:\(2)})")
        #expect(try store.rows("SELECT n FROM cars WHERE _id IN \(["b", "c"])") == [["n": 2]])
        #expect(try store.rows("SELECT _id FROM cars USE IDS \("a")") == [["_id": "a"]])
        let (limit, offset) = (1, 1)
        let page: DQL = "SELECT _id FROM cars ORDER BY _id LIMIT \(limit)OFFSET \(offset)"
        #expect(store.problem(page)?.contains("a space is missing after") == true)
        #expect(
            try store.rows("SELECT _id FROM cars ORDER BY _id LIMIT \(limit) OFFSET \(offset)")
                == [["_id": "b"]])
        try store.execute("UPDATE cars SET n = n+\(5) WHERE _id = \("b")")
        #expect(try store.rows("SELECT n FROM cars WHERE _id = 'b'") == [["n": 7]])
        #expect(
            try store.rows("SELECT n FROM cars WHERE _id LIKE \("b%")--\n") == [["n": 7]])
        try store.execute("ALTER SYSTEM SET dql_request_history_size = \(2)")
        #expect(
            try store.rows("SELECT text FROM system:request_history").first
                == ["text": "SELECT n FROM cars WHERE _id LIKE :$1--\n"])
        let (lookup, values) = try store.queries.prepare(
            "SELECT * FROM t WHERE _id = \(1)", QueryArguments())
        let plan = try store.queries.planText(lookup, values)
        #expect(plan.contains("1") && !plan.contains("not provided"))
        try store.execute("DELETE FROM cars WHERE _id = \("a") OR n = \(7)")
        #expect(try store.rows("SELECT * FROM cars") == [])
    }

    @Test func `equal interpolated values form equal expressions`() throws {
        let (step, other) = (2, 2.0)
        #expect(
            try store.rows("SELECT n + \(step) AS v FROM t GROUP BY n + \(step)") == [["v": 3]])
        #expect(
            store.problem("SELECT n + \(step) AS v FROM t GROUP BY n + \(other)")?.contains("^")
                == true)
    }

    @Test func `hostile texts are passed as values`() throws {
        let texts = [
            "'; DROP", "' OR '1' = '1", "\"", "`", "\\", ":$1", ":n", "$1", "--", "/*", "*/", "\0",
            "\u{1F600}", "e\u{301}", "\n", "?", "\\(x)", "\u{2028}", "1", "NULL", "",
        ]
        for text in texts {
            #expect(try store.value("SELECT \(text) AS v FROM t") == .string(text))
            #expect(try store.rows("SELECT n FROM t WHERE n = \(text) OR \(text) = 'x'") == [])
            try store.execute(
                "INSERT INTO h DOCUMENTS ({_id: \(text), s: \(text)}) "
            )
            let (found, other) = (text, text + "'")
            #expect(
                try store.rows("SELECT s FROM h WHERE s = \(found) AND s != \(other)")
                    == [["s": .string(text)]])
        }
        #expect(try store.rows("SELECT _id FROM h").count == texts.count)
    }

    @Test func `a literal is parsed once for all its values`() throws {
        let before = try store.metric("statements_parsed")
        guard case .integer(let count)? = before else {
            Issue.record("The metric is no integer.")
            return
        }
        for number in 0..<10 {
            #expect(
                try store.value("SELECT \(number) * \(2) AS v FROM t")
                    == .integer(Int64(number * 2)))
        }
        #expect(try store.metric("statements_parsed") == .integer(count + 1))
        _ = try store.rows("SELECT 2 AS other FROM t")
        #expect(try store.metric("statements_parsed") == .integer(count + 2))
    }

    @Test func `a query may contain thousands of values`() throws {
        var literal = DQL.StringInterpolation(literalCapacity: 0, interpolationCount: 4_000)
        literal.appendLiteral("SELECT [")
        for number in 0..<4_000 {
            literal.appendLiteral(number > 0 ? ", " : "")
            literal.appendInterpolation(number)
        }
        literal.appendLiteral("] AS v FROM t")
        let numbers = (0..<4_000).map { Value.integer($0) }
        #expect(try store.value(DQL(stringInterpolation: literal)) == .array(numbers))
    }

    @Test func `an interpolated identifier is always one name`() throws {
        let names = [
            "a", "a.b", "a b", "`", "``", "a`b", "'", "';--", "SELECT", "\0", "\u{1F600}", "\n",
            "e\u{301}", ":n", "_x", "1", "*", "a`, `b", "/*",
        ]
        for name in names {
            let collection = "c" + name
            let row = Value.object(Object([(name, .string("found"))]))
            let document = Value.object(Object([("_id", 2), (name, .string("found"))]))
            try store.execute("INSERT INTO \(identifier: collection) DOCUMENTS (\(document))")
            let query: DQL = """
                SELECT \(identifier: name) FROM \(identifier: collection) AS `x`
                WHERE x.\(identifier: name) = \("found")
                """
            #expect(try store.rows(query) == [row])
            try store.execute(
                "UPDATE \(identifier: collection) SET \(identifier: name) = \(5)")
            let changed: DQL = "SELECT \(identifier: name) FROM \(identifier: collection)"
            #expect(try store.value(changed) == 5)
        }
    }

    @Test func `an interpolated part keeps its values`() throws {
        try store.execute(
            "INSERT INTO p DOCUMENTS ({_id: 1, n: 1}), ({_id: 2, n: 2}), ({_id: 3, n: 3})")
        func ids(above low: Int, below high: Int?, isDescending: Bool) throws -> [Value?] {
            let first: DQL = "n > \(low)"
            let second: DQL = high.map { "n < \($0) AND \(identifier: "n") != \(7)" } ?? "TRUE"
            let both: DQL = "\(part: first) AND \(part: second)"
            let query: DQL = """
                SELECT _id FROM p WHERE \(0) = 0 AND \(part: both) AND n <> \(9)
                ORDER BY _id \(part: isDescending ? "DESC" : "ASC")
                """
            return try store.rows(query).map { $0["_id"] }
        }
        #expect(try ids(above: 0, below: nil, isDescending: true) == [3, 2, 1])
        #expect(try ids(above: 1, below: 3, isDescending: false) == [2])
        let part: DQL = "\(1) + \(identifier: "n`") + \("caf\u{E9}")"
        let whole: DQL = "\u{E9} \(0) \(part: part) \(part: part) \(part: "") x"
        #expect(
            whole.text
                == "\u{E9} :$1 :$2 + `n``` + :$3 :$4 + `n``` + :$5  x")
    }

    @Test func `a string is never interpreted as a query without a label`() throws {
        let name = "x' OR TRUE --"
        // The name is spliced into the string, so a query from a string needs a label.
        let text = "SELECT n FROM t WHERE n = '\(name)"
        #expect(try store.rows(DQL(verbatim: text)) == [["n": 1]])
        #expect(try store.rows(DQL("SELECT n FROM t WHERE n = \(name)")) == [])
        #expect(try store.rows("SELECT n FROM t WHERE n = \(name)") == [])
    }
}
