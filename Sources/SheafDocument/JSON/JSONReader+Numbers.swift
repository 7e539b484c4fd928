/// JSON numbers: integers if they fit in 64 bits, otherwise the nearest float.
///
/// `-0` is the integer zero, and `-0.0` is a float that keeps its sign.
extension JSONReader {
    mutating func readNumber() throws(JSONError) -> Value {
        let start = offset
        let isNegative = current == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        var decimal = Decimal()
        let first = current
        guard readDigits(into: &decimal) > 0 else { throw error(.expected("a digit")) }
        guard first != UInt8(ascii: "0") || decimal.digitCount == 1 else {
            throw error(.expected("no digit after a leading zero"), at: start)
        }
        var isInteger = true
        if current == UInt8(ascii: ".") {
            isInteger = false
            offset += 1
            let count = readDigits(into: &decimal)
            guard count > 0 else { throw error(.expected("a digit")) }
            decimal.exponent -= count
        }
        if current | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            offset += 1
            decimal.exponent += try readExponent()
        }
        if isInteger, let value = decimal.integer(isNegative: isNegative) {
            return .integer(value)
        }
        if let value = decimal.float(isNegative: isNegative) { return .float(value) }
        // Many digits or a large exponent need the exact conversion.
        let value = Double(String(decoding: text[start..<offset], as: UTF8.self)) ?? .infinity
        guard value.isFinite else { throw error(.numberTooLarge, at: start) }
        return .float(value)
    }

    private mutating func readDigits(into decimal: inout Decimal) -> Int {
        let start = offset
        while offset < text.count {
            let digit = text[offset] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            decimal.append(digit)
            offset += 1
        }
        return offset - start
    }

    private mutating func readExponent() throws(JSONError) -> Int {
        let isNegative = current == UInt8(ascii: "-")
        if isNegative || current == UInt8(ascii: "+") { offset += 1 }
        guard case UInt8(ascii: "0")...UInt8(ascii: "9") = current else {
            throw error(.expected("a digit"))
        }
        var exponent = 0
        while case UInt8(ascii: "0")...UInt8(ascii: "9") = current {
            // No text has enough digits to offset this exponent, so further digits of the exponent
            // make no difference.
            if exponent < 1_000_000_000_000 {
                exponent = exponent * 10 + Int(current - UInt8(ascii: "0"))
            }
            offset += 1
        }
        return isNegative ? -exponent : exponent
    }
}

/// The digits of a number, and a power of ten.
private struct Decimal {
    private var mantissa: UInt64 = 0
    private(set) var digitCount = 0
    private var hasOverflown = false
    var exponent = 0

    @inline(__always)
    mutating func append(_ digit: UInt8) {
        digitCount += 1
        // Nineteen digits always fit.
        guard digitCount > 19 else {
            mantissa = mantissa &* 10 &+ UInt64(digit)
            return
        }
        let (product, first) = mantissa.multipliedReportingOverflow(by: 10)
        let (sum, second) = product.addingReportingOverflow(UInt64(digit))
        hasOverflown = hasOverflown || first || second
        mantissa = sum
    }

    func integer(isNegative: Bool) -> Int64? {
        guard !hasOverflown else { return nil }
        guard isNegative else { return Int64(exactly: mantissa) }
        return mantissa <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- mantissa) : nil
    }

    /// Returns the float if one operation on exact operands yields it; nil otherwise.
    func float(isNegative: Bool) -> Double? {
        guard !hasOverflown, mantissa < 1 << 53, abs(exponent) < Self.powers.count else {
            return nil
        }
        let power = Self.powers[abs(exponent)]
        let magnitude = exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
        return isNegative ? -magnitude : magnitude
    }

    /// All powers of ten that floats represent exactly.
    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]
}
