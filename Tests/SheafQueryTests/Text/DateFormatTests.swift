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
