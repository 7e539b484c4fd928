import SheafBytes
import SheafText

// The only file of the database that knows Foundation's types.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Value {
    /// The bytes as `Data`.
    public var data: Data? { bytes.map { Data($0) } }
}

/// A scalar whose value depends on the coding.
enum CodedScalar: Sendable {
    case date(Date)
    case decimal(Decimal)
    case duration(Duration)

    /// Creates a scalar of an instance; nil for other types.
    init?<T>(_ source: T) {
        if T.self == Date.self, let date = source as? Date {
            self = .date(date)
        } else if T.self == Decimal.self, let decimal = source as? Decimal {
            self = .decimal(decimal)
        } else if T.self == Duration.self, let duration = source as? Duration {
            self = .duration(duration)
        } else {
            return nil
        }
    }

    /// Returns the value in a coding; throws an `EncodingError` if there is none.
    func value(_ coding: ValueCoding, _ path: CodingPath?) throws -> Value {
        switch self {
        case .date(let date):
            guard let value = date.value(coding.dates) else {
                // The description of such a date may end the process.
                throw error(
                    date.timeIntervalSince1970,
                    "a date in this form must be in the years 1 to 9999, not "
                        + "\(date.timeIntervalSince1970) seconds after 1970", path)
            }
            return value
        case .decimal(let decimal):
            guard let value = decimal.value(coding.decimals) else {
                throw error(
                    decimal,
                    decimal.isFinite
                        ? "\(decimal) has more digits than a number can hold; encode it with "
                            + "ValueCoding(decimals: .string), or as a String"
                        : "a decimal must be finite", path)
            }
            return value
        case .duration(let duration):
            guard let value = duration.value(coding.durations) else {
                throw error(
                    duration,
                    "\(duration) is not a whole number of \(coding.durations) in 64 bits", path)
            }
            return value
        }
    }

    private func error(_ source: Any, _ text: String, _ path: CodingPath?) -> EncodingError {
        .invalidValue(
            source,
            EncodingError.Context(codingPath: CodingPath.keys(path), debugDescription: text))
    }
}

/// The types with a form of their own.
enum FoundationTypes {
    /// Returns the value of an instance whose form is the same in all codings; nil for other types.
    static func value<T>(of source: T) -> Value? {
        if T.self == UUID.self, let id = source as? UUID { return .string(id.uuidString) }
        if T.self == URL.self, let url = source as? URL { return .string(url.absoluteString) }
        if T.self == Data.self, let data = source as? Data { return .bytes(Array(data)) }
        return nil
    }

    /// Whether a type is one of those with a form of their own.
    static func contain<T>(_ type: T.Type) -> Bool {
        type == Date.self || type == Decimal.self || type == Duration.self || type == URL.self
            || type == Data.self
    }

    /// Decodes one of these types; returns nil for other types.
    static func decode<T>(_ type: T.Type, from decoding: Decoding) throws -> T? {
        if type == Date.self { return try decoding.date() as? T }
        if type == Decimal.self { return try decoding.decimal() as? T }
        if type == Duration.self { return try decoding.duration() as? T }
        if type == URL.self { return try decoding.url() as? T }
        if type == Data.self, case .bytes(let bytes) = decoding.value { return Data(bytes) as? T }
        return nil
    }
}

extension Date {
    /// Returns the value of the date; nil outside of the years 1 to 9999.
    fileprivate func value(_ form: ValueCoding.Dates) -> Value? {
        let exact = (timeIntervalSince1970 * 1_000).rounded()
        guard let milliseconds = Int64(exactly: exact) else { return nil }
        return switch form {
        case .iso8601: Moment(milliseconds: milliseconds).map { .string($0.text) }
        case .millisecondsSince1970: .integer(milliseconds)
        case .secondsSince1970: .float(Double(milliseconds) / 1_000)
        case .secondsSince2001: .float((exact - 978_307_200_000) / 1_000)
        }
    }

    fileprivate init(_ moment: Moment) {
        self.init(timeIntervalSince1970: Double(moment.milliseconds) / 1_000)
    }
}

extension Decimal {
    /// Returns the value of the decimal; nil if it has too many digits for a number.
    fileprivate func value(_ form: ValueCoding.Decimals) -> Value? {
        guard isFinite else { return nil }
        switch form {
        case .number: return number ?? literal?.number
        case .string: return .string(description)
        }
    }

