import SheafDocument
import SheafQuery
import SheafText
import Testing

/// Date functions as statements call them; nil is MISSING.
@Suite struct DateFunctionTests {
    /// 2024-03-05T17:08:09.045Z.
    private static let now: Int64 = 1_709_658_489_045

    private static let functions: [String: Function] = Dictionary(
        uniqueKeysWithValues: Function.dates.map { ($0.name, $0) })

    /// Returns the result of a function as text that distinguishes 1 from 1.0.
    private func call(_ name: String, _ arguments: Value?...) throws -> String? {
        let function = try #require(Self.functions[name], "\(name)")
        #expect(function.argumentCount ~= arguments.count)
        let value = try function.evaluate(arguments, FunctionContext(now: Self.now))
        return value.map { "\($0)" }
    }

    private func text(_ text: String) -> String? { "\(Value.string(text))" }

    private func number(_ number: Int64) -> String? { "\(Value.integer(number))" }

    private let null: String? = "\(Value.null)"

    @Test func `clock returns the start time of the statement`() throws {
        #expect(try call("clock") == text("2024-03-05T17:08:09.045+00:00"))
        #expect(try call("clock", "YYYY-MM-DD") == text("2024-03-05"))
        #expect(try call("clock", "%H:%M", "+05:30") == text("22:38"))
        #expect(try call("clock", "%H:%M", "Nowhere/AtAll") == nil)
        #expect(try call("clock", "%Q") == nil)
        #expect(try call("clock", 7) == nil)
        #expect(try call("clock", "%H", 7) == nil)
        #expect(try call("clock", .null) == null)
        #expect(try call("clock", "%H", .null) == null)
        #expect(try call("clock", nil) == nil)
        let clock = try #require(Self.functions["clock"])
        for now in [Int64.min, .max] {
            #expect(try clock.evaluate([], FunctionContext(now: now)) == nil)
        }
    }

    @Test func `date_add clamps days to the month and preserves the form of the date`() throws {
        let cases: [(Value, Value, Value, String?)] = [
            ("2024-01-31T12:00:00Z", "month", 1, text("2024-02-29T12:00:00+00:00")),
            ("2023-01-31T12:00:00Z", "mon", 1, text("2023-02-28T12:00:00+00:00")),
            ("2024-02-29T00:00:00Z", "year", 1, text("2025-02-28T00:00:00+00:00")),
            ("2024-02-29T00:00:00Z", "YEAR", -4, text("2020-02-29T00:00:00+00:00")),
            ("2024-02-28T23:00:00-01:00", "day", 1, text("2024-03-01T00:00:00+00:00")),
            ("2024-02-28Z", "week", 1, text("2024-03-06T00:00:00+00:00")),
            ("2024-11-30Z", "quarter", 1, text("2025-02-28T00:00:00+00:00")),
            (0, "hour", 1, number(3_600_000)), (0, "min", -1, number(-60_000)),
            (0, "minute", 1, number(60_000)), (0, "sec", 1, number(1_000)),
            (0, "second", 1, number(1_000)), (0, "ms", 1, number(1)), (0, "millis", 1, number(1)),
            (0, "millisecond", 1, number(1)), (1.5, "second", 1.0, number(1_001)),
            (-0.5, "ms", 0, number(-1)),
            ("9999-12-31Z", "day", 1, nil), ("0001-01-01Z", "ms", -1, nil),
            (0, "year", .integer(.max), nil), (0, "year", .integer(.min), nil),
            (0, "ms", .integer(.max), nil), (0, "week", .integer(.min), nil),
            (.integer(.max), "ms", .integer(.max), nil), (.integer(.min), "ms", 0, nil),
            (.float(.nan), "day", 1, nil), (.float(.infinity), "day", 1, nil),
            (1e300, "day", 1, nil),
            (0, "day", 1.5, nil), (0, "day", .float(.nan), nil), (0, "day", "1", nil),
            (0, "days", 1, nil), (0, "weekday", 1, nil), (0, 1, 1, nil), (true, "day", 1, nil),
            ("2024-01-31", "day", 1, nil), ("", "day", 1, nil), ([0], "day", 1, nil),
            (.null, "day", 1, null), (0, .null, 1, null), (0, "day", .null, null),
        ]
        for (date, part, count, expected) in cases {
            #expect(try call("date_add", date, part, count) == expected, "\(date) \(part) \(count)")
        }
        #expect(try call("date_add", nil, "day", .null) == nil)
        #expect(try call("date_add", 0, nil, 1) == nil)
    }

    @Test func `date_sub is date_add with the opposite sign`() throws {
        let cases: [(Value, Value, Value, String?)] = [
            ("2024-03-31T00:00:00Z", "month", 1, text("2024-02-29T00:00:00+00:00")),
            ("2024-03-31T00:00:00Z", "month", -1, text("2024-04-30T00:00:00+00:00")),
            (0, "day", 1, number(-86_400_000)), (0, "ms", .integer(.min), nil),
            (0, "ms", .integer(.max), nil), (0, "fortnight", 1, nil), (0, "day", "1", nil),
            ("2024-01-31", "day", 1, nil), (.null, "day", 1, null), (0, "day", .null, null),
        ]
        for (date, part, count, expected) in cases {
            #expect(try call("date_sub", date, part, count) == expected, "\(date) \(part) \(count)")
        }
        #expect(try call("date_sub", nil, "day", 1) == nil)
    }

