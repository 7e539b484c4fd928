import SheafDocument
import SheafQuery
import SheafText
import Testing

/// Conversions between dates and other values; nil is MISSING.
@Suite struct DateFormatFunctionTests {
    private static let now: Int64 = 1_709_658_489_045

    private func call(
        _ name: String, _ arguments: [Value?], in zones: ZoneDirectory = .system
    ) throws -> String? {
        let function = try #require(Function.dates(zones: zones).first { $0.name == name })
        #expect(function.argumentCount ~= arguments.count)
        return try function.evaluate(arguments, FunctionContext(now: Self.now)).map { "\($0)" }
    }

    private func text(_ text: String) -> String? { "\(Value.string(text))" }

    private func number(_ number: Int64) -> String? { "\(Value.integer(number))" }

    private let null: String? = "\(Value.null)"

    @Test func `date_format writes dates in zones`() throws {
        let files = try TemporaryZones()
        try files.add("Berlin", CraftedZone.berlin.bytes)
        let zones = ZoneDirectory(files.path)
        let cases: [([Value?], String?)] = [
            (["2024-07-05T17:08:09Z", "hh:mm TZD", "Berlin"], text("19:08 +02:00")),
            (["2024-01-05T17:08:09Z", "%H:%M %Z", "Berlin"], text("18:08 CET")),
            (["2024-07-05T17:08:09+03:00", "%FT%T%:z"], text("2024-07-05T14:08:09+00:00")),
            ([0, "YYYY", "Z"], text("1970")), ([0, "", "UTC"], text("")),
            ([0, "%Y", "Berlin/.."], nil), ([0, "%Y", 2], nil), ([0, "%Q"], nil), ([0, 0], nil),
            (["2024-07-05", "%Y"], nil), ([true, "%Y"], nil), ([.integer(.min), "%Y"], nil),
            ([.null, "%Y"], null), ([0, .null], null), ([0, "%Y", .null], null),
            ([nil, "%Y", .null], nil), ([0, nil], nil),
        ]
        for (arguments, expected) in cases {
            #expect(try call("date_format", arguments, in: zones) == expected, "\(arguments)")
        }
    }

