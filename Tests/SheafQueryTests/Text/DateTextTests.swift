import SheafTestSupport
import SheafText
import Testing

/// ISO 8601 dates and durations.
@Suite struct DateTextTests {
    @Test func `dates parse in all their forms`() throws {
        let cases: [(text: String, milliseconds: Int64, offset: Int)] = [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("1970-01-01Z", 0, 0),
            ("1970-01-01 Z", 0, 0),
            ("1970-01-01+01:00", -3_600_000, 3_600),
            ("1970-01-01T00:01Z", 60_000, 0),
            ("1970-01-01 00:00:01Z", 1_000, 0),
            ("1970-01-01t00:00:01z", 1_000, 0),
            ("1970-01-01 00:00:01 +00:00", 1_000, 0),
            ("1970-01-01T00:00:00.5Z", 500, 0),
            ("1970-01-01T00:00:00,25Z", 250, 0),
            ("1970-01-01T00:00:00.123456789Z", 123, 0),
            ("1969-12-31T23:59:59.9999Z", -1, 0),
            ("1970-01-01T05:30:00+05:30", 0, 19_800),
            ("1970-01-01T05:30:00+0530", 0, 19_800),
            ("1970-01-01T05:00:00+05", 0, 18_000),
            ("1969-12-31T19:00:00-05:00", 0, -18_000),
            ("1970-01-01T00:53:28+00:53:28", 0, 3_208),
            ("2024-02-29T12:00:00Z", 1_709_208_000_000, 0),
            ("0001-01-01T00:00:00Z", Moment.range.lowerBound, 0),
            ("9999-12-31T23:59:59.999Z", Moment.range.upperBound, 0),
        ]
        for (text, milliseconds, offset) in cases {
            let date = try #require(DateText(text), "\(text)")
            #expect(date.moment.milliseconds == milliseconds, "\(text)")
            #expect(date.offset == offset, "\(text)")
        }
    }

