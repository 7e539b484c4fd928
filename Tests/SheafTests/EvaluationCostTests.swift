import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafSystem
import Testing

/// The cost of expressions that a metered run counts.
@Suite struct EvaluationCostTests {
    private let store: CarFixtureStore

    init() throws {
        store = try CarFixtureStore()
        for length in [10, 110] {
            let document: Value = [
                "_id": 1, "s": .string(String(repeating: "x", count: length)), "p": "x%",
                "q": "xxxxxxxxxxxxxxxx%", "l": .array(Array(repeating: 1, count: length)),
            ]
            try store.execute("INSERT INTO t\(length) DOCUMENTS (:d)", ["d": document])
        }
        try store.flush()
    }

    /// Returns the units that a statement uses.
    private func units(_ text: String) throws -> Int {
        let (meter, queries) = (EvaluationMeter.unlimited(stop: nil), store.queries)
        let run = queries.makeRun(
            try Parser.parse(text), ArgumentValues(), queries.parameters, on: queries.reader(),
            isTimed: false, meter: meter)
        #expect(try run.rows().count == 1)
        return meter.counted
    }

    @Test(arguments: [
        ("1", 0), ("s", 0), ("s = 'y'", 0), ("s IN ('y', 'z')", 0), ("s BETWEEN 'a' AND 'b'", 0),
        ("upper(s)", 200), ("char_length(s)", 100), ("concat(s, s)", 400), ("concat('y', s)", 200),
        ("lower(s) = 'y'", 200), ("upper(lower(s))", 400), ("coalesce(s, 'y')", 200),
        ("s || 'y'", 100), ("'y' || s", 100), ("s || s", 200), ("'y' || s || 'z'", 100),
        ("s LIKE 'x%'", 100), ("s LIKE 'xxxxxx%'", 100), ("s LIKE 'xxxxxxx%'", 200),
        ("s NOT LIKE 'xxxxxxxxxxxxxxx%'", 300), ("s LIKE p", 100), ("s LIKE q", 300),
        ("p LIKE 'x%'", 0), ("s SIMILAR TO 'x+'", 100), ("regexp_like(s, 'x+')", 100),
        ("regexp_like(s, 'xxxxxxxx')", 200), ("regexp_like(s, p)", 100),
        ("array_length(l)", 1_600), ("ARRAY v FOR v IN l END", 1_600),
        ("ANY v IN l SATISFIES v = 2 END", 1_600), ("EVERY v WITHIN l SATISFIES v = 1 END", 1_600),
        ("ANY v IN split(s, '') SATISFIES v = 'y' END", 3_300),
        ("CASE WHEN true THEN upper(s) END", 200), ("[upper(s), {'a': upper(s)}]", 400),
    ])
    func `100 more bytes or elements cost units where an expression reads or writes them`(
        tested: (expression: String, units: Int)
    ) throws {
        let short = try units("SELECT \(tested.expression) AS v FROM t10")
        let long = try units("SELECT \(tested.expression) AS v FROM t110")
        #expect(long - short == tested.units)
    }

    @Test func `an evaluation that is stopped ends with its next charge`() {
        let stop = EvaluationStop()
        let meters = [EvaluationMeter(1_000, stop: stop), .unlimited(stop: stop)]
        func reasons(_ meter: EvaluationMeter) -> [StoreError.Reason] {
            var reasons: [StoreError.Reason] = []
            do throws(StoreError) { try meter.charge(1) } catch { reasons.append(error.reason) }
            do throws(StoreError) { try meter.checkStop() } catch { reasons.append(error.reason) }
            return reasons
        }
        for meter in meters { #expect(reasons(meter) == []) }
        stop.set()
        for meter in meters { #expect(reasons(meter) == [.cancelled, .cancelled]) }
        #expect(meters[0].units == 998)
    }
}
