import SheafTestSupport
import SheafText
import Testing

/// Tests of the rules of time zones against a calendar, and of the limits of zone files.
@Suite struct ZoneLimitTests {
    /// Returns the seconds since 1970 at the start of a day.
    private func start(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        Int64(CalendarDay(year, month, day).number) * 86_400
    }

    /// Returns the day of a weekday in a month, counted day by day; week 5 is the last one.
    private func day(_ weekday: Int, week: Int, month: Int, year: Int) -> Int {
        let days = (1...CalendarDay.days(inMonth: month, of: year)).filter {
            CalendarDay(year, month, $0).weekday % 7 == weekday
        }
        return week == 5 ? days[days.count - 1] : days[week - 1]
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 6])
    func `a rule changes the clock on each weekday of each week of a month`(
        weekday: Int
    ) throws {
        for month in [1, 2, 6, 12] {
            for week in 1...5 {
                // The end is in a month between the starts.
                let other = month < 6 ? month + 5 : month - 5
                let text = "AAA0BBB,M\(month).\(week).\(weekday)/0,M\(other).1.0/0"
                let rule = try #require(ZoneRule(text.utf8), "\(text)")
                for year in [1999, 2000, 2023, 2024] {
                    let day = day(weekday, week: week, month: month, year: year)
                    let second = start(year, month, day)
                    #expect(!rule.clock(at: second - 1).isDaylight, "\(text) in \(year)")
                    #expect(rule.clock(at: second).isDaylight, "\(text) in \(year)")
                    let sunday = self.day(0, week: 1, month: other, year: year)
                    // The end is in the time of the summer.
                    let end = start(year, other, sunday) - 3_600
                    #expect(rule.clock(at: end - 1).isDaylight, "\(text) in \(year)")
                    #expect(!rule.clock(at: end).isDaylight, "\(text) in \(year)")
                }
            }
        }
    }

    @Test func `a day of the year counts February 29, unless it has a J`() throws {
        for year in [1900, 2000, 2023, 2024] {
            let first = start(year, 1, 1)
            for number in [0, 1, 58, 59, 60, 61, 100, 300] {
                let counted = try #require(ZoneRule("AAA0BBB,\(number)/0,350/0".utf8))
                let second = first + Int64(number) * 86_400
                #expect(!counted.clock(at: second - 1).isDaylight, "\(number) of \(year)")
                #expect(counted.clock(at: second).isDaylight, "\(number) of \(year)")
                guard number > 0 else { continue }
                let named = try #require(ZoneRule("AAA0BBB,J\(number)/0,350/0".utf8))
                let isLater = number >= 60 && CalendarDay.isLeap(year)
                let other = second - (isLater ? 0 : 86_400)
                #expect(!named.clock(at: other - 1).isDaylight, "J\(number) of \(year)")
                #expect(named.clock(at: other).isDaylight, "J\(number) of \(year)")
            }
        }
    }

    @Test func `a part of a rule has a least and a greatest value`() {
        func isRule(_ start: String) -> Bool { ZoneRule("AAA0BBB,\(start),J300".utf8) != nil }
        for (right, wrong) in [
            ("M1.1.0", "M0.1.0"), ("M12.5.6", "M13.5.6"), ("M1.5.0", "M1.0.0"),
            ("M1.1.6", "M1.1.7"), ("M12.5.0", "M12.6.0"), ("J1", "J0"), ("J365", "J366"),
            ("0", "-1"), ("365", "366"), ("1/167", "1/168"), ("1/-167", "1/-168"),
            ("1/167:59:59", "1/167:60"), ("1/0:00:59", "1/0:00:60"), ("1/+5", "1/++5"),
            ("J60/2", "J60/"), ("M3.5.0", "M3.5."), ("M3.05.0", "M3..0"), ("001", "0001"),
        ] {
            #expect(isRule(right) && !isRule(wrong), "\(right), \(wrong)")
        }
        for (text, offset) in [
            ("AAA24", -86_400), ("AAA-24:59:59", 89_999), ("AAA25", nil), ("AAA-0:0:1", 1),
            ("AAA+1:02:03", -3_723), ("<A+-9>0", 0), ("<A_B>0", nil), ("A1B0", nil), ("AB0", nil),
            ("<AB>0", nil), ("<ABC0", nil), ("AAA:30", nil), ("AAA1:", nil), ("AAA1:00:", nil),
        ] as [(String, Int?)] {
            #expect(ZoneRule(text.utf8)?.clock(at: 0).offset == offset, "\(text)")
        }
        #expect(ZoneRule("AAA0BBB-2,J1/0,J200/0".utf8)?.clock(at: 0).offset == 7_200)
        #expect(ZoneRule("AAA5BBB,J1/0,J200/0".utf8)?.clock(at: 86_400).offset == -14_400)
        #expect(ZoneRule("AAA0BBB,J1,J200".utf8)?.clock(at: 7_199).isDaylight == false)
        #expect(ZoneRule("AAA0BBB,J1,J200".utf8)?.clock(at: 7_200).isDaylight == true)
    }

    // MARK: Zone files

    private func isRead(_ change: (inout CraftedZone) -> Void) -> Bool {
        var zone = CraftedZone.berlin
        change(&zone)
        return ZoneFile.history(zone.bytes) != nil
    }

    @Test func `the fields of a zone file have limits`() {
        for (offset, isValid) in [
            (-89_999, true), (-90_000, false), (93_599, true), (93_600, false), (0, true),
        ] as [(Int32, Bool)] {
            let found = isRead { $0.types[0].offset = offset }
            #expect(found == isValid, "\(offset)")
        }
        for (flag, isValid) in [(0, true), (1, true), (2, false)] as [(UInt8, Bool)] {
            let found = isRead { $0.types[0].isDaylight = flag }
            #expect(found == isValid, "\(flag)")
        }
        // The names have 13 bytes, and a name may begin within another one.
        for (index, isValid) in [(1, true), (12, true), (13, false)] as [(UInt8, Bool)] {
            let found = isRead { $0.types[0].name = index }
            #expect(found == isValid, "\(index)")
        }
        for count in [1, 255, 256, 257] {
            let isValid = isRead { zone in
                let type = zone.types[1]
                zone.types = Array(repeating: type, count: count)
                for index in zone.changes.indices { zone.changes[index].type = 0 }
            }
            #expect(isValid == (count <= 256), "\(count)")
        }
        for (type, isValid) in [(0, true), (2, true), (3, false)] as [(UInt8, Bool)] {
            let found = isRead { $0.changes[2].type = type }
            #expect(found == isValid, "\(type)")
        }
        for version: UInt8 in [0x32, 0x33, 0x34] {
            let found = isRead { $0.version = version }
            #expect(found, "\(version)")
        }
        for (letters, isValid) in [("azAZ09+-", true), ("@[`{/:,. ", false)] {
            for letter in letters.utf8 {
                let found = isRead { $0.names[0] = letter }
                #expect(found == isValid, "\(letter)")
            }
        }
        let (noChanges, noRule) = (isRead { $0.changes = [] }, isRead { $0.footer = "" })
        #expect(noChanges && noRule)
    }

    @Test func `the type of a change has an offset, a name and a flag`() throws {
        var zone = CraftedZone.berlin
        zone.types[1] = (-3_600, 1, 9)
        // Without a rule, the last change applies for ever.
        zone.footer = ""
        let history = try #require(ZoneFile.history(zone.bytes))
        #expect(history.first == ZoneClock(offset: 3_208, isDaylight: false, abbreviation: "LMT"))
        let changed = ZoneClock(offset: -3_600, isDaylight: true, abbreviation: "EST")
        let times = zone.changes.map { $0.time }
        #expect(history.changes.map(\.start) == times)
        #expect(history.changes[0].clock == changed && history.changes[2].clock == changed)
        for (index, change) in zone.changes.enumerated() {
            #expect(history.clock(at: change.time) == history.changes[index].clock)
            let before = index == 0 ? history.first : history.changes[index - 1].clock
            #expect(history.clock(at: change.time - 1) == before)
        }
    }

    @Test func `a clock without a zone is named by its offset`() {
        for (offset, name) in [
            (0, "UTC"), (1, "+00:00:01"), (-1, "-00:00:01"), (3_600, "+01:00"),
            (-19_800, "-05:30"), (86_399, "+23:59:59"),
        ] {
            let clock = ZoneClock(offset: offset)
            #expect(clock.abbreviation == name && clock.offset == offset && !clock.isDaylight)
        }
    }
}
