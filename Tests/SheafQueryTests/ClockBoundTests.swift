import SheafDocument
import SheafQuery
import Testing

/// The lower bounds of fields that contain `clock()`.
@Suite struct ClockBoundTests {
    private static let now: Value = "2026-05-28T20:26:40+00:00"

    /// Returns the bounds of a statement at a time; nil if its time may select other documents.
    private func bounds(_ condition: String) throws -> [Value]? {
        let original = try Parser.parse("SELECT * FROM t WHERE " + condition)
        let fixed = try #require(try original.fixed(clockAt: 1_780_000_000_000))
        let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })
        return try QueryRun(fixed, on: EmptyStore(), options)
            .lowerBounds(dependingOnClockIn: original)
    }

    @Test(arguments: [
        "at > clock()", "at >= clock()", "clock() < at", "clock() <= at",
        "n = 1 AND at > clock()", "at > clock() AND (n = 1 OR n = 2)", "(at > clock())",
    ])
    func `a field that must be later than the time has the time as its bound`(condition: String)
        throws
    {
        #expect(try bounds(condition) == [Self.now], "\(condition)")
    }

    @Test(arguments: [
        "at < clock()", "at <= clock()", "clock() > at", "at = clock()", "at != clock()",
        "NOT at > clock()", "at > clock() OR n = 1", "at > n || clock()", "lower(at) > clock()",
        "clock() > clock()", "at > [clock()]", "at > clock() AND n = clock()",
        "at > upper(at) AND starts_with(s, clock())", "at IN (clock())",
        "at > nullif(clock(), clock())",
    ])
    func `another condition on the time has no bound`(condition: String) throws {
        #expect(try bounds(condition) == nil, "\(condition)")
    }

    @Test func `a bound may be computed, and each one is returned`() throws {
        #expect(
            try bounds("at > date_sub(clock(), 'hour', 20) AND n = 1 AND clock() < b")
                == ["2026-05-28T00:26:40+00:00", Self.now])
        #expect(try bounds("n > char_length(clock()) + 1") == [26])
    }

    @Test func `a statement that does not read the time stays as it is`() throws {
        let original = try Parser.parse("SELECT * FROM t WHERE at > 'clock()'")
        #expect(try original.fixed(clockAt: 0) == nil)
    }
}