    @Test func `a date format beyond the length limit is refused`() throws {
        let longest = String(repeating: "%", count: DateFormat.maximumLength)
        #expect(
            try call("date_format", [0, .string(longest)]) == text(String(longest.dropLast(512))))
        let error = #expect(throws: StoreError.self) {
            try call("date_format", [0, .string(longest + "%")])
        }
        #expect(error?.reason == .limit)
    }

    @Test func `date_cast parses strings into dates`() throws {
        let cases: [([Value?], String?)] = [
            (["2024-03-05 07:08+02:00"], text("2024-03-05T05:08:00+00:00")),
            (["2024-03-05"], nil), (["soon"], nil), ([5], number(5)), ([5.7], number(5)),
            ([.integer(.max)], nil), ([true], nil), ([.null], null), ([nil], nil),
            (["05.03.2024", "DD.MM.YYYY"], text("2024-03-05T00:00:00+00:00")),
            (["05.03.24 +0100", "%d.%m.%y %z"], text("2024-03-04T23:00:00+00:00")),
            (["2024-03-05", "DD.MM.YYYY"], nil), (["5", "%Q"], nil), ([5, "%d"], nil),
            (["5", 5], nil),
            (["5", .null], null), ([.null, "%d"], null), (["5", nil], nil),
        ]
        for (arguments, expected) in cases {
            #expect(try call("date_cast", arguments) == expected, "\(arguments)")
        }
    }

    @Test func `date_range counts from its start and stops before its end`() throws {
        let cases: [([Value?], Value?)] = [
            (
                ["2024-01-31Z", "2024-04-30Z", "month", 1],
                [
                    "2024-01-31T00:00:00+00:00", "2024-02-29T00:00:00+00:00",
                    "2024-03-31T00:00:00+00:00",
                ]
            ),
            ([0, 3, "ms", 1], [0, 1, 2]), ([0, 3, "ms", 2], [0, 2]),
            ([3, 0, "ms", -1], [3, 2, 1]),
            ([0, "1970-01-01T00:00:02Z", "sec", 1], [0, 1_000]), ([0, 0, "ms", 1], []),
            ([0, 3, "ms", -1], []), ([3, 0, "ms", 1], []), ([0, 3, "ms", 0], []),
            ([0, 3, "ms", .integer(.max)], [0]), ([3, 0, "year", .integer(.min)], [3]),
            ([0, 3, "jiffy", 1], nil), ([0, 3, 1, 1], nil), ([0, 3, "ms", "1"], nil),
            ([0, 3, "ms", 0.5], nil), ([0, "3", "ms", 1], nil),
            ([.integer(.min), 3, "ms", 1], nil),
            ([0, .null, "ms", 1], .null), ([0, 3, "ms", .null], .null), ([nil, 3, "ms", 1], nil),
        ]
        for (arguments, expected) in cases {
            #expect(
                try call("date_range", arguments) == expected.map { "\($0)" }, "\(arguments)")
        }
    }

    @Test func `date_range refuses more elements than the limit`() throws {
        let limit = Int64(QueryLimits.maximumElements)
        let function = try #require(Function.dates.first { $0.name == "date_range" })
        let context = FunctionContext(now: Self.now)
        guard
            case .array(let elements) = try function.evaluate(
                [0, .integer(limit), "ms", 1], context)
        else {
            Issue.record("date_range returned no array")
            return
        }
        #expect(elements.count == QueryLimits.maximumElements)
        let error = #expect(throws: StoreError.self) {
            try function.evaluate([0, .integer(limit + 1), "ms", 1], context)
        }
        #expect(error?.reason == .limit)
    }

    @Test func `tz_offset returns the offset of a zone from UTC`() throws {
        let files = try TemporaryZones()
        try files.add("Berlin", CraftedZone.berlin.bytes)
        let zones = ZoneDirectory(files.path)
        let cases: [([Value?], String?)] = [
            (["Berlin"], text("+01:00")), (["Berlin", "2024-07-01Z"], text("+02:00")),
            (["Berlin", "1800-01-01Z"], text("+00:53:28")), (["UTC"], text("+00:00")),
            (["-0330", 0], text("-03:30")), (["Paris"], nil), ([""], nil), ([2], nil),
            (["Berlin", "2024-07-01"], nil), (["Berlin", .integer(.max)], nil), ([.null], null),
            (["UTC", .null], null), ([nil], nil),
        ]
        for (arguments, expected) in cases {
            #expect(try call("tz_offset", arguments, in: zones) == expected, "\(arguments)")
        }
    }

    @Test func `durations convert to milliseconds and back`() throws {
        let casts: [(Value?, String?)] = [
            ("1h30m", number(5_400_000)), ("-2s", number(-2_000)), ("0", number(0)), ("1y", nil),
            ("", nil), (5, nil), ([], nil), (.null, null), (nil, nil),
        ]
        for (argument, expected) in casts {
            #expect(try call("duration_cast", [argument]) == expected)
        }
        let formats: [(Value?, String?)] = [
            (5_400_000, text("1h30m0s")), (0, text("0s")), (1_500.9, text("1.5s")),
            (.integer(.min), text("-2562047788015h12m55.808s")), (.float(.infinity), nil),
            (1e19, nil), ("5", nil), (true, nil), (.null, null), (nil, nil),
        ]
        for (argument, expected) in formats {
            #expect(try call("duration_format", [argument]) == expected)
        }
    }

    @Test func `date functions accept any arguments without a trap`() throws {
        let values: [Value?] = [
            nil, .null, true, 0, -1, 1, .integer(.min), .integer(.max), 1.5, -0.0, .float(.nan),
            .float(.infinity), .float(-.infinity), 9.3e18, -9.3e18, 1e308, "", "day", "month", "Z",
            "%Y%f", "YYYY ss.sss TZD", "9999-12-31T23:59:59.999Z", "0001-01-01Z", "1h", .bytes([1]),
            [1], ["a": 1], .integer(Moment.range.lowerBound), .integer(Moment.range.upperBound),
        ]
        for function in Function.dates {
            // The loop passes at most three arguments; date_range takes four, and is called below.
            var calls: [[Value?]] = [[]]
            for index in 0..<min(function.argumentCount.upperBound, 3) {
                let few: [Value?] = [nil, .null, 1, .integer(.min), .integer(.max), "month", "Z"]
                let choices = index < 2 ? values : few
                calls += calls.flatMap { call in choices.map { call + [$0] } }
            }
            for arguments in calls where function.argumentCount ~= arguments.count {
                _ = try function.evaluate(arguments, FunctionContext(now: .max))
            }
        }
        let range = try #require(Function.dates.first { $0.name == "date_range" })
        for start in values {
            for step in values {
                for end: Value in ["0001-01-01Z", "9999-12-31T23:59:59.999Z"] {
                    _ = try range.evaluate(
                        [start, end, "year", step], FunctionContext(now: .max))
                }
            }
        }
    }
}