    /// The decimal that a literal in Swift means; nil if this decimal is from none.
    ///
    /// A literal such as `19.99` becomes a `Double` first, and then 19.98999999999999488, whose
    /// nearest float may be the next one.
    private var literal: Decimal? {
        guard let float = Double(description) else { return nil }
        for float in [float, float.nextUp, float.nextDown] where Decimal(float) == self {
            guard let decimal = Decimal(shortest: float), decimal.digitCount <= 15 else { continue }
            return decimal
        }
        return nil
    }

    /// The number of digits from the first to the last one that is not zero.
    private var digitCount: Int {
        let digits = description.utf8.filter { 0x30...0x39 ~= $0 }.drop { $0 == 0x30 }
        return digits.count - digits.reversed().prefix { $0 == 0x30 }.count
    }

    /// The integer, or the float that identifies the decimal; nil if there is none.
    private var number: Value? {
        // The text of a decimal has neither an exponent nor zeros at the end of a fraction.
        let text = description
        if let integer = Int64(text) { return .integer(integer) }
        guard let float = Double(text), float.isFinite, Decimal(shortest: float) == self else {
            return nil
        }
        return .float(float)
    }

    /// Creates the decimal with the fewest digits that rounds to a float; nil if there is none.
    fileprivate init?(shortest float: Double) {
        guard float.isFinite else { return nil }
        self.init(string: "\(float)")
    }
}

extension Duration {
    /// Returns the value of the duration; nil if it is no integer of this unit.
    fileprivate func value(_ form: ValueCoding.Durations) -> Value? {
        let unit = form.attoseconds
        let (count, rest) = attoseconds.quotientAndRemainder(dividingBy: unit)
        guard rest == 0 else { return nil }
        return Int64(exactly: count).map(Value.integer)
    }
}

extension ValueCoding.Durations {
    /// The unit in 10⁻¹⁸ seconds.
    fileprivate var attoseconds: Int128 {
        switch self {
        case .nanoseconds: 1_000_000_000
        case .milliseconds: 1_000_000_000_000_000
        case .seconds: 1_000_000_000_000_000_000
        }
    }
}

// MARK: Decoding

extension Decoding {
    fileprivate func date() throws -> Date {
        switch (value, coding.dates) {
        case (.string(let text), _):
            guard let date = DateText(text) else {
                throw corrupted(
                    "\"\(text.shortened)\" is not a date with a time zone, such as "
                        + "2026-11-26T08:30:00+00:00")
            }
            return Date(date.moment)
        case (.integer, .iso8601), (.float, .iso8601):
            throw corrupted(
                "a number is a date only if ValueCoding.dates states its unit, such as "
                    + ".millisecondsSince1970")
        case (.integer, .millisecondsSince1970), (.float, .millisecondsSince1970):
            return Date(timeIntervalSince1970: try decode(Double.self) / 1_000)
        case (_, .secondsSince2001):
            return Date(timeIntervalSinceReferenceDate: try decode(Double.self))
        case (_, .secondsSince1970), (_, .millisecondsSince1970):
            return Date(timeIntervalSince1970: try decode(Double.self))
        case (_, .iso8601): throw mismatch(Date.self)
        }
    }

    fileprivate func decimal() throws -> Decimal {
        switch value {
        case .integer(let integer): return Decimal(integer)
        case .float(let float):
            guard let decimal = Decimal(shortest: float) else {
                throw corrupted("\(float) is not a decimal")
            }
            return decimal
        case .string(let text):
            guard text.isDecimal, let decimal = Decimal(string: text) else {
                throw corrupted("\"\(text.shortened)\" is not a decimal, such as 19.99")
            }
            return decimal
        default: throw mismatch(Decimal.self)
        }
    }

    fileprivate func duration() throws -> Duration {
        let count = Int128(try decode(Int64.self))
        return Duration(attoseconds: count * coding.durations.attoseconds)
    }

    fileprivate func url() throws -> URL {
        let text = try decode(String.self)
        guard let url = URL(string: text) else {
            throw corrupted("\"\(text.shortened)\" is not a URL")
        }
        return url
    }

    private func corrupted(_ text: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
    }
}

extension String {
    /// Whether the text is a decimal number; `Decimal` accepts one that only begins with a number.
    fileprivate var isDecimal: Bool {
        Double(self) != nil && utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    }
}
