package import SheafDocument
package import SheafText

/// A date as a query value: a text, or milliseconds since 1970.
package struct DateValue: Sendable {
    package let moment: Moment
    /// Offset from UTC in seconds, if the value is a text; nil for a number.
    package let offset: Int?

    /// Creates a date from a value; nil if it is not a date of the years 1 to 9999.
    package init?(_ value: Value) {
        switch value {
        case .string(let text):
            guard let date = DateText(text) else { return nil }
            moment = date.moment
            offset = date.offset
        case .integer(let milliseconds):
            guard let moment = Moment(milliseconds: milliseconds) else { return nil }
            self.moment = moment
            offset = nil
        case .float(let number):
            // Fractions of milliseconds are rounded down; infinities and NaN are invalid.
            guard let milliseconds = Int64(exactly: number.rounded(.down)),
                let moment = Moment(milliseconds: milliseconds)
            else { return nil }
            self.moment = moment
            offset = nil
        case .null, .bool, .bytes, .array, .object: return nil
        }
    }

    /// Returns another moment in the form of this date: as a text or as a number.
    package func value(of moment: Moment) -> Value {
        offset == nil ? .integer(moment.milliseconds) : .string(moment.text)
    }
}

extension Value {
    /// The text, if the value is a string.
    var dateText: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The unit, if the value is the name of one.
    var dateUnit: DateUnit? { dateText.flatMap { DateUnit($0) } }

    /// The number, if the value is a number without a fraction.
    var dateCount: Int64? {
        switch self {
        case .integer(let number): number
        case .float(let number): Int64(exactly: number)
        case .null, .bool, .string, .bytes, .array, .object: nil
        }
    }
}
