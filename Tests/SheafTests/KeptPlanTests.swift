import Sheaf
import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

/// A statement that comes again is run by the plan of its last run, which must not be seen.
@Suite struct KeptPlanTests {
    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
    }

    @Test func `equal values that are not the same have plans of their own`() throws {
        let statement: Query = "SELECT :v AS v FROM t"
        let values: [Value] = [
            .integer(1), .float(1), .float(0), .float(-0.0), .string("\u{e9}"),
            .string("e\u{301}"), .bool(true), .null, .bytes([1]),
        ]
        for value in values + values.reversed() {
            let found = try store.rows(statement, ["v": value])
            #expect(found.map(\.json) == [Value.object(["v": value]).json])
        }
    }

    @Test func `what was written since is seen, and what was inserted`() throws {
        let statement: Query = "SELECT n FROM t WHERE n > 0 ORDER BY n"
        for number in 2...6 {
            try store.execute("INSERT INTO t DOCUMENTS ({_id: \(number), n: \(number)})")
            let wanted = (1...number).map { Value.object(["n": .integer(Int64($0))]) }
            #expect(try store.rows(statement) == wanted)
            #expect(try store.rows(statement) == wanted)
        }
        try store.execute("DELETE FROM t WHERE n > 2")
        #expect(try store.rows(statement) == [["n": 1], ["n": 2]])
    }

    @Test func `indexes that come and go are used and not used`() throws {
        let statement: Query = "SELECT n FROM t USE INDEX 'by_n' WHERE n = 1"
        // An index that is not there is noted, and the statement runs without it.
        #expect(try store.rows(statement) == [["n": 1]])
        try store.execute("CREATE INDEX by_n ON t (n)")
        #expect(try store.rows(statement) == [["n": 1]])
        #expect(try store.rows(statement) == [["n": 1]])
        try store.execute("DROP INDEX by_n ON t")
        #expect(try store.rows(statement) == [["n": 1]])
    }

    @Test func `names that were spelled are found once they have numbers`() throws {
        // A name gets its number when it comes the second time.
        let statement: Query = "SELECT _id FROM t WHERE late = 1 ORDER BY _id"
        #expect(try store.rows(statement).isEmpty)
        for number in 2...5 {
            try store.execute("INSERT INTO t DOCUMENTS ({_id: \(number), late: 1})")
            #expect(
                try store.rows(statement)
                    == (2...number).map { Value.object(["_id": .integer(Int64($0))]) })
        }
    }

    @Test func `the parameters of the system hold at once`() throws {
        let statement: Query = "SELECT o FROM t WHERE _id = 2"
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, o: {x: 1}})")
        let before = try store.rows(statement)
        #expect(before == [["o": ["x": 1]]])
        try store.execute("ALTER SYSTEM SET dql_strict_mode = true")
        // An object is a map here, and without a type only registers are seen.
        #expect(try store.rows(statement) == [.object([:])])
        try store.execute("ALTER SYSTEM RESET dql_strict_mode")
        #expect(try store.rows(statement) == before)
        let joined: Query = "SELECT t.n FROM t JOIN t AS u ON u._id = t.n"
        #expect(try store.rows(joined) == [["n": 1]])
        try store.execute(
            "ALTER SYSTEM SET dql_default_directives = {'#max_joins': 0}")
        #expect(store.problem(joined) != nil)
        #expect(try store.rows(statement) == before)
    }

    @Test func `each run has its own time, wherever a statement asks for it`() throws {
        let time = try #require(try store.value("SELECT clock() FROM t"))
        let before: Query = "SELECT clock() AS v FROM t"
        #expect(try store.rows(before) == [["v": time]])
        // Each of them finds the document at this time alone.
        let statements: [Query] = [
            "SELECT n FROM t WHERE clock() = :then",
            "SELECT n FROM t WHERE n = 1 AND concat('at ', clock()) = concat('at ', :then)",
            "SELECT t.n FROM t JOIN t AS u ON u._id = t._id AND clock() = :then",
            "SELECT n FROM t GROUP BY n HAVING MIN(clock()) = :then",
            "SELECT n FROM t LIMIT CASE WHEN clock() = :then THEN 1 ELSE 0 END",
        ]
        for statement in statements {
            #expect(try store.rows(statement, ["then": time]) == [["n": 1]])
            #expect(try store.rows(statement, ["then": time]) == [["n": 1]])
        }
        store.clock.advance(milliseconds: 1_500)
        for statement in statements {
            #expect(try store.rows(statement, ["then": time]).isEmpty)
        }
        let later = try #require(try store.value("SELECT clock() FROM t"))
        #expect(later != time)
        #expect(try store.rows(before) == [["v": later]])
    }

    @Test func `an index that has other fields now is asked for those`() throws {
        let statement: Query = "SELECT n FROM t WHERE n = 1"
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, n: 2, m: 1})")
        try store.execute("CREATE INDEX one ON t (n)")
        #expect(try store.rows(statement) == [["n": 1]])
        try store.execute("DROP INDEX one ON t")
        // It has the number of the one before, and so its keys.
        try store.execute("CREATE INDEX one ON t (m)")
        #expect(try store.rows(statement) == [["n": 1]])
    }

    @Test func `values that are too long for an index are found as soon as there are some`() throws
    {
        let statement: Query = "SELECT n FROM t USE INDEX 'by_n' WHERE n > 'a'"
        try store.execute("CREATE INDEX by_n ON t (n)")
        #expect(try store.rows(statement).isEmpty)
        let long = Value.string(String(repeating: "long ", count: 200))
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, n: \(long)})")
        #expect(try store.rows(statement) == [["n": long]])
        #expect(try store.rows("SELECT n FROM t USE INDEX 'by_n' WHERE n > 'a'") == [["n": long]])
    }
}
