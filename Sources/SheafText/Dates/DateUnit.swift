/// A unit of date arithmetic.
package enum DateUnit: CaseIterable, Sendable {
    case year, quarter, month, week, day, hour, minute, second, millisecond

    /// Creates a unit from its name in any case; nil for unknown names.
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

    /// Length of a unit, in months if it varies and in milliseconds otherwise.
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
    /// Returns the moment `count` units later; nil if that is not in the years 1 to 9999.
    ///
    /// A day beyond the end of the month becomes its last day: one month after January 31 is the
    /// last day of February.
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

    /// Returns the number of complete units from `other` to this moment; negative if `other` is
    /// later.
    ///
    /// It is the largest count for which adding it to the earlier moment does not pass the later
    /// one.
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

    /// Returns the start of the unit that contains the moment, in UTC; weeks begin on Monday.
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
    /// Number of months since the beginning of the year 0.
    fileprivate var monthIndex: Int { year * 12 + month - 1 }
}
