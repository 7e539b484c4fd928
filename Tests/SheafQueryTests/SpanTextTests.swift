import SheafDocument
import SheafQuery
import SheafTestSupport
import Testing

/// The index spans that EXPLAIN prints.
@Suite struct SpanTextTests {
    private static let options = QueryOptions(now: 0, clock: { 0 }, newID: { 0 })

    /// Returns the index spans that EXPLAIN prints for a condition.
    private func spans(
        _ condition: String, descending: [Bool], _ arguments: [String: Value] = [:]
    ) throws -> [String] {
        let fields = zip(["a", "b"], descending).map {
            IndexDescription.Field([$0], isDescending: $1)
        }
        let statement = try Parser.parse("EXPLAIN SELECT * FROM c WHERE \(condition)")
        var options = Self.options
        options.arguments = ArgumentValues(arguments)
        let rows = try QueryRun(statement, on: EmptyStore(fields), options).rows()
        var next: Value? = .object(try rows.items[0].object(NameTable()))
        var plan: Object?
        if case .object(let row)? = next { next = row["plan"] }
        while case .object(let found)? = next {
            plan = found
            guard case .array(let children)? = found["children"] else { break }
            next = children.first
        }
        guard case .array(let spans)? = plan?["spans"] else { return [] }
        return spans.map { span in
            guard case .string(let text) = span else { return "" }
            return text
        }
    }

    private func value(_ random: inout SeededRandom) -> Value {
        switch random.below(6) {
        case 0: .integer(Int64(random.below(100)) - 50)
        case 1: .integer(Int64(truncatingIfNeeded: random.next()))
        case 2: .float(Double(bitPattern: random.next() & ~(0x7FF << 52) | 0x3F2 << 52))
        case 3:
            [
                .float(-0.0), .float(0.1), .integer(.min), .integer(.max), .integer(1 << 53),
                .float(.leastNonzeroMagnitude), .float(1e300), .float(-0x1p63),
            ][random.below(8)]
        default:
            .string(
                (0..<random.below(4)).map { _ in
                    ["a", "\0", "\u{1}", "é", "ÿ", "\"", "\\", "😀", "z"][random.below(9)]
                }.joined())
        }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `a printed span is a condition with the same span`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "spans")
        let descending = [random.chance(1, in: 2), random.chance(1, in: 2)]
        let operators = ["=", "<", "<=", ">", ">="]
        let first = value(&random)
        var condition = "a \(operators[random.below(5)]) :a"
        if random.chance(1, in: 2) {
            condition = "a = :a AND b \(operators[random.below(5)]) :b"
        } else if random.chance(1, in: 3) {
            condition = "a BETWEEN :a AND :b"
        }
        let arguments = ["a": first, "b": value(&random)]
        let found = try spans(condition, descending: descending, arguments)
        for span in found {
            #expect(!span.contains("0x"), "seed \(seed): \(condition) \(arguments): \(span)")
            guard !span.contains(" before "), !span.contains(" kind ") else { continue }
            let again = try spans(span, descending: descending)
            #expect(again == [span], "seed \(seed): \(condition) \(arguments)")
        }
    }

    @Test(arguments: [[false, false], [true, true], [true, false]])
    func `spans print their values as literals`(_ descending: [Bool]) throws {
        let cases: [(String, [String])] = [
            ("a = 'blue'", ["a = \"blue\""]),
            ("a > 5000", ["a > 5000"]),
            ("a >= -1 AND a <= -1", ["a = -1"]),
            ("a BETWEEN 'a' AND 'b'", ["a >= \"a\" AND a <= \"b\""]),
            ("a = 1 AND b < 2.5", ["a = 1 AND b < 2.5"]),
            ("a LIKE 'bl%'", ["starts_with(a, \"bl\")"]),
            ("a IS NULL", ["a IS NULL"]),
            ("a IS MISSING", ["a IS MISSING"]),
            ("a IS NOT MISSING", ["a IS NOT MISSING"]),
            ("a = true AND b = [1, 'x']", ["a = true AND b = [1,\"x\"]"]),
            ("a != 3", descending[0] ? ["a > 3", "a < 3"] : ["a < 3", "a > 3"]),
        ]
        for (condition, expected) in cases {
            #expect(try spans(condition, descending: descending) == expected, "\(condition)")
        }
    }

    @Test func `spans with values of several types have the values before and after them`() throws {
        let cases: [(String, [String])] = [
            ("a NOT IN ('m')", ["a before \"m\"", "a after \"m\" AND a before null"]),
            (
                "a NOT IN ('k', 'm')",
                [
                    "a before \"k\"", "a > \"k\" AND a < \"m\"",
                    "a after \"m\" AND a before null",
                ]
            ),
            ("a IS NOT NULL", ["a before null", "a IS MISSING"]),
            ("a IS NOT TRUE", ["a before true", "a after true"]),
        ]
        for (condition, expected) in cases {
            #expect(try spans(condition, descending: [false, false]) == expected, "\(condition)")
        }
    }
}
