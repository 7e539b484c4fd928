import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafTestSupport
import Testing

/// Repeated statements, which reuse the plan of the last run.
@Suite struct CachedPlanTests {
    private let store: InterpolationStore

    init() throws {
        store = try InterpolationStore()
    }

    @Test func `equal values with different encodings do not share a plan`() throws {
        let statement: DQL = "SELECT :v AS v FROM t"
        let values: [Value] = [
            .integer(1), .float(1), .float(0), .float(-0.0), .string("\u{e9}"),
            .string("e\u{301}"), .bool(true), .null, .bytes([1]),
        ]
        for value in values + values.reversed() {
            let found = try store.rows(statement, ["v": value])
            #expect(found.map(\.json) == [Value.object(["v": value]).json])
        }
    }

    @Test func `a reused plan returns documents inserted since its last run`() throws {
        let statement: DQL = "SELECT n FROM t WHERE n > 0 ORDER BY n"
        for number in 2...6 {
            try store.execute("INSERT INTO t DOCUMENTS ({_id: \(number), n: \(number)})")
            let wanted = (1...number).map { Value.object(["n": .integer(Int64($0))]) }
            #expect(try store.rows(statement) == wanted)
            #expect(try store.rows(statement) == wanted)
        }
        try store.execute("DELETE FROM t WHERE n > 2")
        #expect(try store.rows(statement) == [["n": 1], ["n": 2]])
    }

    @Test func `a reused plan follows created and dropped indexes`() throws {
        let statement: DQL = "SELECT n FROM t USE INDEX 'by_n' WHERE n = 1"
        // A missing index is reported, and the statement runs without it.
        #expect(try store.rows(statement) == [["n": 1]])
        try store.execute("CREATE INDEX by_n ON t (n)")
        #expect(try store.rows(statement) == [["n": 1]])
        #expect(try store.rows(statement) == [["n": 1]])
        try store.execute("DROP INDEX by_n ON t")
        #expect(try store.rows(statement) == [["n": 1]])
    }

    @Test func `a reused plan finds names that got numbers since its last run`() throws {
        // A name gets a number when it is used for the second time.
        let statement: DQL = "SELECT _id FROM t WHERE late = 1 ORDER BY _id"
        #expect(try store.rows(statement).isEmpty)
        for number in 2...5 {
            try store.execute("INSERT INTO t DOCUMENTS ({_id: \(number), late: 1})")
            #expect(
                try store.rows(statement)
                    == (2...number).map { Value.object(["_id": .integer(Int64($0))]) })
        }
    }

    @Test func `changed system parameters apply to the next run`() throws {
        let statement: DQL = "SELECT o FROM t WHERE _id = 2"
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, o: {x: 1}})")
        let before = try store.rows(statement)
        #expect(before == [["o": ["x": 1]]])
        try store.execute("ALTER SYSTEM SET dql_strict_mode = true")
        // The object is a map, which strict mode hides unless its type is declared.
        #expect(try store.rows(statement) == [.object([:])])
        try store.execute("ALTER SYSTEM RESET dql_strict_mode")
        #expect(try store.rows(statement) == before)
        let joined: DQL = "SELECT t.n FROM t JOIN t AS u ON u._id = t.n"
        #expect(try store.rows(joined) == [["n": 1]])
        try store.execute(
            "ALTER SYSTEM SET dql_default_directives = {'#max_joins': 0}")
        #expect(store.problem(joined) != nil)
        #expect(try store.rows(statement) == before)
    }

    /// Statements that check for an interruption only while they evaluate the long `body` in `t`.
    private static let longStatements: [DQL] = [
        "SELECT upper(body) AS v FROM t", "SELECT body || 'a' AS v FROM t",
        "SELECT 'a' || body || n AS v FROM t", "SELECT n FROM t WHERE body LIKE '%b'",
        "SELECT n FROM t WHERE NOT body LIKE concat('%', s)",
        "SELECT n FROM t WHERE regexp_like(body, 'b$')",
    ]

    private func insertLongBody() throws {
        let body = Value.string(String(repeating: "a", count: 5_000) + "b")
        try store.execute("UPDATE t SET body = \(body), s = 'c' WHERE _id = 1")
    }

    @Test func `the timeout of a reused plan starts with each run`() throws {
        try insertLongBody()
        try store.execute("ALTER SYSTEM SET dql_request_timeout_seconds = 5")
        for statement in Self.longStatements {
            #expect(try store.rows(statement).count == 1)
            store.clock.advance(milliseconds: 6_000)
            #expect(store.problem(statement) == nil)
        }
    }

    @Test func `an interruption stops a reused plan, whose next run succeeds`() throws {
        try insertLongBody()
        let clock = store.clock
        let expired = Interruption(seconds: 1, clock: clock.clock.monotonicNanoseconds)
        clock.advance(milliseconds: 2_000)
        for query in Self.longStatements {
            let (statement, _) = try store.queries.prepare(query, [:])
            func run(_ interruption: Interruption?) throws(StoreError) -> Int {
                var options = QueryOptions(now: 0, clock: { 0 }, newID: { .null })
                options.interruption = interruption
                return try QueryRun(statement, on: store.queries.reader(), options).rows().items
                    .count
            }
            #expect(try run(nil) == 1)
            let error = #expect(throws: StoreError.self) { try run(expired) }
            #expect(error?.reason == .timedOut, "\(query.text)")
            #expect(try run(nil) == 1)
        }
    }

    @Test func `clock() returns the time of the run in every clause`() throws {
        let time = try #require(try store.value("SELECT clock() FROM t"))
        let before: DQL = "SELECT clock() AS v FROM t"
        #expect(try store.rows(before) == [["v": time]])
        // Each statement returns the document at this time only.
        let statements: [DQL] = [
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

    @Test func `an index recreated with other fields is used with those fields`() throws {
        let statement: DQL = "SELECT n FROM t WHERE n = 1"
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, n: 2, m: 1})")
        try store.execute("CREATE INDEX one ON t (n)")
        #expect(try store.rows(statement) == [["n": 1]])
        try store.execute("DROP INDEX one ON t")
        // The new index has the number of the dropped one, and therefore its keys.
        try store.execute("CREATE INDEX one ON t (m)")
        #expect(try store.rows(statement) == [["n": 1]])
    }

    @Test func `a reused plan finds values that are too long for an index`() throws {
        let statement: DQL = "SELECT n FROM t USE INDEX 'by_n' WHERE n > 'a'"
        try store.execute("CREATE INDEX by_n ON t (n)")
        #expect(try store.rows(statement).isEmpty)
        let long = Value.string(String(repeating: "long ", count: 200))
        try store.execute("INSERT INTO t DOCUMENTS ({_id: 2, n: \(long)})")
        #expect(try store.rows(statement) == [["n": long]])
        #expect(try store.rows("SELECT n FROM t USE INDEX 'by_n' WHERE n > 'a'") == [["n": long]])
    }
}
