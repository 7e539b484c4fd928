import SheafDocument
package import SheafText

extension Function {
    /// Functions on dates and durations, with the time zones of the system.
    package static let dates: [Function] = dates(zones: .system)

    /// Returns the functions on dates and durations, with the time zones of a directory.
    package static func dates(zones: ZoneDirectory) -> [Function] {
        [
            clock(zones), dateAdd, dateSub, dateDiff, datePart, dateTrunc, dateFormat(zones),
            dateCast, dateRange, tzOffset(zones), durationCast, durationFormat,
        ]
    }

    /// Creates a function that yields MISSING for a missing argument, else null for a null one.
    private static func strict(
        _ name: String, _ argumentCount: ClosedRange<Int>, readsClock: Bool = false,
        _ evaluate:
            @escaping @Sendable (
                _ arguments: [Value], _ context: FunctionContext
            ) throws(StoreError) -> Value?
    ) -> Function {
        Function(name, argumentCount, readsClock: readsClock) {
            (arguments, context) throws(StoreError) in
            guard argumentCount ~= arguments.count else { return nil }
            var values: [Value] = []
            var isNull = false
            for argument in arguments {
                guard let argument else { return nil }
                if case .null = argument { isNull = true }
                values.append(argument)
            }
            return isNull ? .null : try evaluate(values, context)
        }
    }
}

// MARK: Reading and writing

extension Function {
    /// Implements `clock([format[, zone]])`, the time of the statement.
    private static func clock(_ zones: ZoneDirectory) -> Function {
        strict("clock", 0...2, readsClock: true) { (arguments, context) throws(StoreError) in
            guard let now = Moment(milliseconds: context.now) else { return nil }
            guard !arguments.isEmpty else { return .string(now.text) }
            return try text(of: now, as: arguments, zones)
        }
    }

    /// Implements `date_format(date, format[, zone])`; the default zone is UTC.
    private static func dateFormat(_ zones: ZoneDirectory) -> Function {
        strict("date_format", 2...3) { (arguments, _) throws(StoreError) in
            guard let date = DateValue(arguments[0]) else { return nil }
            return try text(of: date.moment, as: Array(arguments.dropFirst()), zones)
        }
    }

    /// Returns a moment in a format and, with two arguments, in a time zone.
    private static func text(
        of moment: Moment, as arguments: [Value], _ zones: ZoneDirectory
    ) throws(StoreError) -> Value? {
        guard let format = try format(arguments[0]) else { return nil }
        var zone = Zone.utc
        if arguments.count > 1 {
            guard let named = arguments[1].dateText.flatMap({ zones.zone($0) }) else { return nil }
            zone = named
        }
        return format.text(of: moment, in: zone).map { .string($0) }
    }

    private static func format(_ value: Value) throws(StoreError) -> DateFormat? {
        guard let text = value.dateText else { return nil }
        guard text.utf8.count <= DateFormat.maximumLength else {
            throw StoreError(
                .limit, "a date format has at most \(DateFormat.maximumLength) bytes")
        }
        return DateFormat(text)
    }

    /// `date_cast(date[, format])`, which returns the date in ISO 8601, or milliseconds for a
    /// number.
    ///
    /// Without a zone in the format, the text is in UTC.
    private static let dateCast = strict("date_cast", 1...2) {
        (arguments, _) throws(StoreError) in
        guard arguments.count > 1 else {
            return DateValue(arguments[0]).map { $0.value(of: $0.moment) }
        }
        guard let text = arguments[0].dateText, let format = try format(arguments[1]) else {
            return nil
        }
        return format.moment(of: text).map { .string($0.text) }
    }

    /// Implements `tz_offset(zone[, date])`, the offset from UTC, such as `+02:00`.
    private static func tzOffset(_ zones: ZoneDirectory) -> Function {
        strict("tz_offset", 1...2, readsClock: true) { (arguments, context) throws(StoreError) in
            let moment =
                arguments.count > 1
                ? DateValue(arguments[1])?.moment : Moment(milliseconds: context.now)
            guard let moment, let zone = arguments[0].dateText.flatMap({ zones.zone($0) }) else {
                return nil
            }
            return text(ofOffset: zone.clock(at: moment).offset)
        }
    }

    private static func text(ofOffset offset: Int) -> Value {
        var printer = DatePrinter()
        printer.write(offset: offset)
        return .string(printer.text)
    }

    /// `duration_cast('1h30m')`, which returns milliseconds.
    private static let durationCast = strict("duration_cast", 1...1) {
        (arguments, _) throws(StoreError) in
        arguments[0].dateText.flatMap { DurationText.milliseconds($0) }.map { .integer($0) }
    }