    @Test func `date_diff counts complete units from the second date to the first`() throws {
        let cases: [(Value, Value, Value, String?)] = [
            ("2024-03-01Z", "2024-02-01Z", "day", number(29)),
            ("2024-02-01Z", "2024-03-01Z", "day", number(-29)),
            ("2024-03-01T11:59:59Z", "2024-02-29T12:00:00Z", "day", number(0)),
            ("2024-02-29T11:59:59Z", "2024-03-01T12:00:00Z", "day", number(-1)),
            ("2024-02-29Z", "2024-01-31Z", "month", number(1)),
            ("2024-02-28Z", "2024-01-31Z", "month", number(0)),
            ("2024-01-01Z", "2023-01-02Z", "year", number(0)),
            ("2024-01-02Z", "2023-01-02Z", "year", number(1)),
            ("2024-01-02T00:00+01:00", "2024-01-01T23:00:00Z", "ms", number(0)),
            ("1970-01-01T01:00Z", 0, "min", number(60)), (90_000, 0, "minute", number(1)),
            ("9999-12-31T23:59:59.999Z", "0001-01-01Z", "year", number(9_998)),
            ("0001-01-01Z", "9999-12-31T23:59:59.999Z", "ms", number(-315_537_897_599_999)),
            (.integer(.max), .integer(.min), "ms", nil), (0, 0, "eon", nil), (0, 0, 0, nil),
            (0, true, "day", nil), ("2024-03-01", 0, "day", nil), (.null, 0, "day", null),
            (0, .null, "day", null), (0, 0, .null, null),
        ]
        for (left, right, part, expected) in cases {
            #expect(
                try call("date_diff", left, right, part) == expected, "\(left) \(right) \(part)")
        }
        #expect(try call("date_diff", 0, nil, "day") == nil)
    }

    @Test func `date_part extracts a component of a date in UTC`() throws {
        let date: Value = "2024-03-05T01:08:09.045+02:00"
        let cases: [(Value, Value, String?)] = [
            (date, "year", number(2024)), (date, "month", number(3)), (date, "mon", number(3)),
            (date, "day", number(4)), (date, "hour", number(23)), (date, "min", number(8)),
            (date, "sec", number(9)), (date, "ms", number(45)), (date, "week", number(10)),
            (date, "quarter", number(1)), (date, "weekday", number(1)),
            ("2024-03-10Z", "weekday", number(7)), (date, "MonthName", text("March")),
            (date, "tz", text("+02:00")), (date, "timezone", text("+02:00")),
            (0, "tz", text("+00:00")),
            (-1, "year", number(1969)), (-1, "millis", number(999)), (0, "weekday", number(4)),
            (date, "century", nil), (date, 1, nil), ("yesterday", "year", nil),
            (false, "year", nil),
            (.integer(.max), "year", nil), (.integer(.min), "weekday", nil),
            (.null, "year", null), (date, .null, null),
        ]
        for (date, part, expected) in cases {
            #expect(try call("date_part", date, part) == expected, "\(date) \(part)")
        }
        #expect(try call("date_part", nil, "year") == nil)
    }

    @Test func `date_trunc returns the start of a unit`() throws {
        let date: Value = "2024-08-15T17:08:09.045Z"
        let cases: [(Value, Value, String?)] = [
            (date, "year", text("2024-01-01T00:00:00+00:00")),
            (date, "quarter", text("2024-07-01T00:00:00+00:00")),
            (date, "month", text("2024-08-01T00:00:00+00:00")),
            (date, "week", text("2024-08-12T00:00:00+00:00")),
            (date, "day", text("2024-08-15T00:00:00+00:00")),
            (date, "hour", text("2024-08-15T17:00:00+00:00")),
            (date, "minute", text("2024-08-15T17:08:00+00:00")),
            (date, "second", text("2024-08-15T17:08:09+00:00")),
            (date, "ms", text("2024-08-15T17:08:09.045+00:00")),
            ("2024-08-15T00:30:00+02:00", "day", text("2024-08-14T00:00:00+00:00")),
            (-1, "day", number(-86_400_000)), (-1, "year", number(-31_536_000_000)),
            (.integer(Moment.range.lowerBound), "week", number(Moment.range.lowerBound)),
            (.integer(.min), "day", nil), (date, "decade", nil), (date, 0, nil), ([], "day", nil),
            ("2024-08-15", "day", nil), (.null, "day", null), (date, .null, null),
        ]
        for (date, part, expected) in cases {
            #expect(try call("date_trunc", date, part) == expected, "\(date) \(part)")
        }
        #expect(try call("date_trunc", date, nil) == nil)
    }
}
