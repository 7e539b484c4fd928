import SheafTestSupport
import SheafText
import Testing

/// Date formats, for printing and parsing.
@Suite struct DateFormatTests {
    private static let zones = ZoneDirectory("/nonexistent")

    private func written(_ format: String, _ date: String, _ zone: String = "UTC") throws -> String?
    {
        let moment = try #require(DateText(date), "\(date)").moment
        return DateFormat(format)?.text(of: moment, in: try #require(Self.zones.zone(zone)))
    }

    @Test func `word formats are printed`() throws {
        let date = "2024-03-05T07:08:09.045Z"
        let cases = [
            ("YYYY-MM-DD hh:mm:ss.sss TZD", "2024-03-05 07:08:09.045 +00:00"),
            ("YYYY-MM-DDThh:mm:ssTZD", "2024-03-05T07:08:09+00:00"),
            ("YY/MM/DD", "24/03/05"), ("HH.mm.ss", "07.08.09"), ("hh:mm:ss.s", "07:08:09.0"),
            ("ss,ssssss", "09,045000"), ("sssss", "09045"), ("ss.ssssssssssss", "09.045000000"),
            ("TZN", "UTC"), ("", ""), ("at s and ä", "at s and ä"),
            ("YYYYMMDDhhmmss", "20240305070809"),
            ("YYYYY", "2024Y"), ("M D h m", "M D h m"),
        ]
        for (format, text) in cases { #expect(try written(format, date) == text, "\(format)") }
    }

    @Test func `percent specifiers are printed`() throws {
        let date = "2024-03-05T17:08:09.045Z"
        let cases: [(String, String?)] = [
            ("%Y-%m-%d", "2024-03-05"), ("%F %T", "2024-03-05 17:08:09"),
            ("%R %D", "17:08 03/05/24"),
            ("%H:%M:%S.%f", "17:08:09.045000"), ("%S.%3f", "09.045"), ("%S.%9f", "09.045000000"),
            ("%a %A %b %B %h", "Tue Tuesday Mar March Mar"), ("%j", "065"), ("%e|%d", " 5|05"),
            ("%I:%M %p %P", "05:08 PM pm"), ("%y", "24"), ("%z %:z %Z", "+0000 +00:00 UTC"),
            ("%u %w %V", "2 2 10"), ("%s", "1709658489"), ("100%%", "100%"), ("%n%t", "\n\t"),
            ("YYYY %Y", "YYYY 2024"), ("%", nil), ("%Q", nil), ("%Y%", nil), ("%:Y", nil),
            ("%3Y", nil),
            ("%é", nil),
        ]
        for (format, text) in cases { #expect(try written(format, date) == text, "\(format)") }
        #expect(try written("%I%p", "2024-03-05T00:00:00Z") == "12AM")
        #expect(try written("%I%p", "2024-03-05T12:00:00Z") == "12PM")
        #expect(try written("%u%w", "2024-03-10Z") == "70")
    }

    @Test func `a date is printed in the given zone`() throws {
        let format = "YYYY-MM-DD hh:mm TZD TZN"
        let date = "2024-03-05T23:00:00Z"
        #expect(try written(format, date, "+05:30") == "2024-03-06 04:30 +05:30 +05:30")
        #expect(try written(format, date, "-05") == "2024-03-05 18:00 -05:00 -05:00")
        #expect(try written("%z", date, "-05") == "-0500")
        #expect(try written("%s", date, "-05") == "1709679600")
        #expect(try written(format, "9999-12-31T23:00:00Z", "+05:30") == nil)
        #expect(try written(format, "0001-01-01T00:00:00Z", "-00:01") == nil)
    }

    @Test func `a string is parsed by its format`() {
        let cases: [(format: String, text: String, expected: String?)] = [
            ("%Y-%m-%d", "2024-03-05", "2024-03-05T00:00:00+00:00"),
            ("YYYY-MM-DD", "2024-03-05", "2024-03-05T00:00:00+00:00"),
            (
                "YYYY-MM-DD hh:mm:ss.sss TZD", "2024-03-05 07:08:09.045 +05:30",
                "2024-03-05T01:38:09.045+00:00"
            ),
            (
                "YYYY-MM-DD hh:mm:ss.s", "2024-03-05 07:08:09.123456",
                "2024-03-05T07:08:09.123+00:00"
            ),
            ("%d %B %Y", "5 march 2024", "2024-03-05T00:00:00+00:00"),
            ("%d %b %Y", "05 MAR 2024", "2024-03-05T00:00:00+00:00"),
            (
                "%a, %d %b %Y %H:%M:%S %z", "Tue, 05 Mar 2024 07:08:09 -0500",
                "2024-03-05T12:08:09+00:00"
            ),
            ("%a %Y-%m-%d", "Wed 2024-03-05", nil),
            ("%I:%M %p", "12:30 AM", "1970-01-01T00:30:00+00:00"),
            ("%I:%M %p", "12:30 pm", "1970-01-01T12:30:00+00:00"),
            ("%I:%M %p", "13:30 pm", nil),
            ("%Y-%j", "2024-366", "2024-12-31T00:00:00+00:00"),
            ("%Y-%j", "2023-366", nil), ("%Y-%j", "2023-0", nil),
            ("%y%m%d", "690101", "1969-01-01T00:00:00+00:00"),
            ("%y%m%d", "680101", "2068-01-01T00:00:00+00:00"),
            ("%s", "1709658489", "2024-03-05T17:08:09+00:00"),
            ("%s", "-1", "1969-12-31T23:59:59+00:00"), ("%s", "999999999999", nil),
            ("%e", " 5", "1970-01-05T00:00:00+00:00"),
            ("%H%Z", "12UTC", "1970-01-01T12:00:00+00:00"),
            ("%H%Z", "12CET", nil), ("%Y", "0000", nil), ("%Y", "24", nil), ("%m", "13", nil),
            ("%d", "32", nil), ("%Y-%m-%d", "2023-02-29", nil), ("%H", "24", nil),
            ("%M", "60", nil),
            ("%Y-%m-%d", "2024-03-05 ", nil), ("%Y-%m-%d", "2024-03", nil), ("%Y", "", nil),
            ("%A", "Mond", nil), ("%B", "", nil), ("100%%", "100%", "1970-01-01T00:00:00+00:00"),
            ("%Y %z", "0001 +01:00", nil), ("%w", "0", nil), ("%u", "8", nil),
            ("%w %d", "4 1", "1970-01-01T00:00:00+00:00"),
        ]
        for (format, text, expected) in cases {
            #expect(DateFormat(format)?.moment(of: text)?.text == expected, "\(format): \(text)")
        }
    }

    @Test func `a component of a date is read with its own digits and limits`() {
        let cases: [(format: String, text: String, expected: String?)] = [
            ("%Y", "2024", "2024-01-01"), ("%Y", "20245", nil), ("%Y", "0001", "0001-01-01"),
            ("%y", "69", "1969-01-01"), ("%y", "99", "1999-01-01"), ("%y", "00", "2000-01-01"),
            ("%y", "68", "2068-01-01"), ("%y", "7", nil), ("%y", "123", nil),
            ("%m", "1", "1970-01-01"), ("%m", "12", "1970-12-01"), ("%m", "0", nil),
            ("%m", "001", nil), ("%m", "", nil), ("%d", "31", "1970-01-31"), ("%d", "0", nil),
            ("%e", "5", "1970-01-05"), ("%e", " 31", "1970-01-31"), ("%e", "  5", nil),
            ("%j", "1", "1970-01-01"), ("%j", "365", "1970-12-31"), ("%j", "366", nil),
            ("%j", "0001", nil), ("%Y %j", "2024 060", "2024-02-29"),
            ("%j %m", "32 2", "1970-02-01"), ("%j %m", "32 1", nil),
            ("%j %d", "32 1", "1970-02-01"), ("%j %d", "32 32", nil), ("%j %d", "32 2", nil),
            ("%V", "1", "1970-01-01"), ("%V", "2", nil), ("%F %V", "1970-01-05 02", "1970-01-05"),
            ("%u", "4", "1970-01-01"), ("%u", "0", nil), ("%u", "5", nil), ("%u", "", nil),
            ("%w", "4", "1970-01-01"), ("%w", "7", nil), ("%w %d", "0 4", "1970-01-04"),
            ("%u %d", "7 4", "1970-01-04"), ("%u %d", "8 5", nil), ("%w %d", "7 4", nil),
            ("%A", "thursday", "1970-01-01"), ("%A", "thu", "1970-01-01"), ("%A", "th", nil),
            ("%a", "THURSDAY", "1970-01-01"), ("%a", "Fri", nil), ("%a", "Thurs", nil),
            ("%b", "Dec", "1970-12-01"), ("%B", "dec", "1970-12-01"), ("%b", "De", nil),
            ("%h", "december", "1970-12-01"), ("%h", "Decembers", nil), ("%b", "D3c", nil),
            ("%n%t", "\n\t", "1970-01-01"), ("%n%t", "\t\n", nil), ("%%", "%", "1970-01-01"),
        ]
        for (format, text, expected) in cases {
            let found = DateFormat(format)?.moment(of: text)?.text
            #expect(found == expected.map { $0 + "T00:00:00+00:00" }, "\(format): \(text)")
        }
    }

    @Test func `a component of a time is read with its own digits and limits`() {
        let cases: [(format: String, text: String, expected: String?)] = [
            ("%H", "0", "00:00:00"), ("%H", "23", "23:00:00"), ("%H", "24", nil),
            ("%H", "007", nil), ("%M", "59", "00:59:00"), ("%M", "60", nil), ("%M", "", nil),
            ("%S", "59", "00:00:59"), ("%S", "60", nil), ("%S", "5", "00:00:05"),
            ("%I", "1", "01:00:00"), ("%I", "12", "00:00:00"), ("%I", "0", nil),
            ("%I", "13", nil), ("%I%p", "1am", "01:00:00"), ("%I%p", "1PM", "13:00:00"),
            ("%I%P", "12aM", "00:00:00"), ("%I%P", "12Pm", "12:00:00"), ("%I%p", "1m", nil),
            ("%I%p", "1ax", nil), ("%I%p", "1a", nil), ("%p%I", "pm11", "23:00:00"),
            // The hour of the day takes precedence over that of a half.
            ("%H %I%p", "5 6pm", "05:00:00"), ("%p", "pm", "00:00:00"),
            ("%f", "5", "00:00:00.500"), ("%f", "05", "00:00:00.050"),
            ("%f", "123456789012", "00:00:00.123"), ("%f", "", nil), ("%3f", "9", "00:00:00.900"),
            ("%s", "5", "00:00:05"), ("%s", "-0", "00:00:00"), ("%s", "", nil), ("%s", "-", nil),
            ("%s.%f", "5.25", "00:00:05.250"), ("%s", "+5", nil), ("%s", "0000000000005", nil),
            ("%H%z", "5+0100", "04:00:00"), ("%H%z", "5Z", "05:00:00"), ("%H%z", "5", nil),
            ("%H%:z", "5-01:00:30", "06:00:30"), ("%H%Z", "5GMT", "05:00:00"),
            ("%H%Z", "5UTC", "05:00:00"), ("%H%Z", "5+01:30", "03:30:00"), ("%H%Z", "5EST", nil),
            // The offset applies to all but the seconds since 1970.
            ("%s %z", "5 +0100", "00:00:05"), ("%H %s", "7 5", "00:00:05"),
        ]
        for (format, text, expected) in cases {
            let found = DateFormat(format)?.moment(of: text)?.text
            #expect(found == expected.map { "1970-01-01T" + $0 + "+00:00" }, "\(format): \(text)")
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `a moment survives printing and parsing with a complete format`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "formats")
        let formats = [
            "YYYY-MM-DD hh:mm:ss.sss TZD", "TZD DD.MM.YYYY ss,sss mm hh", "YYYYMMDDhhmmss.sssTZD",
            "%Y-%m-%dT%H:%M:%S.%f%z", "%A, %e %B %Y, %I:%M:%S.%3f %p %:z", "%Y %j %u %T.%f %Z",
            "%s.%f", "%a %b %d %R:%S.%f %z %Y", "%F %V %w %P %I %M %S %f %z",
        ]
        for _ in 0..<300 {
            let moment = try #require(
                Moment(milliseconds: Int64.random(in: Moment.range, using: &random)))
            let zone = Zone.fixed(seconds: random.below(172_000) - 86_000)
            for text in formats {
                let format = try #require(DateFormat(text), "\(text)")
                guard let written = format.text(of: moment, in: zone) else { continue }
                #expect(format.moment(of: written) == moment, "seed \(seed), \(text): \(written)")
            }
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `random formats print and parse without a trap`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "noise")
        let letters = Array("%%%%YYMMDDhhmmssTZDN:.,-3abefjpuwzAB\u{0}é".utf8)
        for _ in 0..<3_000 {
            let bytes = (0..<random.below(20)).map { _ in letters[random.below(letters.count)] }
            guard let format = DateFormat(String(decoding: bytes, as: UTF8.self)) else { continue }
            let number = Int64.random(in: Moment.range, using: &random)
            let moment = try #require(Moment(milliseconds: number))
            let text = format.text(of: moment, in: .utc)
            _ = format.moment(of: text ?? "")
            _ = format.moment(of: String(decoding: bytes, as: UTF8.self))
        }
    }
}
