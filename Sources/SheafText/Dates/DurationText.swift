/// Durations as texts such as `1h30m0s`.
package enum DurationText {
    /// Maximum length of a duration in bytes.
    private static let maximumLength = 256

    /// Returns the milliseconds of `1h30m`, `-1.5h` or `250ms`; nil if invalid or too long.
    ///
    /// The units d, h, m, s, ms, us or µs, and ns may be repeated; the sum is truncated to
    /// milliseconds.
    package static func milliseconds(_ text: String) -> Int64? {
        guard text.utf8.count <= maximumLength else { return nil }
        var bytes = Array(text.utf8)[...]
        let isNegative = bytes.first == 0x2D
        if isNegative || bytes.first == 0x2B { bytes = bytes.dropFirst() }
        if bytes.elementsEqual([0x30]) { return 0 }
        guard !bytes.isEmpty else { return nil }
        var whole: UInt64 = 0
        // At most 128 parts contribute less than two milliseconds each, so this cannot overflow.
        var nanoseconds: UInt64 = 0
        while !bytes.isEmpty {
            guard let part = readPart(&bytes) else { return nil }
            let (sum, overflow) = whole.addingReportingOverflow(part.milliseconds)
            guard !overflow else { return nil }
            whole = sum
            nanoseconds += part.nanoseconds
        }
        let (magnitude, overflow) = whole.addingReportingOverflow(nanoseconds / 1_000_000)
        guard !overflow else { return nil }
        // The least integer has no positive counterpart.
        guard !isNegative || magnitude != Int64.min.magnitude else { return .min }
        return Int64(exactly: magnitude).map { isNegative ? -$0 : $0 }
    }

    /// Returns a duration as text: from `0s` and `250ms` to `-2562047788015h12m55.808s`.
    package static func text(_ milliseconds: Int64) -> String {
        let magnitude = milliseconds.magnitude
        let sign = milliseconds < 0 ? "-" : ""
        if magnitude == 0 { return "0s" }
        if magnitude < 1_000 { return "\(sign)\(magnitude)ms" }
        var printer = DatePrinter()
        printer.write(sign)
        if magnitude >= 3_600_000 { printer.write("\(magnitude / 3_600_000)h") }
        if magnitude >= 60_000 { printer.write("\(magnitude / 60_000 % 60)m") }
        printer.write("\(magnitude / 1_000 % 60)")
        var fraction = Int(magnitude % 1_000)
        if fraction != 0 {
            var digits = 3
            while fraction % 10 == 0 {
                fraction /= 10
                digits -= 1
            }
            printer.write(".")
            printer.write(fraction, digits: digits)
        }
        printer.write("s")
        return printer.text
    }

    /// Reads a number with its unit.
    private static func readPart(
        _ bytes: inout ArraySlice<UInt8>
    ) -> (milliseconds: UInt64, nanoseconds: UInt64)? {
        guard let number = readNumber(&bytes), let unit = readUnit(&bytes) else { return nil }
        let product = number.whole.multipliedFullWidth(by: unit)
        guard product.high < 1_000_000 else { return nil }
        let (milliseconds, rest) = UInt64(1_000_000).dividingFullWidth(product)
        // The fraction is less than a billion, so the quotient is less than the unit.
        let part = UInt64(1_000_000_000).dividingFullWidth(
            number.billionths.multipliedFullWidth(by: unit)
        ).quotient
        let (sum, overflow) = milliseconds.addingReportingOverflow(part / 1_000_000)
        return overflow ? nil : (sum, rest + part % 1_000_000)
    }

    private static func readNumber(
        _ bytes: inout ArraySlice<UInt8>
    ) -> (whole: UInt64, billionths: UInt64)? {
        let start = bytes.startIndex
        var whole: UInt64 = 0
        while let byte = bytes.first, 0x30...0x39 ~= byte {
            let (product, isTooLong) = whole.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = product.addingReportingOverflow(UInt64(byte - 0x30))
            guard !isTooLong, !overflow else { return nil }
            whole = sum
            bytes = bytes.dropFirst()
        }
        var digits = bytes.startIndex - start
        guard bytes.first == 0x2E else { return digits > 0 ? (whole, 0) : nil }
        bytes = bytes.dropFirst()
        var billionths: UInt64 = 0
        var value: UInt64 = 100_000_000
        while let byte = bytes.first, 0x30...0x39 ~= byte {
            billionths += UInt64(byte - 0x30) * value
            value /= 10
            digits += 1
            bytes = bytes.dropFirst()
        }
        return digits > 0 ? (whole, billionths) : nil
    }

    /// Lengths of the units; longer names precede their prefixes.
    private static let units: [(name: [UInt8], nanoseconds: UInt64)] = [
        (Array("ms".utf8), 1_000_000), (Array("us".utf8), 1_000),
        (Array("\u{B5}s".utf8), 1_000), (Array("\u{3BC}s".utf8), 1_000),
        (Array("ns".utf8), 1), (Array("d".utf8), 86_400_000_000_000),
        (Array("h".utf8), 3_600_000_000_000), (Array("m".utf8), 60_000_000_000),
        (Array("s".utf8), 1_000_000_000),
    ]

    private static func readUnit(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        guard let unit = units.first(where: { bytes.starts(with: $0.name) }) else { return nil }
        bytes = bytes.dropFirst(unit.name.count)
        return unit.nanoseconds
    }
}
