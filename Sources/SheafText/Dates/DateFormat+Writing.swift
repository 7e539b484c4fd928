extension DateFormat {
    /// Returns a moment as text in a time zone; nil if its year there is not within 1 to 9999.
    package func text(of moment: Moment, in zone: Zone) -> String? {
        let clock = zone.clock(at: moment)
        let time = CalendarTime(moment, offset: clock.offset)
        guard 1...9_999 ~= time.day.year else { return nil }
        var printer = DatePrinter()
        for element in elements {
            switch element {
            case .literal(let bytes): printer.write(bytes)
            case .field(let field):
                printer.write(field, of: time)
                printer.write(field, of: clock, at: moment)
            }
        }
        return printer.text
    }
}

extension DatePrinter {
    /// Writes a field of the calendar date or the time of day.
    fileprivate mutating func write(_ field: DateFormat.Field, of time: CalendarTime) {
        let day = time.day
        switch field {
        case .year: write(day.year, digits: 4)
        case .shortYear: write(day.year % 100, digits: 2)
        case .month: write(day.month, digits: 2)
        case .day: write(day.day, digits: 2)
        case .blankDay: write(day.day, digits: 2, padding: 0x20)
        case .dayOfYear: write(day.dayOfYear, digits: 3)
        case .week: write(day.week, digits: 2)
        case .hour: write(time.hour, digits: 2)
        case .hourOfHalf: write((time.hour + 11) % 12 + 1, digits: 2)
        case .minute: write(time.minute, digits: 2)
        case .second: write(time.second, digits: 2)
        case .fraction(let digits):
            let spelled = Array(String(1_000_000_000 + time.millisecond * 1_000_000).utf8)
            write(Array(spelled[1...digits]))
        case .half(let isUpper):
            write(time.hour < 12 ? (isUpper ? "AM" : "am") : (isUpper ? "PM" : "pm"))
        case .weekdayName(let isShort):
            write(CalendarNames.weekdays[day.weekday - 1], isShort: isShort)
        case .monthName(let isShort):
            write(CalendarNames.months[day.month - 1], isShort: isShort)
        case .weekday(let fromZero): write(fromZero ? day.weekday % 7 : day.weekday, digits: 1)
        case .offset, .clockName, .secondsSince1970: break
        }
    }

    /// Writes a field of the time zone, or the seconds since 1970.
    fileprivate mutating func write(
        _ field: DateFormat.Field, of clock: ZoneClock, at moment: Moment
    ) {
        switch field {
        case .offset(let isSpread): write(offset: clock.offset, isSpread: isSpread)
        case .clockName: write(clock.abbreviation)
        case .secondsSince1970: write(String(moment.seconds))
        default: break
        }
    }

    private mutating func write(_ name: String, isShort: Bool) {
        write(isShort ? String(name.prefix(3)) : name)
    }
}
