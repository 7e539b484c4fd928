/// An annual rule of daylight saving time in POSIX form: `CET-1CEST,M3.5.0,M10.5.0/3`.
package struct ZoneRule: Hashable, Sendable {
    /// The day and local time of an annual transition.
    struct Change: Hashable, Sendable {
        enum Day: Hashable, Sendable {
            /// Day of the year from 1, never February 29.
            case withoutLeapDay(Int)
            /// Day of the year from 0, counting February 29.
            case dayOfYear(Int)
            /// A weekday of a month, 0 for Sunday; week 5 is the last.
            case weekday(month: Int, week: Int, weekday: Int)
        }

        let day: Day
        /// Seconds after midnight, at most a week before or after it.
        let seconds: Int
    }

    private struct Daylight: Hashable {
        let clock: ZoneClock
        let start: Change
        let end: Change
    }

    private let standard: ZoneClock
    private let daylight: Daylight?

    /// Returns the local clock at a second since 1970.
    package func clock(at second: Int64) -> ZoneClock {
        guard let daylight else { return standard }
        let local = second + Int64(standard.offset)
        let dayNumber = Int((local - (local % 86_400 + 86_400) % 86_400) / 86_400)
        let year = CalendarDay(number: dayNumber).year
        var latest: (start: Int64, isDaylight: Bool)?
        // A transition may be days away from its day and thus in another year.
        for year in year - 1...year + 1 {
            let end = daylight.end.second(in: year, offset: daylight.clock.offset)
            if end <= second, latest.map({ $0.start < end }) != false { latest = (end, false) }
            // Daylight saving time continues if its end coincides with the next start.
            let start = daylight.start.second(in: year, offset: standard.offset)
            if start <= second, latest.map({ $0.start <= start }) != false {
                latest = (start, true)
            }
        }
        return latest?.isDaylight == true ? daylight.clock : standard
    }
}

extension ZoneRule.Change {
    /// Returns the time of the transition in a year, in seconds since 1970.
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
    /// Parses the footer of a zone file; nil if it is invalid.
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

/// A scanner for the parts of a POSIX rule.
private struct RuleScanner {
    let bytes: [UInt8]
    var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func consume(_ byte: UInt8) -> Bool {
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

    /// Reads an abbreviation: letters, or any valid characters between `<` and `>`.
    mutating func abbreviation() -> String? {
        let isQuoted = consume(0x3C)
        let start = position
        while let next, isQuoted ? ZoneFile.isOfAbbreviations(next) : 0x41...0x5A ~= next & 0xDF {
            position += 1
        }
        let name = bytes[start..<position]
        guard 3...ZoneFile.maximumAbbreviation ~= name.count, !isQuoted || consume(0x3E) else {
            return nil
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Reads `2`, `-2:30` or `+2:30:15` as seconds.
    mutating func time(hours limit: Int) -> Int? {
        let isNegative = consume(0x2D)
        if !isNegative { _ = consume(0x2B) }
        guard let hours = number(0...limit) else { return nil }
        var seconds = hours * 3_600
        if consume(0x3A) {
            guard let minutes = number(0...59) else { return nil }
            seconds += minutes * 60
            if consume(0x3A) {
                guard let rest = number(0...59) else { return nil }
                seconds += rest
            }
        }
        return isNegative ? -seconds : seconds
    }

    /// Reads `,M10.5.0/3`, `,J60` or `,59`; the default time is two o'clock.
    mutating func change() -> ZoneRule.Change? {
        guard consume(0x2C), let day = day() else { return nil }
        guard consume(0x2F) else { return ZoneRule.Change(day: day, seconds: 7_200) }
        return time(hours: 167).map { ZoneRule.Change(day: day, seconds: $0) }
    }

    private mutating func day() -> ZoneRule.Change.Day? {
        if consume(0x4A) { return number(1...365).map { .withoutLeapDay($0) } }
        guard consume(0x4D) else { return number(0...365).map { .dayOfYear($0) } }
        guard let month = number(1...12), consume(0x2E), let week = number(1...5), consume(0x2E),
            let weekday = number(0...6)
        else { return nil }
        return .weekday(month: month, week: week, weekday: weekday)
    }
}
