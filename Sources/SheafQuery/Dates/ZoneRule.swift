/// A rule for all years, as POSIX writes it: `CET-1CEST,M3.5.0,M10.5.0/3`.
package struct ZoneRule: Hashable, Sendable {
    /// A day of any year, and the time on it by the clock that ends then.
    struct Change: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// From 1, and never the leap day.
            case withoutLeapDay(Int)
            /// From 0.
            case dayOfYear(Int)
            /// A weekday of a month, 0 for Sunday; the fifth of them is the last.
            case weekday(month: Int, week: Int, weekday: Int)
        }

        let day: Day
        /// Seconds after midnight: up to a week before or after.
        let seconds: Int
    }

    private struct Daylight: Hashable {
        let clock: ZoneClock
        let start: Change
        let end: Change
    }

    private let standard: ZoneClock
    private let daylight: Daylight?

    /// What clocks show at a second since 1970, which is one of a moment.
    package func clock(at second: Int64) -> ZoneClock {
        guard let daylight else { return standard }
        let local = second + Int64(standard.offset)
        let dayNumber = Int((local - (local % 86_400 + 86_400) % 86_400) / 86_400)
        let year = CalendarDay(number: dayNumber).year
        var latest: (start: Int64, isDaylight: Bool)?
        // A change may be days away from its day, and so in another year.
        for year in year - 1...year + 1 {
            let end = daylight.end.second(in: year, offset: daylight.clock.offset)
            if end <= second, latest.map({ $0.start < end }) != false { latest = (end, false) }
            // Where one year's daylight time ends as the next one's begins, it goes on.
            let start = daylight.start.second(in: year, offset: standard.offset)
            if start <= second, latest.map({ $0.start <= start }) != false {
                latest = (start, true)
            }
        }
        return latest?.isDaylight == true ? daylight.clock : standard
    }
}

extension ZoneRule.Change {
    /// When it is in a year, in seconds since 1970.
    fileprivate func second(in year: Int, offset: Int) -> Int64 {
        let number: Int
        switch day {
        case .withoutLeapDay(let day):
            let isAfterLeapDay = CalendarDay.isLeap(year) && day >= 60
            number = CalendarDay(year, 1, 1).number + day - (isAfterLeapDay ? 0 : 1)
        case .dayOfYear(let day):
            number = CalendarDay(year, 1, 1).number + day
        case .weekday(let month, let week, let weekday):
            let first = CalendarDay(year, month, 1)
            let earliest = 1 + (weekday - first.weekday % 7 + 7) % 7
            let length = CalendarDay.days(inMonth: month, of: year)
            let day = earliest + (week - 1) * 7
            number = first.number + (day > length ? day - 7 : day) - 1
        }
        return Int64(number) * 86_400 + Int64(seconds - offset)
    }
}

extension ZoneRule {
    /// Reads a rule from the end of a zone's file; nil where it is none.
    package init?(_ bytes: some Sequence<UInt8>) {
        var scanner = RuleScanner(Array(bytes))
        guard let name = scanner.abbreviation(), let behind = scanner.time(hours: 24) else {
            return nil
        }
        standard = ZoneClock(offset: -behind, isDaylight: false, abbreviation: name)
        guard !scanner.isAtEnd else {
            daylight = nil
            return
        }
        guard let name = scanner.abbreviation() else { return nil }
        var offset = standard.offset + 3_600
        if scanner.next != 0x2C {
            guard let behind = scanner.time(hours: 24) else { return nil }
            offset = -behind
        }
        guard let start = scanner.change(), let end = scanner.change(), scanner.isAtEnd else {
            return nil
        }
        daylight = Daylight(
            clock: ZoneClock(offset: offset, isDaylight: true, abbreviation: name),
            start: start, end: end)
    }
}

/// Reads the parts of a rule.
private struct RuleScanner {
    let bytes: [UInt8]
    var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Reads a number of at most three digits.
    mutating func number(_ range: ClosedRange<Int>) -> Int? {
        let start = position
        var value = 0
        while position < start + 3, let next, 0x30...0x39 ~= next {
            value = value * 10 + Int(next - 0x30)
            position += 1
        }
        return position > start && range ~= value ? value : nil
    }

    /// Reads letters, or anything that is allowed in names between `<` and `>`.
    mutating func abbreviation() -> String? {
        let isQuoted = take(0x3C)
        let start = position
        while let next, isQuoted ? ZoneFile.isOfAbbreviations(next) : 0x41...0x5A ~= next & 0xDF {
            position += 1
        }
        let name = bytes[start..<position]
        guard 3...ZoneFile.maximumAbbreviation ~= name.count, !isQuoted || take(0x3E) else {
            return nil
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Reads `2`, `-2:30` or `+2:30:15` as seconds.
    mutating func time(hours limit: Int) -> Int? {
        let isNegative = take(0x2D)
        if !isNegative { _ = take(0x2B) }
        guard let hours = number(0...limit) else { return nil }
        var seconds = hours * 3_600
        if take(0x3A) {
            guard let minutes = number(0...59) else { return nil }
            seconds += minutes * 60
            if take(0x3A) {
                guard let rest = number(0...59) else { return nil }
                seconds += rest
            }
        }
        return isNegative ? -seconds : seconds
    }

    /// Reads `,M10.5.0/3`, `,J60` or `,59`: at two o'clock where there is no time.
    mutating func change() -> ZoneRule.Change? {
        guard take(0x2C), let day = day() else { return nil }
        guard take(0x2F) else { return ZoneRule.Change(day: day, seconds: 7_200) }
        return time(hours: 167).map { ZoneRule.Change(day: day, seconds: $0) }
    }

    private mutating func day() -> ZoneRule.Change.Day? {
        if take(0x4A) { return number(1...365).map { .withoutLeapDay($0) } }
        guard take(0x4D) else { return number(0...365).map { .dayOfYear($0) } }
        guard let month = number(1...12), take(0x2E), let week = number(1...5), take(0x2E),
            let weekday = number(0...6)
        else { return nil }
        return .weekday(month: month, week: week, weekday: weekday)
    }
}
