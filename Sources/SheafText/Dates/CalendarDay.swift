/// A day of the proleptic Gregorian calendar.
package struct CalendarDay: Hashable, Sendable {
    package let year: Int
    /// Month, starting at 1.
    package let month: Int
    /// Day of the month, starting at 1.
    package let day: Int

    /// Creates a day from valid components.
    package init(_ year: Int, _ month: Int, _ day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates a day from arbitrary components; nil if the day does not exist.
    package init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, day >= 1, day <= Self.days(inMonth: month, of: year) else {
            return nil
        }
        self.init(year, month, day)
    }

    /// Creates the day that is `number` days after 1970-01-01, for years from about 1 to 9999.
    ///
    /// The computation begins years in March, which puts the leap day at their end.
    package init(number: Int) {
        let days = number + Self.daysBefore1970
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.init(
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    /// Days from March 1 of the year 0 to January 1, 1970.
    private static let daysBefore1970 = 719_468

    /// Number of days since 1970-01-01.
    package var number: Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - Self.daysBefore1970
    }

    /// Day of the week, from 1 (Monday) to 7 (Sunday).
    package var weekday: Int {
        // January 1, 1970 was a Thursday.
        ((number + 3) % 7 + 7) % 7 + 1
    }

    /// Day of the year, starting at 1.
    package var dayOfYear: Int { number - CalendarDay(year, 1, 1).number + 1 }

    /// ISO 8601 week, from 1 to 53.
    ///
    /// Weeks begin on Monday, and week 1 contains January 4.
    package var week: Int {
        // A week belongs to the year of its Thursday.
        let thursday = CalendarDay(number: number - weekday + 4)
        return (thursday.dayOfYear - 1) / 7 + 1
    }

    /// Whether a year has a February 29.
    package static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// Returns the number of days of a month from 1 to 12.
    package static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// English names of months and weekdays.
package enum CalendarNames {
    package static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]
    package static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
}
