import Foundation
import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import Testing

/// The values of named parameters.
@Suite struct QueryArgumentTests {
    private struct Filter: Encodable {
        var color = "blue"
        var years = [2020, 2021]
        var note: String?
        var inner = Inner()

        struct Inner: Encodable { var x: Int? }
    }

    /// A type with a reference cycle.
    private final class Circle: Encodable {
        var next: Circle?
    }

    /// A type that encodes itself as its own value.
    private struct Mirror: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    /// Nested arrays, created with nested containers.
    private struct Well: Encodable {
        var depth: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for _ in 1..<depth { container = container.nestedUnkeyedContainer() }
        }
    }

    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
    }

    @Test func `an argument literal accepts any encodable value`() throws {
        let (color, data): (String?, Data) = (nil, Data([1]))
        let arguments: QueryArguments = [
            "color": color, "data": data, "n": 5, "none": nil, "list": [1, 2],
            "car": ["a": 1, "b": "x"] as Value, "filter": Filter(), "unused": "",
        ]
        #expect(
            try store.rows("SELECT :color AS a, :data AS b, :n AS c, :none AS d FROM t", arguments)
                == [["a": .null, "b": .bytes([1]), "c": 5, "d": .null]])
        #expect(
            try store.rows("SELECT :list AS a, :car AS b, :filter AS c FROM t", arguments)
                == [
                    [
                        "a": [1, 2], "b": ["a": 1, "b": "x"],
                        "c": ["color": "blue", "years": [2020, 2021], "inner": [:]],
                    ]
                ])
    }

    @Test func `the fields of a type become arguments, and nil becomes NULL`() throws {
        let arguments = QueryArguments(encoding: Filter())
        #expect(
            try store.rows(
                "SELECT :color AS a, :years AS b, :note AS c, :inner AS d FROM t", arguments)
                == [["a": "blue", "b": [2020, 2021], "c": .null, "d": [:]]])
        #expect(
            try store.value("SELECT :a AS v FROM t", QueryArguments(encoding: ["a": 1.5])) == 1.5)
        #expect(
            try store.value("SELECT :a AS v FROM t", QueryArguments(encoding: ["a": 1] as Value))
                == 1)
    }

    @Test func `dictionaries can be arguments`() throws {
        let values: [String: Value] = ["v": 5]
        let sources: [String: any Encodable] = ["v": "x", "w": Filter()]
        let numbers = ["v": 1]
        #expect(try store.value("SELECT :v AS v FROM t", QueryArguments(values)) == 5)
        #expect(try store.value("SELECT :v AS v FROM t", QueryArguments(sources)) == "x")
        #expect(try store.value("SELECT :v AS v FROM t", QueryArguments(numbers)) == 1)
    }

    @Test func `named and interpolated values can be combined`() throws {
        let x = 1
        #expect(
            try store.rows("SELECT \(x) AS a, :x AS b, :x + \(x) AS c FROM t", ["x": 5])
                == [["a": 1, "b": 5, "c": 6]])
        #expect(
            store.problem("SELECT \(x) AS a, :y AS b FROM t", ["x": 5])
                == """
                Parameter y was not provided (line 1, column 18)
                  SELECT :$1 AS a, :y AS b FROM t
                                   ^^
                """)
    }

    @Test func `argument names are distinguished by their bytes`() throws {
        let arguments: QueryArguments = ["\u{E9}": 1, "e\u{301}": 2, "a": 3]
        #expect(try store.value("SELECT :a AS v FROM t", arguments) == 3)
        #expect(
            store.problem("SELECT :A FROM t", arguments)?
                .hasPrefix("Parameter A was not provided") == true)
    }

    @Test func `many arguments are accepted, and duplicates are refused`() throws {
        let numbers = Dictionary(uniqueKeysWithValues: (0..<3_000).map { ("a\($0)", $0) })
        #expect(
            try store.rows(
                "SELECT :a0 AS a, :a1500 AS b, :a2999 AS c FROM t", QueryArguments(numbers))
                == [["a": 0, "b": 1_500, "c": 2_999]])
        let twice: QueryArguments = ["c": 1, "b": 1, "a": 1, "c": 2, "b": 2]
        #expect(
            store.problem("SELECT :c, :b FROM t", twice)?
                .hasPrefix("the argument b is given twice (line 1, column 12)") == true)
    }

    @Test func `the error for a missing argument suggests a similar name`() {
        func hint(_ arguments: QueryArguments) -> String? {
            let problem = store.problem("SELECT :color FROM t", arguments) ?? ""
            let lines = problem.split(separator: "\n")
            #expect(lines.first?.hasPrefix("Parameter color was not provided") == true)
            return lines.count > 3 ? String(lines[3]) : nil
        }
        #expect(hint([":color": 1]) == "name the argument color, without the colon")
        #expect(hint(["size": 1, "colour": 1]) == "there is an argument colour")
        #expect(hint(["size": 1]) == nil)
    }

    @Test func `arguments that are not encoded as an object are refused`() {
        func problem(_ arguments: QueryArguments) -> String? {
            store.problem("SELECT n FROM t", arguments)
        }
        #expect(
            problem(QueryArguments(encoding: [1, 2]))
                == "the arguments must be encoded as an object, not as an array")
        #expect(problem(QueryArguments(encoding: 5))?.hasSuffix("not as a number") == true)
        #expect(problem(QueryArguments(encoding: nil as Filter?))?.hasSuffix("not as null") == true)
        #expect(
            problem(QueryArguments(encoding: ["a": ["b": UInt.max]]))
                == "the arguments cannot be encoded: at a.b, 18446744073709551615 does not "
                + "fit in a signed 64-bit integer")
    }

    @Test func `the error for an unencodable argument has its name and position`() {
        #expect(
            store.problem("SELECT :a, ':b', :bc, :b FROM t", ["a": 1, "b": [UInt.max]])
                == """
                the argument b cannot be encoded: at [0], 18446744073709551615 does not fit in \
                a signed 64-bit integer (line 1, column 23)
                  SELECT :a, ':b', :bc, :b FROM t
                                        ^^
                """)
        #expect(
            store.problem("SELECT n FROM t", ["z": UInt.max, "a": UInt.max, "b": UInt.max])?
                .hasPrefix("the argument a cannot") == true)
        let twice: QueryArguments = ["a": 1, "a": 2]
        #expect(
            store.problem("SELECT :a FROM t", twice)?.hasPrefix("the argument a is given twice")
                == true)
    }

    @Test func `arguments nested too deeply are refused`() throws {
        var deepest: Value = 1
        for _ in 0..<Value.maximumDepth { deepest = [deepest] }
        #expect(try store.value("SELECT \(deepest) AS v FROM t") == deepest)
        let circle = Circle()
        circle.next = circle
        defer { circle.next = nil }
        var deep = deepest
        for _ in 0..<1_000 { deep = ["x": deep] }
        let problems = [
            store.problem("SELECT \([deepest]) AS v FROM t"),
            store.problem("SELECT \(["x": [deepest]]) AS v FROM t"),
            store.problem("SELECT \(deep) AS v FROM t"),
            store.problem("SELECT :v FROM t", ["v": [deepest]]),
            store.problem("SELECT :v FROM t", QueryArguments(["v": deep])),
            store.problem("SELECT :v FROM t", QueryArguments(encoding: ["v": [deepest]])),
            store.problem("SELECT \(circle) AS v FROM t"),
            store.problem("SELECT \(Mirror()) AS v FROM t"),
            store.problem("SELECT \(Well(depth: 65)) AS v FROM t"),
            store.problem("SELECT \(Well(depth: 1_000_000)) AS v FROM t"),
        ]
        for problem in problems {
            #expect(
                problem?.contains("cannot be encoded: ") == true
                    && problem?.contains("nested deeper than 64") == true, "\(problem ?? "")")
        }
        #expect(try store.value("SELECT type(\(Well(depth: 64))) AS v FROM t") == "array")
    }

    @Test func `arrays may be large`() throws {
        let numbers = Array(0..<20_000)
        #expect(try store.rows("SELECT n FROM t WHERE n IN \(numbers)") == [["n": 1]])
        #expect(try store.value("SELECT array_length(\(numbers)) AS v FROM t") == 20_000)
        #expect(try store.rows("SELECT n FROM t USE IDS LIST \(numbers)") == [["n": 1]])
        let larger = Value.array([Value](repeating: 1, count: 1 << 20))
        #expect(
            store.problem("INSERT INTO t DOCUMENTS ({_id: 2, l: \(larger)})")
                == "a value has more than 1048576 parts")
        // Each 32 bytes of a name are a part, so that these 1,024 objects have 1,024 parts each.
        let named = Value.object([String(repeating: "n", count: 32 * 1_022): 1])
        let names = Value.array([Value](repeating: named, count: 1_024))
        #expect(
            store.problem("INSERT INTO t DOCUMENTS ({_id: 2, l: \(names)})")
                == "a value has more than 1048576 parts")
        let text = String(repeating: "long", count: 2_000_000)
        #expect(
            store.problem("INSERT INTO t DOCUMENTS ({_id: 2, l: \(text)})")?.contains("^") == true)
    }
}
