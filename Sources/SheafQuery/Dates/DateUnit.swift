/// What dates are counted in.
package enum DateUnit: CaseIterable, Sendable {
    case year, quarter, month, week, day, hour, minute, second, millisecond

    /// The unit of a name in any case; nil where there is none of that name.
    package init?(_ name: String) {
        switch name.lowercased() {
        case "year": self = .year
        case "quarter": self = .quarter
        case "month", "mon": self = .month
        case "week": self = .week
        case "day": self = .day
        case "hour": self = .hour
        case "minute", "min": self = .minute
        case "second", "sec": self = .second
        case "millisecond", "millis", "ms": self = .millisecond
        default: return nil
        }
    }

    /// How long it is: months differ in length, so there are two kinds.
    fileprivate enum Length {
        case months(Int64)
        case milliseconds(Int64)
    }

    fileprivate var length: Length {
        switch self {
        case .year: .months(12)
        case .quarter: .months(3)
        case .month: .months(1)
        case .week: .milliseconds(7 * Moment.millisecondsPerDay)
        case .day: .milliseconds(Moment.millisecondsPerDay)
        case .hour: .milliseconds(3_600_000)
        case .minute: .milliseconds(60_000)
        case .second: .milliseconds(1_000)
        case .millisecond: .milliseconds(1)
        }
    }
}

extension Moment {
    /// This moment moved by `count` units; nil where that is outside of the calendar.
    ///
    /// A day that the month does not have becomes its last: a month after January 31 is the last of
    /// February.
    package func adding(_ count: Int64, _ unit: DateUnit) -> Moment? {
        switch unit.length {
        case .months(let months):
            let (product, overflow) = count.multipliedReportingOverflow(by: months)
            return overflow ? nil : adding(months: product)
        case .milliseconds(let length):
            let (product, isTooLong) = count.multipliedReportingOverflow(by: length)
            let (sum, isTooLate) = milliseconds.addingReportingOverflow(product)
            return isTooLong || isTooLate ? nil : Moment(milliseconds: sum)
        }
    }

    private func adding(months: Int64) -> Moment? {
        var time = CalendarTime(self)
        let (index, overflow) = Int64(time.day.monthIndex).addingReportingOverflow(months)
        guard !overflow, 12..<120_000 ~= index else { return nil }
        let year = Int(index / 12)
        let month = Int(index % 12) + 1
        time.day = CalendarDay(
            year, month, min(time.day.day, CalendarDay.days(inMonth: month, of: year)))
        return Moment(time, offset: 0)
    }

    /// How many whole units lie between another moment and this one; negative where that is later.
    ///
    /// So many units after the earlier is not yet after the later; one more is.
    package func difference(from other: Moment, in unit: DateUnit) -> Int64 {
        guard other <= self else { return -other.difference(from: self, in: unit) }
        switch unit.length {
        case .months(let months):
            let later = CalendarTime(self).day.monthIndex
            let earlier = CalendarTime(other).day.monthIndex
            var count = Int64(later - earlier)
            if let reached = other.adding(months: count), self < reached { count -= 1 }
            return count / months
        case .milliseconds(let length):
            return (milliseconds - other.milliseconds) / length
        }
    }

    /// The moment at which the unit began that this one is in, in UTC; weeks begin on Monday.
    package func start(of unit: DateUnit) -> Moment? {
        let day = CalendarTime(self).day
        switch unit {
        case .year: return Moment(CalendarTime(CalendarDay(day.year, 1, 1)), offset: 0)
        case .quarter:
            let month = (day.month - 1) / 3 * 3 + 1
            return Moment(CalendarTime(CalendarDay(day.year, month, 1)), offset: 0)
        case .month:
            return Moment(CalendarTime(CalendarDay(day.year, day.month, 1)), offset: 0)
        case .week:
            let monday = CalendarDay(number: day.number - day.weekday + 1)
            return Moment(CalendarTime(monday), offset: 0)
        case .day, .hour, .minute, .second, .millisecond:
            guard case .milliseconds(let length) = unit.length else { return nil }
            let rest = milliseconds % length
            return Moment(milliseconds: milliseconds - (rest < 0 ? rest + length : rest))
        }
    }
}

extension CalendarDay {
    /// The months since the beginning of the year 0.
    fileprivate var monthIndex: Int { year * 12 + month - 1 }
}
