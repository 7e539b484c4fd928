/// A date format: `YYYY-MM-DD hh:mm:ss.sss TZD` or `%Y-%m-%d`.
///
/// A format with a percent sign is of the second kind.
package struct DateFormat: Hashable, Sendable {
    /// A component of a date.
    enum Field: Hashable, Sendable {
        case year
        /// Two digits; 69 to 99 denote the years from 1969 to 1999.
        case shortYear
        case month, day
        /// Day of the month, padded with a blank instead of a zero.
        case blankDay
        case dayOfYear, week
        case hour, hourOfHalf, minute, second
        /// The fraction of a second, with at most nine digits.
        case fraction(digits: Int)
        case half(isUpper: Bool)
        case weekdayName(isShort: Bool)
        case monthName(isShort: Bool)
        /// The weekday from 1 (Monday) to 7 (Sunday), or from 0 (Sunday) to 6 (Saturday).
        case weekday(fromZero: Bool)
        case offset(isSpread: Bool)
        /// Abbreviation of the time zone, such as CET.
        case clockName
        case secondsSince1970
    }

    enum Element: Hashable, Sendable {
        case literal([UInt8])
        case field(Field)
    }

    /// Maximum length of a format in bytes.
    package static let maximumLength = 1_024

    let elements: [Element]

    /// Parses a format; nil if it is too long or a specifier is unknown or incomplete.
    package init?(_ text: String) {
        let bytes = Array(text.utf8.prefix(Self.maximumLength + 1))
        guard bytes.count <= Self.maximumLength else { return nil }
        var builder = Builder()
        guard bytes.contains(0x25) else {
            builder.addWords(bytes)
            elements = builder.elements
            return
        }
        guard builder.addSpecifiers(bytes) else { return nil }
        elements = builder.elements
    }
}

/// A builder of the elements of a format.
private struct Builder {
    var elements: [DateFormat.Element] = []

    mutating func add(_ literal: UInt8) {
        if case .literal(var bytes) = elements.last {
            elements.removeLast()
            bytes.append(literal)
            elements.append(.literal(bytes))
        } else {
            elements.append(.literal([literal]))
        }
    }

    mutating func add(_ field: DateFormat.Field) {
        elements.append(.field(field))
    }

    // MARK: Words

    private static let words: [(word: [UInt8], field: DateFormat.Field)] = [
        (Array("YYYY".utf8), .year), (Array("YY".utf8), .shortYear),
        (Array("MM".utf8), .month), (Array("DD".utf8), .day), (Array("hh".utf8), .hour),
        (Array("HH".utf8), .hour), (Array("mm".utf8), .minute),
        (Array("TZD".utf8), .offset(isSpread: true)), (Array("TZN".utf8), .clockName),
    ]

    /// Adds the fields of a word format; other characters are literals.
    mutating func addWords(_ bytes: [UInt8]) {
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            let letters = rest.prefix { $0 == 0x73 }.count
            if letters > 0, isBehindSeconds {
                add(.fraction(digits: min(letters, 9)))
                position += letters
            } else if letters > 1 {
                add(.second)
                position += 2
            } else if let match = Self.words.first(where: { rest.starts(with: $0.word) }) {
                add(match.field)
                position += match.word.count
            } else {
                add(bytes[position])
                position += 1
            }
        }
    }

    /// Whether a fraction may follow: after the seconds, with or without a point or comma.
    private var isBehindSeconds: Bool {
        switch elements.last {
        case .field(.second): true
        case .literal([0x2E]), .literal([0x2C]): elements.dropLast().last == .field(.second)
        default: false
        }
    }

    // MARK: Specifiers

    mutating func addSpecifiers(_ bytes: [UInt8]) -> Bool {
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            guard byte == 0x25 else {
                add(byte)
                continue
            }
            guard position < bytes.count else { return false }
            let letter = bytes[position]
            position += 1
            if letter == 0x3A {
                guard position < bytes.count, bytes[position] == 0x7A else { return false }
                add(.offset(isSpread: true))
                position += 1
            } else if 0x31...0x39 ~= letter {
                guard position < bytes.count, bytes[position] == 0x66 else { return false }
                add(.fraction(digits: Int(letter - 0x30)))
                position += 1
            } else if !addSpecifier(letter) {
                return false
            }
        }
        return true
    }

    private static let specifiers: [Unicode.Scalar: DateFormat.Field] = [
        "Y": .year, "y": .shortYear, "m": .month, "d": .day, "e": .blankDay, "j": .dayOfYear,
        "V": .week, "H": .hour, "I": .hourOfHalf, "M": .minute, "S": .second,
        "f": .fraction(digits: 6), "p": .half(isUpper: true), "P": .half(isUpper: false),
        "a": .weekdayName(isShort: true), "A": .weekdayName(isShort: false),
        "b": .monthName(isShort: true), "h": .monthName(isShort: true),
        "B": .monthName(isShort: false), "u": .weekday(fromZero: false),
        "w": .weekday(fromZero: true), "z": .offset(isSpread: false), "Z": .clockName,
        "s": .secondsSince1970,
    ]

    /// Specifiers that abbreviate several others.
    private static let groups: [Unicode.Scalar: String] = [
        "F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y",
    ]

    private mutating func addSpecifier(_ letter: UInt8) -> Bool {
        let letter = Unicode.Scalar(letter)
        if let field = Self.specifiers[letter] {
            add(field)
            return true
        }
        switch letter {
        case "%": add(0x25)
        case "n": add(0x0A)
        case "t": add(0x09)
        default:
            guard let group = Self.groups[letter] else { return false }
            return addSpecifiers(Array(group.utf8))
        }
        return true
    }
}
