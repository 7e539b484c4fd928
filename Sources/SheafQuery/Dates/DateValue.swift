package import SheafDocument

/// A date among the values of a query: a text, or milliseconds since 1970.
package struct DateValue: Sendable {
    package let moment: Moment
    /// Seconds ahead of UTC, as the text says; nil where it is a number.
    package let offset: Int?

    /// Nil where a value is no date, or is one outside of the years 1 to 9999.
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
            // Less than a millisecond is cut off as it is in texts; nan and infinities are refused.
            guard let milliseconds = Int64(exactly: number.rounded(.down)),
                let moment = Moment(milliseconds: milliseconds)
            else { return nil }
            self.moment = moment
            offset = nil
        case .null, .bool, .bytes, .array, .object: return nil
        }
    }

    /// Another moment in the form of this one: a text for a text, a number for a number.
    package func value(of moment: Moment) -> Value {
        offset == nil ? .integer(moment.milliseconds) : .string(moment.text)
    }
}

extension Value {
    /// The text, where this is one.
    var dateText: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The unit whose name this is.
    var dateUnit: DateUnit? { dateText.flatMap { DateUnit($0) } }

    /// The number, where this is one without a fraction.
    var dateCount: Int64? {
        switch self {
        case .integer(let number): number
        case .float(let number): Int64(exactly: number)
        case .null, .bool, .string, .bytes, .array, .object: nil
        }
    }
}
