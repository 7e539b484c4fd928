import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import Testing

/// Error texts for interpolated values that are misplaced or cannot be encoded.
@Suite struct QueryInterpolationErrorTests {
    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
    }

    private func expect(
        _ query: DQL, _ arguments: QueryArguments = [:], _ problem: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(store.problem(query, arguments) == problem, sourceLocation: location)
    }

    @Test func `a value in quotes, backticks, comments or directives is refused`() {
        let (x, y) = ("x", 5)
        expect(
            "SELECT n FROM t WHERE s = '\(x)'", [:],
            """
            the interpolated value :$1 is in quotes (line 1, column 28)
              SELECT n FROM t WHERE s = ':$1'
                                         ^^^
            remove the quotes: it is an argument
            """)
        // The error about the value precedes the syntax error after it.
        expect(
            "SELECT n FROM t\nWHERE n = \(y) AND s LIKE \"%\(x)%\" AND AND", [:],
            """
            the interpolated value :$2 is in quotes (line 2, column 28)
              WHERE n = :$1 AND s LIKE "%:$2%" AND AND
                                         ^^^
            remove the quotes: it is an argument
            """)
        // The name of the value occurs outside of the quotes, too.
        #expect(
            store.problem("SELECT '\(x)', :$1 FROM t")?.hasPrefix(
                "the interpolated value :$1 is in quotes") == true)
        expect(
            "SELECT * FROM `\(x)`", [:],
            """
            the interpolated value :$1 is in backticks (line 1, column 16)
              SELECT * FROM `:$1`
                             ^^^
            remove the backticks; for a name, write \\(identifier: ..)
            """)
        for query in [
            "SELECT n FROM t -- \(x)", "SELECT n /* \(x) */ FROM t", "SELECT n FROM t --\n/*\(x)*/",
        ] as [DQL] {
            let problem = store.problem(query)
            #expect(problem?.hasPrefix("the interpolated value :$1 is in a comment") == true)
            #expect(problem?.hasSuffix("remove it: comments are ignored") == true)
        }
        #expect(
            store.problem("SELECT /*+ {\"a\": \(x)} */ n FROM t")?.hasPrefix(
                "the interpolated value :$1 is in a directive") == true)
    }

    @Test func `a value in the position of a name or keyword is refused`() {
        let name = "cars"
        expect(
            "SELECT * FROM \(name)", [:],
            """
            expected the name of a collection, found :$1 (line 1, column 15)
              SELECT * FROM :$1
                            ^^^
            an interpolation is a value, not a name or a path; for a name, write \\(identifier: ..)
            """)
        for query in [
            "SELECT a.\(name) FROM t", "SELECT n AS \(name) FROM t", "UPDATE t SET \(name) = 1",
            "CREATE INDEX \(name) ON t (n)", "CREATE INDEX i ON t (\(name))",
            "SELECT n FROM t USE INDEX \(name)", "UPDATE t UNSET \(name)",
        ] as [DQL] {
            let problem = store.problem(query)
            #expect(problem?.contains("found :$1") == true, "\(query): \(problem ?? "nothing")")
            #expect(problem?.contains("\\(identifier: ..)") == true)
        }
        for query in [
            "SELECT n FROM t ORDER BY n \(name)", "\(name)", "SELECT n FROM t \(name)",
            "SELECT n FROM t WHERE n = 1\(name)", "SELECT n FROM t WHERE n = \(1)\(2)",
            "SELECT n FROM system\(name)", "SELECT n FROM t WHERE \(name).a = 1",
        ] as [DQL] {
            #expect(store.problem(query)?.contains("^") == true, "\(query)")
        }
    }

    @Test func `a value without a space after it is refused`() {
        expect(
            "SELECT n FROM t WHERE n = \(1)5", [:],
            """
            a space is missing after the interpolated value :$1 (line 1, column 27)
              SELECT n FROM t WHERE n = :$15
                                        ^^^
            put a space after it
            """)
        // The value and the digit after it form the name of another argument.
        #expect(
            store.problem(
                "SELECT \(1)2, \(2), \(3), \(4), \(5), \(6), \(7), \(8), \(9), \(10), \(11), \(12)")?
                .hasPrefix("a space is missing after the interpolated value :$1 ") == true)
        #expect(
            store.problem("SELECT \(1)AS v FROM t")?.hasPrefix(
                "a space is missing after the interpolated value :$1") == true)
        #expect(
            store.problem("SELECT n FROM t WHERE n = :\(1)")?.hasSuffix(
                "remove the colon before the interpolated value") == true)
    }

    @Test func `parameter names of a dollar sign and digits are reserved`() throws {
        expect(
            "SELECT \(1), :$1 FROM t", [:],
            """
            :$1 is a name reserved for interpolated values (line 1, column 13)
              SELECT :$1, :$1 FROM t
                          ^^^
            give the parameter another name, such as :color
            """)
        #expect(store.problem("SELECT :$1, \(1) FROM t")?.contains("is a name reserved") == true)
        #expect(store.problem("SELECT :$2, \(1) FROM t", ["$2": 1])?.contains(":$2 is") == true)
        expect(
            "SELECT \(1) AS v FROM t", ["$1": 2],
            """
            the argument $1 has the name of an interpolated value (line 1, column 8)
              SELECT :$1 AS v FROM t
                     ^^^
            rename the argument
            """)
        // A logged statement can be run with its arguments by name.
        let logged = DQL(verbatim: ("SELECT \(5) + \(6) AS v FROM t" as DQL).text)
        #expect(try store.value(logged, ["$1": 5, "$2": 6]) == 11)
        #expect(store.problem(logged)?.hasPrefix("Parameter $1 was not provided") == true)
    }

    @Test func `an interpolated identifier cannot end quotes or comments`() {
        let names = ["x' OR TRUE --", "x", "`", "*/", "\" OR TRUE --", "\n n", "' '", "''"]
        for name in names {
            for query in [
                "SELECT n FROM t WHERE n = '\(identifier: name)'",
                "SELECT n FROM t WHERE n = \"\(identifier: name)\"",
                "SELECT n FROM t WHERE n = `\(identifier: name)`",
                "SELECT n FROM t -- \(identifier: name)",
                "SELECT n FROM t /* \(identifier: name) */",
                "SELECT \(identifier: name)\(identifier: "n") FROM t",
                "SELECT \(identifier: name)` FROM t",
                "SELECT `\(identifier: name) FROM t",
            ] as [DQL] {
                #expect(store.problem(query)?.contains("^") == true, "\(query)")
            }
        }
        #expect(
            store.problem("SELECT \(identifier: "a")\(identifier: "b") FROM t")?.hasPrefix(
                "a space is missing after the interpolated name `a` (line") == true)
        #expect(
            store.problem("SELECT `\(identifier: "a")` FROM t")?.contains("backticks") == true)
        expect(
            "SELECT * FROM t WHERE n = '\(identifier: "x' OR TRUE --")'", [:],
            """
            the interpolated name `x' OR TRUE --` is in quotes (line 1, column 28)
              SELECT * FROM t WHERE n = '`x' OR TRUE --`'
                                         ^^^^^^^^^^^^^^^
            remove the quotes: the name already has backticks
            """)
    }

    @Test func `the error for an unencodable value has its position`() {
        struct Refusal: Error, CustomStringConvertible { let description = "it is secret" }
        struct Secret: Encodable {
            func encode(to encoder: any Encoder) throws { throw Refusal() }
        }
        struct Price: Encodable { var trim = ["gross": [1, UInt64.max]] }
        expect(
            "SELECT \(1) AS a, \(Secret()) AS b FROM t", [:],
            """
            the interpolated value :$2 cannot be encoded: it is secret (line 1, column 18)
              SELECT :$1 AS a, :$2 AS b FROM t
                               ^^^
            """)
        #expect(
            store.problem("SELECT \(Price()) AS v FROM t")?.hasPrefix(
                "the interpolated value :$1 cannot be encoded: at trim.gross[1], "
                    + "18446744073709551615 does not fit in a signed 64-bit integer") == true)
        // The value is encoded even if no document matches.
        #expect(store.problem("UPDATE t SET n = 2, m = \(UInt.max) WHERE FALSE") != nil)
        #expect(store.problem("SELECT '\(UInt.max)' FROM t")?.contains("in quotes") == true)
    }
}