    @Test func `a string that is not a date with a zone is refused`() {
        let texts = [
            "", "Z", "2024", "2024-01", "2024-01-15", "2024-01-15T12:00:00", "2024-01-15 12:00",
            "2024-01-15TZ", "2024-01-15T12Z", "2024-01-15T1:00Z", "2024-01-15T12:0Z",
            "2024-01-15T12:00:Z", "2024-01-15T12:00:00.Z", "2024-01-15T24:00:00Z",
            "2024-01-15T12:60:00Z", "2024-01-15T12:00:60Z", "2024-00-15Z", "2024-13-15Z",
            "2024-02-30Z", "2023-02-29Z", "1900-02-29Z", "2024-04-31Z", "2024-01-00Z",
            "0000-01-01Z", "10000-01-01Z", "-2024-01-01Z", "24-01-01Z", "2024-1-01Z",
            "2024-01-15T12:00:00+5", "2024-01-15T12:00:00+05:3", "2024-01-15T12:00:00+24:00",
            "2024-01-15T12:00:00+05:60", "2024-01-15T12:00:00+053", "2024-01-15T12:00:00ZZ",
            " 2024-01-15Z", "2024-01-15Z ", "2024-01-15T12:00:00  Z", "2024/01/15Z",
            "2024-01-15T12:00:00 UTC", "٢٠٢٤-01-15Z", "2024-01-15T12:00:00Ž",
            "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
            "2024-01-15T12:00:00." + String(repeating: "0", count: 200) + "Z",
        ]
        for text in texts {
            #expect(DateText(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [127, 128, 129])
    func `a date has at most 128 bytes`(length: Int) {
        let start = "2024-01-15T12:00:00."
        let text = start + String(repeating: "5", count: length - start.utf8.count - 1) + "Z"
        #expect(text.utf8.count == length && (DateText(text) != nil) == (length <= 128))
    }

    @Test(
        arguments: [
            (String(repeating: "1h", count: 128), 460_800_000),
            (String(repeating: "1h", count: 126) + "10ms", 453_600_010),
            (String(repeating: "1h", count: 127) + "1ms", nil),
        ] as [(String, Int64?)])
    func `a duration has at most 256 bytes`(text: String, milliseconds: Int64?) {
        #expect(text.utf8.count == (milliseconds == nil ? 257 : 256))
        #expect(DurationText.milliseconds(text) == milliseconds)
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `a moment survives printing and parsing`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "texts")
        for _ in 0..<3_000 {
            var number = Int64.random(in: Moment.range, using: &random)
            if random.chance(1, in: 2) { number -= number % 1_000 }
            let moment = try #require(Moment(milliseconds: number))
            let date = try #require(DateText(moment.text), "seed \(seed), \(moment.text)")
            #expect(date.moment == moment && date.offset == 0, "seed \(seed), \(moment.text)")
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `random strings of date characters parse without a trap`(seed: UInt64) {
        var random = SeededRandom(seed: seed, "noise")
        let letters = Array("0123456789-:TZ+. ,%YMDhms".utf8)
        for _ in 0..<5_000 {
            var bytes = Array("2024-02-29T12:34:56.789+05:30".utf8)
            for _ in 0..<1 + random.below(3) {
                let index = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[index] = letters[random.below(letters.count)]
                case 1: bytes.insert(letters[random.below(letters.count)], at: index)
                default: bytes.remove(at: index)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            // A string that parses must survive printing and parsing.
            guard let date = DateText(text) else { continue }
            #expect(DateText(date.moment.text)?.moment == date.moment, "seed \(seed), \(text)")
        }
    }

    @Test func `durations parse in all their units`() {
        let cases: [(String, Int64?)] = [
            ("1h30m", 5_400_000), ("1h30m0s", 5_400_000), ("90m", 5_400_000), ("1.5h", 5_400_000),
            ("0", 0), ("0s", 0), ("250ms", 250), ("-1h", -3_600_000), ("+1s", 1_000),
            ("1d2h", 93_600_000), ("1500us", 1), ("500us500us", 1), ("1999999ns", 1),
            ("2000\u{B5}s", 2), ("2000\u{3BC}s", 2), ("-1.9ms", -1), (".5s", 500), ("1.s", 1_000),
            ("9223372036854775807ms", .max), ("-9223372036854775808ms", .min),
            ("9223372036854775808ms", nil), ("-9223372036854775809ms", nil),
            ("99999999999999999999999ms", nil), ("9223372036854775807d", nil),
            ("", nil), ("-", nil), ("h", nil), ("1", nil), ("1.", nil), (".s", nil), ("1x", nil),
            ("1h 30m", nil), ("1H", nil), ("--1h", nil), ("1h-30m", nil), ("PT1H", nil),
            (String(repeating: "1h", count: 129), nil),
            (String(repeating: "9ns", count: 85), 0),
        ]
        for (text, milliseconds) in cases {
            #expect(DurationText.milliseconds(text) == milliseconds, "\(text)")
        }
    }

    @Test func `durations print without leading zero units`() {
        let cases: [(Int64, String)] = [
            (5_400_000, "1h30m0s"), (0, "0s"), (1, "1ms"), (999, "999ms"), (1_000, "1s"),
            (1_500, "1.5s"), (1_050, "1.05s"), (1_001, "1.001s"), (60_000, "1m0s"),
            (3_600_000, "1h0m0s"), (90_061_001, "25h1m1.001s"), (-250, "-250ms"),
            (-5_400_000, "-1h30m0s"), (.max, "2562047788015h12m55.807s"),
            (.min, "-2562047788015h12m55.808s"),
        ]
        for (milliseconds, text) in cases {
            #expect(DurationText.text(milliseconds) == text)
            #expect(DurationText.milliseconds(text) == milliseconds)
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `a duration survives printing and parsing`(seed: UInt64) {
        var random = SeededRandom(seed: seed, "durations")
        for _ in 0..<3_000 {
            let number = Int64(bitPattern: random.next()) >> Int64(random.below(64))
            let text = DurationText.text(number)
            #expect(DurationText.milliseconds(text) == number, "seed \(seed), \(text)")
        }
    }
}
