extension DateFormat {
    /// Returns the moment of a text in this format, or nil if the text does not match.
    ///
    /// Components missing in the format default to those of 1970-01-01T00:00:00Z. A week and a
    /// weekday must agree with the date.
    package func moment(of text: String) -> Moment? {
        var scanner = DateScanner(text)
        var fields = FieldValues()
        for element in elements {
            switch element {
            case .literal(let bytes):
                guard scanner.consume(all: bytes) else { return nil }
            case .field(let field):
                guard fields.read(field, from: &scanner) else { return nil }
            }
        }
        return scanner.isAtEnd ? fields.moment : nil
    }
}

/// The date components read from a text.
private struct FieldValues {
    var year: Int?
    var month: Int?
    var day: Int?
    var dayOfYear: Int?
    var week: Int?
    var weekday: Int?
    var hour: Int?
    var hourOfHalf: Int?
    var isAfternoon = false
    var minute = 0
    var second = 0
    var millisecond = 0
    var offset: Int?
    var secondsSince1970: Int64?

    mutating func read(_ field: DateFormat.Field, from scanner: inout DateScanner) -> Bool {
        switch field {
        case .year: return Self.set(&year, scanner.number(digits: 4...4))
        case .shortYear:
            return Self.set(
                &year, scanner.number(digits: 2...2).map { $0 + ($0 < 69 ? 2_000 : 1_900) })
        case .month: return Self.set(&month, scanner.number(digits: 1...2))
        case .blankDay:
            _ = scanner.consume(0x20)
            return Self.set(&day, scanner.number(digits: 1...2))
        case .day: return Self.set(&day, scanner.number(digits: 1...2))
        case .dayOfYear: return Self.set(&dayOfYear, scanner.number(digits: 1...3))
        case .week: return Self.set(&week, scanner.number(digits: 1...2))
        case .weekdayName:
            return Self.set(&weekday, scanner.name(of: CalendarNames.weekdays).map { $0 + 1 })
        case .monthName:
            return Self.set(&month, scanner.name(of: CalendarNames.months).map { $0 + 1 })
        case .weekday(let fromZero):
            guard let number = scanner.number(digits: 1...1) else { return false }
            weekday = fromZero && number == 0 ? 7 : number
            return fromZero ? number < 7 : 1...7 ~= number
        case .hour, .hourOfHalf, .minute, .second, .fraction, .half:
            return readTime(field, from: &scanner)
        case .offset: return Self.set(&offset, scanner.offset())
        case .clockName:
            // Names such as IST are ambiguous.
            let isKnown =
                scanner.consume(all: Array("UTC".utf8)) || scanner.consume(all: Array("GMT".utf8))
            return Self.set(&offset, isKnown ? 0 : scanner.offset())
        case .secondsSince1970:
            let isNegative = scanner.consume(0x2D) != nil
            return Self.set(
                &secondsSince1970,
                scanner.longNumber(digits: 1...12).map { isNegative ? -$0 : $0 })
        }
    }

    private mutating func readTime(
        _ field: DateFormat.Field, from scanner: inout DateScanner
    ) -> Bool {
        switch field {
        case .hour: return Self.set(&hour, scanner.number(digits: 1...2), below: 24)
        case .minute: return Self.set(&minute, scanner.number(digits: 1...2), below: 60)
        case .second: return Self.set(&second, scanner.number(digits: 1...2), below: 60)
        case .fraction: return Self.set(&millisecond, scanner.milliseconds(), below: 1_000)
        case .hourOfHalf:
            guard let value = scanner.number(digits: 1...2), 1...12 ~= value else { return false }
            hourOfHalf = value % 12
        case .half:
            guard let letter = scanner.consume(0x41, 0x50, 0x61, 0x70),
                scanner.consume(0x4D, 0x6D) != nil
            else { return false }
            isAfternoon = letter & 0xDF == 0x50
        default: return false
        }
        return true
    }

    private static func set<Number>(_ target: inout Number?, _ value: Number?) -> Bool {
        target = value
        return value != nil
    }

    private static func set(_ target: inout Int?, _ value: Int?, below bound: Int) -> Bool {
        target = value
        return value.map { $0 < bound } == true
    }

    private static func set(_ target: inout Int, _ value: Int?, below bound: Int) -> Bool {
        guard let value, value < bound else { return false }
        target = value
        return true
    }

    var moment: Moment? {
        if let secondsSince1970 {
            // The number has at most twelve digits, so the product cannot overflow.
            return Moment(milliseconds: secondsSince1970 * 1_000 + Int64(millisecond))
        }
        guard let date, weekday == nil || weekday == date.weekday,
            week == nil || week == date.week
        else { return nil }
        var time = CalendarTime(date)
        time.hour = hour ?? hourOfHalf.map { $0 + (isAfternoon ? 12 : 0) } ?? 0
        time.minute = minute
        time.second = second
        time.millisecond = millisecond
        return Moment(time, offset: offset ?? 0)
    }

    private var date: CalendarDay? {
        let year = year ?? 1970
        guard 1...9_999 ~= year else { return nil }
        guard let dayOfYear else {
            return CalendarDay(year: year, month: month ?? 1, day: day ?? 1)
        }
        let date = CalendarDay(number: CalendarDay(year, 1, 1).number + dayOfYear - 1)
        guard dayOfYear > 0, date.year == year, month == nil || month == date.month,
            day == nil || day == date.day
        else { return nil }
        return date
    }
}
