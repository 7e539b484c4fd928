import SheafTestSupport
import SheafText
import Testing

/// Day numbers, week numbers, moments, and their differences in calendar units.
@Suite struct CalendarTests {
    /// Calls `body` with each month of the years 1 to 9999 and the counted number of its first day.
    private static func months(
        _ body: (_ year: Int, _ month: Int, _ length: Int, _ first: Int) -> Void
    ) {
        var number = -719_162
        for year in 1...9_999 {
            var february = 28
            if year % 400 == 0 {
                february = 29
            } else if year % 100 != 0, year % 4 == 0 {
                february = 29
            }
            for (index, length) in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
                .enumerated()
            {
                body(year, index + 1, length, number)
                number += length
            }
        }
        #expect(number == 2_932_897)
    }

    @Test func `a day number equals the count of days since 1970`() {
        var wrong: [CalendarDay] = []
        var firstOfYear = 0
        Self.months { year, month, length, first in
            if month == 1 { firstOfYear = first }
            for day in [1, 2, 15, length - 1, length] {
                let expected = CalendarDay(year, month, day)
                let number = first + day - 1
                if CalendarDay(number: number) != expected || expected.number != number
                    || expected.dayOfYear != number - firstOfYear + 1
                    || expected.weekday != (number + 719_162) % 7 + 1
                {
                    wrong.append(expected)
                }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test func `a day outside its month is refused`() {
        var wrong: [CalendarDay] = []
        Self.months { year, month, length, first in
            guard first % 3 == 0 else { return }
            for day in [-1, 0, 1, 28, 29, 30, 31, 32] {
                let made = CalendarDay(year: year, month: month, day: day)
                if (made != nil) != (1...length ~= day) {
                    wrong.append(CalendarDay(year, month, day))
                }
            }
        }
        #expect(wrong.isEmpty)
        #expect(CalendarDay(year: 2024, month: 0, day: 1) == nil)
        #expect(CalendarDay(year: 2024, month: 13, day: 1) == nil)
    }

    @Test func `week numbers follow ISO 8601`() {
        let cases = [
            (2005, 1, 1, 53), (2005, 1, 2, 53), (2005, 12, 31, 52), (2006, 1, 1, 52),
            (2007, 1, 1, 1), (2008, 12, 29, 1), (2009, 12, 31, 53), (2010, 1, 3, 53),
            (2024, 12, 30, 1), (2026, 12, 31, 53), (1, 1, 1, 1),
        ]
        for (year, month, day, week) in cases {
            #expect(CalendarDay(year, month, day).week == week, "\(year)-\(month)-\(day)")
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `a moment survives conversion to a calendar time`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "times")
        for _ in 0..<5_000 {
            let moment = try #require(
                Moment(milliseconds: Int64.random(in: Moment.range, using: &random)))
            let offset = random.below(180_000) - 90_000
            let time = CalendarTime(moment, offset: offset)
            #expect(Moment(time, offset: offset) == moment, "seed \(seed)")
            #expect(moment.seconds * 1_000 <= moment.milliseconds, "seed \(seed)")
            #expect(moment.milliseconds - moment.seconds * 1_000 < 1_000, "seed \(seed)")
        }
    }

    @Test func `moments outside the years 1 to 9999 are refused`() throws {
        let earliest = try #require(Moment(milliseconds: Moment.range.lowerBound))
        let latest = try #require(Moment(milliseconds: Moment.range.upperBound))
        #expect(earliest.text == "0001-01-01T00:00:00+00:00")
        #expect(latest.text == "9999-12-31T23:59:59.999+00:00")
        for number in [Moment.range.lowerBound - 1, Moment.range.upperBound + 1, .min, .max] {
            #expect(Moment(milliseconds: number) == nil)
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `a difference is the largest number of units that fits between two moments`(seed: UInt64)
        throws
    {
        var random = SeededRandom(seed: seed, "differences")
        for _ in 0..<2_000 {
            let left = try #require(
                Moment(milliseconds: Int64.random(in: Moment.range, using: &random)))
            // Half of the pairs are close together, where the lengths of months matter.
            let near = left.milliseconds + Int64(random.below(20_000_000_000)) - 10_000_000_000
            let far = Int64.random(in: Moment.range, using: &random)
            let other = Moment(milliseconds: random.chance(1, in: 2) ? near : far) ?? left
            let (earlier, later) = (min(left, other), max(left, other))
            for unit in DateUnit.allCases {
                let count = later.difference(from: earlier, in: unit)
                #expect(earlier.difference(from: later, in: unit) == -count, "seed \(seed)")
                let reached = try #require(earlier.adding(count, unit))
                #expect(reached <= later, "seed \(seed), \(earlier.text) \(later.text) \(unit)")
                if let next = earlier.adding(count + 1, unit) {
                    #expect(later < next, "seed \(seed), \(earlier.text) \(later.text) \(unit)")
                }
            }
        }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func `the start of a unit is the latest start at or before the moment`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "starts")
        for _ in 0..<2_000 {
            let moment = try #require(
                Moment(milliseconds: Int64.random(in: Moment.range, using: &random)))
            for unit in DateUnit.allCases {
                let start = try #require(moment.start(of: unit))
                #expect(start <= moment && start.start(of: unit) == start, "seed \(seed), \(unit)")
                if let next = start.adding(1, unit) {
                    #expect(moment < next, "seed \(seed), \(unit)")
                    #expect(next.start(of: unit) == next, "seed \(seed), \(unit)")
                }
            }
        }
    }
}