    /// `duration_format(5400000)`, which returns `1h30m0s`.
    private static let durationFormat = strict("duration_format", 1...1) {
        (arguments, _) throws(StoreError) in
        let milliseconds: Int64? =
            if case .float(let number) = arguments[0] {
                Int64(exactly: number.rounded(.towardZero))
            } else {
                arguments[0].dateCount
            }
        return milliseconds.map { .string(DurationText.text($0)) }
    }
}

// MARK: Counting

extension Function {
    /// `date_add(date, part, n)`; days beyond the end of a month become its last day.
    private static let dateAdd = strict("date_add", 3...3) { (arguments, _) throws(StoreError) in
        guard let step = DateStep(arguments[1], arguments[2]) else { return nil }
        return DateValue(arguments[0])?.moved(by: step.count, step.unit)
    }

    /// `date_sub(date, part, n)`, the opposite of `date_add`.
    private static let dateSub = strict("date_sub", 3...3) { (arguments, _) throws(StoreError) in
        guard let step = DateStep(arguments[1], arguments[2]) else { return nil }
        let (negated, overflow) = Int64(0).subtractingReportingOverflow(step.count)
        return overflow ? nil : DateValue(arguments[0])?.moved(by: negated, step.unit)
    }

    /// `date_diff(d1, d2, part)`, the number of complete parts from d2 to d1.
    private static let dateDiff = strict("date_diff", 3...3) { (arguments, _) throws(StoreError) in
        guard let left = DateValue(arguments[0]), let right = DateValue(arguments[1]),
            let unit = arguments[2].dateUnit
        else { return nil }
        return .integer(left.moment.difference(from: right.moment, in: unit))
    }

    /// `date_trunc(date, part)`, the start of the part in UTC.
    private static let dateTrunc = strict("date_trunc", 2...2) {
        (arguments, _) throws(StoreError) in
        guard let date = DateValue(arguments[0]), let unit = arguments[1].dateUnit else {
            return nil
        }
        return date.moment.start(of: unit).map { date.value(of: $0) }
    }

    /// `date_range(start, end, part, n)`, every nth part from start up to, but not including, end.
    ///
    /// Dates are counted from the start: January 31 is followed by the last day of February and by
    /// March 31.
    private static let dateRange = strict("date_range", 4...4) {
        (arguments, _) throws(StoreError) in
        guard let start = DateValue(arguments[0]), let end = DateValue(arguments[1]),
            let steps = DateStep(arguments[2], arguments[3])
        else { return nil }
        let (unit, step) = (steps.unit, steps.count)
        var elements: [Value] = []
        var distance: Int64 = 0
        // The range is empty if the step is zero or has the wrong sign.
        while step != 0, let next = start.moment.adding(distance, unit),
            step > 0 ? next < end.moment : end.moment < next
        {
            guard elements.count < QueryLimits.maximumElements else {
                throw StoreError(
                    .limit, "date_range returns at most \(QueryLimits.maximumElements) dates")
            }
            elements.append(start.value(of: next))
            let (sum, overflow) = distance.addingReportingOverflow(step)
            guard !overflow else { break }
            distance = sum
        }
        return .array(elements)
    }

    /// `date_part(date, part)` in UTC; only `timezone` is that of the text.
    private static let datePart = strict("date_part", 2...2) { (arguments, _) throws(StoreError) in
        guard let date = DateValue(arguments[0]), let name = arguments[1].dateText else {
            return nil
        }
        let time = CalendarTime(date.moment)
        switch name.lowercased() {
        case "weekday": return .integer(Int64(time.day.weekday))
        case "monthname": return .string(CalendarNames.months[time.day.month - 1])
        case "timezone", "tz": return text(ofOffset: date.offset ?? 0)
        default: return DateUnit(name).map { .integer(Int64(time.count(of: $0))) }
        }
    }
}

/// A number of units, from two arguments in either order.
private struct DateStep {
    let unit: DateUnit
    let count: Int64

    init?(_ first: Value, _ second: Value) {
        if let unit = first.dateUnit, let count = second.dateCount {
            (self.unit, self.count) = (unit, count)
        } else if let count = first.dateCount, let unit = second.dateUnit {
            (self.unit, self.count) = (unit, count)
        } else {
            return nil
        }
    }
}

extension DateValue {
    fileprivate func moved(by count: Int64, _ unit: DateUnit) -> Value? {
        moment.adding(count, unit).map { value(of: $0) }
    }
}

extension CalendarTime {
    /// Returns the component of the date or the time of day for a unit.
    fileprivate func count(of unit: DateUnit) -> Int {
        switch unit {
        case .year: day.year
        case .quarter: (day.month - 1) / 3 + 1
        case .month: day.month
        case .week: day.week
        case .day: day.day
        case .hour: hour
        case .minute: minute
        case .second: second
        case .millisecond: millisecond
        }
    }
}
