import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

private typealias Case = FunctionCase

/// Functions for numbers.
@Suite struct NumberFunctionTests {
    @Test func `functions of one number match their table`() throws {
        var cases = [
            Case("abs", -3, is: 3), Case("abs", -2.5, is: 2.5),
            Case("abs", .integer(.min), is: nil),
            Case("abs", .integer(.min + 1), is: .integer(.max)),
            Case("ceil", 1.2, is: 2.0), Case("ceil", -1.2, is: -1.0), Case("ceil", 5, is: 5),
            Case("floor", 1.8, is: 1.0), Case("floor", -1.2, is: -2.0), Case("floor", 5, is: 5),
            Case("round", 2.5, is: 3.0), Case("round", -2.5, is: -3.0), Case("round", 5, is: 5),
            Case("round", 0.49999999999999994, is: 0.0),
            Case("sqrt", 4, is: 2.0), Case("sqrt", 2.25, is: 1.5), Case("sqrt", -1, is: nil),
            Case("sign", -7, is: -1), Case("sign", 0, is: 0), Case("sign", 2.5, is: 1),
            Case("sign", -0.0, is: 0), Case("sign", .float(-.infinity), is: -1),
        ]
        let functions = Function.numbers.filter { $0.name != "power" }
        for function in functions {
            cases += [
                Case(function.name, "4", is: nil), Case(function.name, true, is: nil),
                Case(function.name, [4], is: nil), Case(function.name, .null, is: .null),
                Case(function.name, nil, is: nil), Case(function.name, .float(.nan), is: nil),
            ]
        }
        try Case.check(cases, cover: functions)
    }

    @Test func `power of integers is exact, and MISSING on overflow`() throws {
        try Case.check(
            [
                Case("power", 2, 10, is: 1024), Case("power", 2, 62, is: .integer(1 << 62)),
                Case("power", 2, 63, is: nil), Case("power", -2, 63, is: .integer(.min)),
                Case("power", -2, 64, is: nil), Case("power", 3, 39, is: 4_052_555_153_018_976_267),
                Case("power", 3, 40, is: nil), Case("power", 0, 0, is: 1),
                Case("power", 1, .integer(.max), is: 1), Case("power", -1, .integer(.max), is: -1),
                Case("power", 0, .integer(.max), is: 0),
                Case("power", 7, .integer(.max), is: nil), Case("power", 2, -1, is: 0.5),
                Case("power", 0, -1, is: nil), Case("power", 2.0, 3, is: 8.0),
                Case("power", 4, 0.5, is: 2.0), Case("power", -4, 0.5, is: nil),
                Case("power", 1e300, 2, is: nil), Case("power", .null, 2, is: .null),
                Case("power", .null, "2", is: nil), Case("power", 2, nil, is: nil),
                Case("power", "2", 2, is: nil),
            ], cover: Function.numbers.filter { $0.name == "power" })
    }

    @Test func `round rounds the decimal representation`() throws {
        try Case.check(
            [
                Case("round", 1.005, 2, is: 1.01), Case("round", 2.675, 2, is: 2.68),
                Case("round", -2.675, 2, is: -2.68), Case("round", 1.25, 1, is: 1.3),
                Case("round", 0.1, 5, is: 0.1), Case("round", 99.95, 1, is: 100.0),
                Case("round", 0.05, 1, is: 0.1), Case("round", 0.04, 1, is: 0.0),
                Case("round", 0.005, 1, is: 0.0), Case("round", 1234.5, -2, is: 1200.0),
                Case("round", 1250.0, -2, is: 1300.0), Case("round", 1e-7, 7, is: 1e-7),
                Case("round", 1.5e-7, 7, is: 2e-7), Case("round", 1e300, 2, is: 1e300),
                Case("round", 1.7e308, -308, is: nil), Case("round", 5.0, .integer(.max), is: 5.0),
                Case("round", 5.0, .integer(.min), is: 0.0),
                Case("round", .float(.leastNonzeroMagnitude), 322, is: 0.0),
                Case("round", 1250, -2, is: 1300), Case("round", -1250, -2, is: -1300),
                Case("round", 1249, -2, is: 1200), Case("round", 7, 3, is: 7),
                Case("round", .integer(.max), -1, is: nil),
                Case("round", .integer(.max), -2, is: 9_223_372_036_854_775_800),
                Case("round", .integer(.min), -19, is: nil),
                Case("round", .integer(.min), -20, is: 0),
                Case("round", .integer(.min), .integer(.min), is: 0), Case("round", 4, -1, is: 0),
                Case("round", 2.5, 0.0, is: nil), Case("round", .null, 0.0, is: nil),
                Case("round", 2.5, "1", is: nil), Case("round", 2.5, .null, is: .null),
                Case("round", .null, 1, is: .null), Case("round", nil, 1, is: nil),
            ], cover: [])
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `round is idempotent and changes a number by at most half a unit of the last digit`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "rounding")
        let round = try #require(Functions.named("round"))
        for _ in 0..<200 {
            let value = Double(Int64(bitPattern: random.next()) >> Int64(random.below(50))) / 65_536
            let digits = random.below(12)
            let arguments: [Value?] = [.float(value), .integer(Int64(digits))]
            guard case .float(let once) = try round.evaluate(arguments, FunctionContext(now: 0))
            else {
                Issue.record("seed \(seed): round(\(value), \(digits)) is MISSING")
                continue
            }
            let unit = (0..<digits).reduce(1.0) { unit, _ in unit / 10 }
            #expect(abs(once - value) <= unit * 0.51 + abs(value) * 1e-15, "seed \(seed)")
            let again = try round.evaluate(
                [.float(once), .integer(Int64(digits))], FunctionContext(now: 0))
            #expect(again == .float(once), "seed \(seed): round(\(value), \(digits))")
        }
    }
}
