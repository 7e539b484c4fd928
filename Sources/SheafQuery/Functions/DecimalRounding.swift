/// Decimal rounding, with halves rounded away from zero.
///
/// A float is rounded as its shortest decimal text: 1.005 becomes 1.01 with two digits, although
/// the float is slightly less than 1.005.
enum DecimalRounding {
    /// Rounds to `digits` digits after the point, or before it if negative; nil on overflow.
    static func round(_ integer: Int64, digits: Int64) -> Int64? {
        guard digits < 0 else { return integer }
        // Half of 10²⁰ exceeds all integers.
        guard digits > -20 else { return 0 }
        var unit: Int128 = 1
        for _ in 0..<(-digits) { unit *= 10 }
        let magnitude = (Int128(integer.magnitude) + unit / 2) / unit * unit
        return Int64(exactly: integer < 0 ? -magnitude : magnitude)
    }

    /// Rounds to `digits` decimal digits; the result is infinite on overflow.
    static func round(_ float: Double, digits: Int64) -> Double {
        guard float.isFinite, float != 0 else { return float }
        var decimal = DecimalText(float.magnitude)
        // No float has digits beyond this range.
        decimal.round(digits: Int(min(max(digits, -400), 400)))
        guard let magnitude = decimal.float else { return float }
        return float < 0 ? -magnitude : magnitude
    }
}

/// The decimal digits of a positive float: `0.d₁d₂d₃…` times ten to the power of `point`.
private struct DecimalText {
    private var digits: [UInt8] = []
    private var point = 0

    init(_ float: Double) {
        var hasPoint = false
        var exponent = 0
        var isExponentNegative = false
        var isInExponent = false
        for byte in float.description.utf8 {
            switch byte {
            case UInt8(ascii: "."): hasPoint = true
            case UInt8(ascii: "e"): isInExponent = true
            case UInt8(ascii: "-"): isExponentNegative = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let digit = byte - UInt8(ascii: "0")
                if isInExponent {
                    exponent = exponent * 10 + Int(digit)
                } else {
                    digits.append(digit)
                    if !hasPoint { point += 1 }
                }
            default: break
            }
        }
        point += isExponentNegative ? -exponent : exponent
    }

    /// Rounds to a number of digits after the point.
    mutating func round(digits count: Int) {
        let kept = point + count
        guard kept < digits.count else { return }
        guard kept >= 0 else {
            digits = []
            return
        }
        let isRoundedUp = digits[kept] >= 5
        digits.removeSubrange(kept...)
        guard isRoundedUp else { return }
        for index in digits.indices.reversed() {
            guard digits[index] == 9 else {
                digits[index] += 1
                return
            }
            digits[index] = 0
        }
        digits.insert(1, at: 0)
        point += 1
    }

    var float: Double? {
        guard !digits.isEmpty else { return 0 }
        let text = digits.map { UInt8(ascii: "0") + $0 }
        return Double("\(String(decoding: text, as: UTF8.self))e\(point - digits.count)")
    }
}
