/// A scanner for the components of dates.
package struct DateScanner {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ text: String) {
        bytes = Array(text.utf8)
    }

    package var isAtEnd: Bool { position == bytes.count }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Consumes one of several bytes if it is next.
    package mutating func consume(_ choices: UInt8...) -> UInt8? {
        guard let next, choices.contains(next) else { return nil }
        position += 1
        return next
    }

    /// Consumes a sequence of bytes if it is next.
    package mutating func consume(all expected: [UInt8]) -> Bool {
        guard bytes[position...].starts(with: expected) else { return false }
        position += expected.count
        return true
    }

    /// Reads as many decimal digits as `digits` allows; nil if there are too few.
    package mutating func number(digits: ClosedRange<Int>) -> Int? {
        longNumber(digits: digits).flatMap { Int(exactly: $0) }
    }

    /// Reads a decimal number that may need more than 32 bits.
    package mutating func longNumber(digits: ClosedRange<Int>) -> Int64? {
        var value: Int64 = 0
        var count = 0
        while count < min(digits.upperBound, 18), let next, 0x30...0x39 ~= next {
            value = value * 10 + Int64(next - 0x30)
            position += 1
            count += 1
        }
        return count >= digits.lowerBound ? value : nil
    }

    /// Reads a two-digit number less than `bound`.
    package mutating func pair(below bound: Int) -> Int? {
        guard let value = number(digits: 2...2), value < bound else { return nil }
        return value
    }

    /// Reads the digits of a fraction of a second as milliseconds; finer digits are truncated.
    package mutating func milliseconds() -> Int? {
        var value = 0
        var count = 0
        while let next, 0x30...0x39 ~= next {
            if count < 3 { value = value * 10 + Int(next - 0x30) }
            position += 1
            count += 1
        }
        guard count > 0 else { return nil }
        return count == 1 ? value * 100 : count == 2 ? value * 10 : value
    }

    /// Reads a name in any case, complete or as its first three letters; returns its index.
    package mutating func name(of names: [String]) -> Int? {
        let start = position
        while let next, 0x41...0x5A ~= next & 0xDF { position += 1 }
        let word = bytes[start..<position].map { $0 | 0x20 }
        return names.firstIndex { name in
            let spelled = name.utf8.map { $0 | 0x20 }
            return word == spelled || word.elementsEqual(spelled.prefix(3))
        }
    }

    /// Reads `Z`, `+05`, `+0530` or `+05:30` as seconds ahead of UTC; seconds may follow minutes.
    package mutating func offset() -> Int? {
        if consume(0x5A, 0x7A) != nil { return 0 }
        guard let sign = consume(0x2B, 0x2D), let hours = pair(below: 24) else { return nil }
        var seconds = hours * 3_600
        let isSpread = consume(0x3A) != nil
        if isSpread || next.map({ 0x30...0x39 ~= $0 }) == true {
            guard let minutes = pair(below: 60) else { return nil }
            seconds += minutes * 60
            if isSpread ? consume(0x3A) != nil : next.map({ 0x30...0x39 ~= $0 }) == true {
                guard let rest = pair(below: 60) else { return nil }
                seconds += rest
            }
        }
        return sign == 0x2D ? -seconds : seconds
    }
}

/// A date in ISO 8601: a day, an optional time, and a mandatory time zone.
package struct DateText: Sendable {
    package let moment: Moment
    /// Offset of the time zone from UTC, in seconds.
    package let offset: Int

    /// Maximum length of a date in bytes.
    private static let maximumLength = 128

    /// Parses dates such as `2024-05-01Z`, `2024-05-01T12:30+02:00` or `2024-05-01 12:30:59.123Z`.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        var scanner = DateScanner(text)
        guard let year = scanner.number(digits: 4...4), year > 0, scanner.consume(0x2D) != nil,
            let month = scanner.number(digits: 2...2), scanner.consume(0x2D) != nil,
            let dayOfMonth = scanner.number(digits: 2...2),
            let day = CalendarDay(year: year, month: month, day: dayOfMonth)
        else { return nil }
        var time = CalendarTime(day)
        if let separator = scanner.consume(0x54, 0x74, 0x20) {
            // A date without a time may have a blank before its zone as well.
            let start = scanner
            if let hour = scanner.pair(below: 24) {
                time.hour = hour
                guard scanner.readRest(of: &time) else { return nil }
                _ = scanner.consume(0x20)
            } else if separator == 0x20 {
                scanner = start
            } else {
                return nil
            }
        }
        guard let offset = scanner.offset(), scanner.isAtEnd,
            let moment = Moment(time, offset: offset)
        else { return nil }
        self.moment = moment
        self.offset = offset
    }
}

extension DateScanner {
    /// Reads the minutes after the hour, then optional seconds and their fraction.
    fileprivate mutating func readRest(of time: inout CalendarTime) -> Bool {
        guard consume(0x3A) != nil, let minute = pair(below: 60) else { return false }
        time.minute = minute
        guard consume(0x3A) != nil else { return true }
        guard let second = pair(below: 60) else { return false }
        time.second = second
        guard consume(0x2E, 0x2C) != nil else { return true }
        guard let millisecond = milliseconds() else { return false }
        time.millisecond = millisecond
        return true
    }
}

/// A printer for the components of dates.
package struct DatePrinter {
    private var bytes: [UInt8] = []

    package init() {}

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    package mutating func write(_ more: [UInt8]) {
        bytes.append(contentsOf: more)
    }

    /// Writes a non-negative number, padded on the left to `digits` characters.
    package mutating func write(_ number: Int, digits: Int, padding: UInt8 = 0x30) {
        let spelled = String(number).utf8
        for _ in 0..<max(digits - spelled.count, 0) { bytes.append(padding) }
        bytes.append(contentsOf: spelled)
    }

    /// Writes an offset as `+02:00` or `+0200`, with seconds if they are not zero.
    package mutating func write(offset: Int, isSpread: Bool = true) {
        bytes.append(offset < 0 ? 0x2D : 0x2B)
        let seconds = abs(offset)
        write(seconds / 3_600, digits: 2)
        if isSpread { bytes.append(0x3A) }
        write(seconds / 60 % 60, digits: 2)
        guard seconds % 60 != 0 else { return }
        if isSpread { bytes.append(0x3A) }
        write(seconds % 60, digits: 2)
    }
}

extension Moment {
    /// The moment in ISO 8601 and UTC, with milliseconds if they are not zero.
    package var text: String {
        let time = CalendarTime(self)
        var printer = DatePrinter()
        printer.write(time.day.year, digits: 4)
        printer.write("-")
        printer.write(time.day.month, digits: 2)
        printer.write("-")
        printer.write(time.day.day, digits: 2)
        printer.write("T")
        printer.write(time.hour, digits: 2)
        printer.write(":")
        printer.write(time.minute, digits: 2)
        printer.write(":")
        printer.write(time.second, digits: 2)
        if time.millisecond != 0 {
            printer.write(".")
            printer.write(time.millisecond, digits: 3)
        }
        printer.write(offset: 0)
        return printer.text
    }
}
