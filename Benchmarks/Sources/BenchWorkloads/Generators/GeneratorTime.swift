import SheafDocument
import SheafText

/// Moments and durations of generators.
enum GeneratorTime {
    /// Returns the milliseconds since 1970 of a date with or without a time; nil if it is invalid.
    static func milliseconds(_ text: String) -> Int64? {
        DateText(text)?.moment.milliseconds ?? DateText(text + "Z")?.moment.milliseconds
    }

    /// Returns a moment as a quoted date, such as `"2026-01-31T12:00:00+00:00"`.
    static func text(_ milliseconds: Int64) -> String { value(milliseconds).json }

    /// Returns a moment as a text in ISO 8601; null outside of the years 1 to 9999.
    static func value(_ milliseconds: Int64) -> Value {
        Moment(milliseconds: milliseconds).map { .string($0.text) } ?? .null
    }

    /// Returns a duration such as `500ms`, `1s`, `5min` or `1h` in milliseconds.
    static func duration(_ text: String) -> Int64? {
        let units: [(String, Int64)] = [
            ("ms", 1), ("min", 60_000), ("s", 1_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        for (unit, factor) in units where text.hasSuffix(unit) {
            let digits = text.dropLast(unit.count).filter { !$0.isWhitespace }
            guard let count = Int64(digits), (1...1_000_000_000).contains(count) else { return nil }
            return count * factor
        }
        return nil
    }
}
