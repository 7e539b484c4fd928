/// Bytes in a readable form that can be parsed again.
enum ReadableBytes {
    /// Returns printable text unchanged, a backslash doubled, and every other byte as `\xNN`.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        var rest = bytes[...]
        while let first = rest.first {
            if let (scalar, count) = printableScalar(rest) {
                if scalar == "\\" { text += "\\" }
                text.unicodeScalars.append(scalar)
                rest = rest.dropFirst(count)
            } else {
                text += "\\x" + hexadecimal([first])
                rest = rest.dropFirst()
            }
        }
        return text
    }

    /// Parses the form written by `text(_:)`; returns nil if an escape is invalid.
    static func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.popFirst() {
            guard first == UInt8(ascii: "\\") else {
                bytes.append(first)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "x"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard digits.utf8.count == 2, digits.utf8.allSatisfy(isHexadecimal),
                    let byte = UInt8(digits, radix: 16)
                else {
                    return nil
                }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            default:
                return nil
            }
        }
        return bytes
    }

    /// Whether the byte is a hexadecimal digit; `UInt8(_:radix:)` alone also accepts a sign.
    static func isHexadecimal(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte)
    }

    /// Returns two hexadecimal digits per byte.
    static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            let digits = String(byte, radix: 16)
            text += digits.utf8.count == 1 ? "0" + digits : digits
        }
        return text
    }

    /// Returns the first character if it is printable.
    private static func printableScalar(
        _ bytes: some Collection<UInt8>
    ) -> (Unicode.Scalar, count: Int)? {
        var iterator = bytes.makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            return nil
        default:
            return (scalar, UTF8.width(scalar))
        }
    }
}

/// Times as text: ISO 8601 in UTC, with milliseconds.
enum Timestamp {
    /// The last millisecond of the year 9999.
    private static let latest: UInt64 = 253_402_300_799_999

    /// Returns the time as text; `milliseconds` counts from 1970.
    static func text(_ milliseconds: UInt64) -> String {
        let milliseconds = min(milliseconds, latest)
        let seconds = milliseconds / 1_000
        let (year, month, day) = date(day: Int(seconds / 86_400))
        let time = seconds % 86_400
        return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T"
            + padded(Int(time / 3_600), 2) + ":" + padded(Int(time / 60 % 60), 2) + ":"
            + padded(Int(time % 60), 2) + "." + padded(Int(milliseconds % 1_000), 3) + "Z"
    }

    /// Returns the date of a day since 1970; the computation uses years that begin in March.
    private static func date(day: Int) -> (year: Int, month: Int, day: Int) {
        let days = day + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let year = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (
            era * 400 + year + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1
        )
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

/// Elapsed times as text.
enum ElapsedTime {
    /// Returns the time in the unit that suits it, such as `812 µs`, `1.25 ms` or `4.03 s`.
    static func text(_ nanoseconds: UInt64) -> String {
        switch nanoseconds {
        case ..<1_000: "\(nanoseconds) ns"
        case ..<1_000_000: "\(nanoseconds / 1_000) µs"
        case ..<1_000_000_000: hundredths(nanoseconds / 10_000) + " ms"
        default: hundredths(nanoseconds / 10_000_000) + " s"
        }
    }

    /// Returns the time in milliseconds with three decimals.
    static func milliseconds(_ nanoseconds: UInt64) -> String {
        let micros = nanoseconds / 1_000
        return "\(micros / 1_000)." + digits(micros % 1_000, 3) + " ms"
    }

    private static func hundredths(_ count: UInt64) -> String {
        "\(count / 100)." + digits(count % 100, 2)
    }

    private static func digits(_ number: UInt64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}

/// Byte counts and other counts as text.
enum Quantity {
    /// Returns a number of bytes with its unit, such as `1.5 MiB` or `312 bytes`.
    static func bytes(_ count: Int) -> String {
        var value = Double(count)
        guard value >= 1_024 else { return self.count(count, "byte") }
        var unit = "bytes"
        for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1_024 {
            value /= 1_024
            unit = next
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// Returns a number with its noun, such as `1 key` or `2 keys`.
    static func count(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    /// Returns a share as a percentage.
    static func percent(_ share: Double) -> String {
        "\(Int((share * 100).rounded()))%"
    }
}
