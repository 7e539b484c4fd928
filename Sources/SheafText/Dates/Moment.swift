/// A point in time in the years 1 to 9999, in milliseconds since 1970.
///
/// Values outside of this range do not exist, so calendar components never overflow.
package struct Moment: Hashable, Comparable, Sendable {
    package static let millisecondsPerDay: Int64 = 86_400_000
    /// The moments from 0001-01-01T00:00:00.000 to 9999-12-31T23:59:59.999.
    package static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    package let milliseconds: Int64

    package init?(milliseconds: Int64) {
        guard Self.range ~= milliseconds else { return nil }
        self.milliseconds = milliseconds
    }

    /// Creates the moment of a local time `offset` seconds ahead of UTC.
    package init?(_ time: CalendarTime, offset: Int) {
        self.init(milliseconds: time.milliseconds - Int64(offset) * 1_000)
    }

    /// Seconds since 1970, rounded down.
    package var seconds: Int64 {
        let rest = milliseconds % 1_000
        return (milliseconds - (rest < 0 ? rest + 1_000 : rest)) / 1_000
    }

    package static func < (left: Moment, right: Moment) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A calendar date with the time of day.
package struct CalendarTime: Hashable, Sendable {
    package var day: CalendarDay
    package var hour = 0
    package var minute = 0
    package var second = 0
    package var millisecond = 0

    /// Creates the time at which a day begins.
    package init(_ day: CalendarDay) {
        self.day = day
    }

    /// Creates the local time `offset` seconds ahead of UTC.
    package init(_ moment: Moment, offset: Int = 0) {
        let local = moment.milliseconds + Int64(offset) * 1_000
        var rest = local % Moment.millisecondsPerDay
        if rest < 0 { rest += Moment.millisecondsPerDay }
        day = CalendarDay(number: Int((local - rest) / Moment.millisecondsPerDay))
        hour = Int(rest / 3_600_000)
        minute = Int(rest / 60_000 % 60)
        second = Int(rest / 1_000 % 60)
        millisecond = Int(rest % 1_000)
    }

    /// Milliseconds since 1970, interpreted as UTC.
    package var milliseconds: Int64 {
        let seconds = (hour * 60 + minute) * 60 + second
        return Int64(day.number) * Moment.millisecondsPerDay + Int64(seconds) * 1_000
            + Int64(millisecond)
    }
}
