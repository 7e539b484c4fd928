import SheafDocument
import SheafQuery
import Testing

/// The lower bounds of a condition that depend on the time.
@Suite struct ClockBoundTests {
    /// Returns the bounds of a condition whose `clock()` is replaced by a time.
    private func bounds(_ condition: String, fixed: String) throws -> [Value]? {
        let original = try Parser.parse("SELECT * FROM t WHERE " + condition)
        let statement = try Parser.parse("SELECT * FROM t WHERE " + fixed)
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        return try QueryRun(statement, on: EmptyStore(), options)
            .lowerBounds(dependingOnClockIn: original)
    }

    private static let time = "2024-01-02T00:00:00+00:00"

    /// Conditions with the bounds that depend on the time, in their order.
    private static let bounded: [(condition: String, bounds: [Value])] = [
        ("at > clock()", [.string(time)]), ("at >= clock()", [.string(time)]),
        ("clock() < at", [.string(time)]), ("clock() <= at", [.string(time)]),
        ("t.at.utc > clock()", [.string(time)]), ("n > 1", []), ("n = 1 OR at < '2024'", []),
        ("at > date_sub(clock(), 'day', 1)", ["2024-01-01T00:00:00+00:00"]),
        ("n > date_diff(clock(), '2023-12-30Z', 'day')", [3]),
        ("n = 1 AND at > clock() AND m < 5 AND (a OR b)", [.string(time)]),
        (
            "at > clock() AND date_add(clock(), 'day', 1) <= n",
            [
                .string(time), "2024-01-03T00:00:00+00:00",
            ]
        ),
        ("at > concat('x', clock())", [.string("x" + time)]),
    ]

    @Test(arguments: bounded)
    func `the bounds that depend on the time are the higher ones of comparisons with fields`(
        tested: (condition: String, bounds: [Value])
    ) throws {
        let fixed = tested.condition.replacing("clock()", with: "'\(Self.time)'")
        #expect(try bounds(tested.condition, fixed: fixed) == tested.bounds)
    }

    @Test(arguments: [
        "at < clock()", "at <= clock()", "clock() > at", "clock() >= at", "at = clock()",
        "at != clock()", "NOT at > clock()", "at > clock() OR n = 1", "at > concat(clock(), s)",
        "concat(at, '') > clock()", "clock() > '2024'", "at > (clock() = 'x')",
        "at > clock() AND clock() > at", "at BETWEEN clock() AND 'z'", "starts_with(at, clock())",
        "clock() IN (at)", "at > [clock()]",
    ])
    func `a condition that depends on the time in another way has no bounds`(
        condition: String
    ) throws {
        let fixed = condition.replacing("clock()", with: "'\(Self.time)'")
        #expect(try bounds(condition, fixed: fixed) == nil)
    }

    @Test func `statements of different forms have no bounds`() throws {
        #expect(try bounds("at > clock()", fixed: "at > '2024'") == ["2024"])
        #expect(try bounds("at > clock() AND n = 1", fixed: "at > '2024'") == nil)
        #expect(try bounds("at > clock()", fixed: "at > '2024' AND n = 1") == nil)
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        for (text, other) in [
            ("SELECT * FROM t", "SELECT * FROM t WHERE at > clock()"),
            ("SELECT * FROM t WHERE at > '2024'", "SELECT * FROM t"),
            ("DELETE FROM t WHERE at > '2024'", "SELECT * FROM t WHERE at > clock()"),
            ("SELECT * FROM t WHERE at > '2024'", "DELETE FROM t WHERE at > clock()"),
        ] {
            let run = QueryRun(try Parser.parse(text), on: EmptyStore(), options)
            let found = try run.lowerBounds(dependingOnClockIn: Parser.parse(other))
            #expect(found == nil, "\(text)")
        }
    }
}
