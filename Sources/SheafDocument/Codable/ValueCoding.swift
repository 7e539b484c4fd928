/// The form in which documents store Swift's dates, decimals and durations.
///
/// Every other type has one form: `URL` and `UUID` are strings, `Data` and `[UInt8]` are bytes, an
/// absent optional is a missing field, and an enum is what its `Codable` conformance makes of it.
public struct ValueCoding: Hashable, Sendable {
    /// The form of a `Date`, always rounded to milliseconds.
    public enum Dates: Hashable, Sendable {
        /// A text in UTC, such as `2026-11-26T08:30:00.250+00:00`.
        ///
        /// Milliseconds are omitted if they are zero. It is the form of the date functions of the
        /// query language, so that `=`, `<` and `ORDER BY` follow the time.
        case iso8601
        /// An integer, which the date functions accept, too.
        case millisecondsSince1970
        /// A float.
        case secondsSince1970
        /// A float, as `Date` encodes itself.
        case secondsSince2001
    }

    /// The form of a `Decimal`.
    public enum Decimals: Hashable, Sendable {
        /// An integer if the decimal has no fraction, otherwise the nearest float.
        ///
        /// Any decimal of up to 15 significant digits, and any other that its nearest float
        /// identifies; more digits are an error. Decoding returns the same decimal, and `=`, `<`
        /// and `ORDER BY` compare exactly. A literal such as `19.99`, which Swift converts from a
        /// `Double` with further digits, is stored as 19.99.
        case number
        /// A text with all digits, which the query language compares as text and does not add.
        case string
    }

    /// The form of a `Duration`, always an integer; a duration in between is an error.
    public enum Durations: Hashable, Sendable {
        /// Nanoseconds, up to 292 years.
        case nanoseconds
        /// Milliseconds.
        case milliseconds
        /// Seconds.
        case seconds
    }

    /// The form of dates; ISO 8601 by default.
    public var dates: Dates
    /// The form of decimals; numbers by default.
    public var decimals: Decimals
    /// The form of durations; nanoseconds by default.
    public var durations: Durations

    /// Creates a coding; the defaults suit the query language.
    public init(
        dates: Dates = .iso8601, decimals: Decimals = .number, durations: Durations = .nanoseconds
    ) {
        self.dates = dates
        self.decimals = decimals
        self.durations = durations
    }
}
