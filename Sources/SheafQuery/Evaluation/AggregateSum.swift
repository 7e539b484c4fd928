import SheafDocument

/// A sum of integers and floats, exact for integers and for amounts such as 19.99.
///
/// The sum of integers is an integer. Intermediate sums may exceed 64 bits; the final sum is
/// MISSING if it does. Floats that are the nearest to a decimal with few digits are added as these
/// decimals, and any other floats with compensation of rounding errors.
struct NumberSum: Sendable {
    /// Sum of the integers; only 2⁶⁴ or more of them could overflow 128 bits.
    private var integers: Int128 = 0
    private var decimals = DecimalSum()
    private var floats = FloatSum()
    private var count = 0
    private var hasFloat = false

    /// Adds a number; other values are ignored.
    mutating func add(_ value: Value) {
        switch value {
        case .integer(let integer): add(integer)
        case .float(let float): add(float)
        default: return
        }
    }

    /// Adds an integer.
    @inline(__always)
    mutating func add(_ integer: Int64) {
        integers &+= Int128(integer)
        count += 1
    }

    /// Adds a float.
    @inline(__always)
    mutating func add(_ float: Double) {
        if !decimals.add(float) { floats.add(float) }
        hasFloat = true
        count += 1
    }

    /// The sum; MISSING without numbers.
    var total: Value? {
        guard count > 0 else { return nil }
        guard hasFloat else { return Int64(exactly: integers).map(Value.integer) }
        return Operators.result(sumWithIntegers.value(dividedBy: 1))
    }

    /// The mean, always a float; MISSING without numbers.
    var mean: Value? {
        guard count > 0 else { return nil }
        return Operators.result(sumWithIntegers.value(dividedBy: Double(count)))
    }

    private var sumWithIntegers: FloatSum {
        var sum = floats
        // An integer that the decimals cannot hold is far larger than any of them.
        let (scaled, overflows) = integers.multipliedReportingOverflow(by: decimals.unit)
        let (together, isTooLarge) = scaled.addingReportingOverflow(decimals.sum)
        if overflows || isTooLarge {
            sum.add(integers)
            sum.add(decimals.sum, dividedBy: decimals.unit)
        } else {
            sum.add(together, dividedBy: decimals.unit)
        }
        return sum
    }
}

/// The exact sum of floats that are the nearest to decimals with at most nine decimal places.
///
/// Whether a float is one does not depend on the others, so that neither does the sum depend on the
/// order of the rows.
private struct DecimalSum: Sendable {
    /// The sum, in units of 10⁻ᵖ for p decimal places; 10¹⁵ · 10⁹ leaves room for 10¹⁴ floats.
    private(set) var sum: Int128 = 0
    private var places = 0
    /// 10ᵖ for p decimal places.
    private var factor = 1.0

    /// One, in units of the sum.
    var unit: Int128 { Self.units[places] }

    /// A decimal with fewer than 16 digits has a nearest float of its own.
    private static let bound = 1e15
    /// 1.5 · 2⁵²: adding and subtracting it rounds a float below 2⁵¹ to an integer.
    private static let rounding = 0x1.8p52
    private static let factors = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
    private static let units = factors.map { Int128($0) }

    /// Adds a float; returns false if it is no such decimal.
    @inline(__always)
    mutating func add(_ float: Double) -> Bool {
        // No two decimals with fewer than 16 digits have the same nearest float, so the places of
        // the sum are as good as the fewest.
        // The addition rounds without a call; larger results fail the check of the bound.
        let scaled = float * factor + Self.rounding - Self.rounding
        guard abs(scaled) < Self.bound, scaled / factor == float else {
            return addWithOtherPlaces(float)
        }
        sum &+= Int128(Int64(scaled))
        return true
    }

    @inline(never)
    private mutating func addWithOtherPlaces(_ float: Double) -> Bool {
        // The fewest places are those of the decimal; with more of them, the product is rounded.
        for own in Self.factors.indices {
            let scaled = (float * Self.factors[own]).rounded()
            guard abs(scaled) < Self.bound else { return false }
            // The division by a power of ten rounds once, as reading the decimal does.
            guard scaled / Self.factors[own] == float else { continue }
            if own > places {
                sum *= Self.units[own - places]
                places = own
                factor = Self.factors[own]
            }
            sum += Int128(scaled) * Self.units[places - own]
            return true
        }
        return false
    }
}

/// A sum of floats with Neumaier compensation for rounding errors.
///
/// Large floats are summed separately, scaled by 2⁻¹²⁸, so that intermediate sums do not overflow
/// if the result is finite.
private struct FloatSum: Sendable {
    private var small = Compensated()
    private var large = Compensated()

    private static let bound = 0x1p900
    private static let scale = 0x1p128

    mutating func add(_ float: Double) {
        if abs(float) < Self.bound {
            small.add(float)
        } else {
            large.add(float / Self.scale)
        }
    }

    /// Adds an integer, exactly up to the rounding of the total.
    mutating func add(_ integer: Int128) {
        let rounded = Double(integer)
        add(rounded)
        add(Double(integer - (Int128(exactly: rounded) ?? integer)))
    }

    /// Adds a fraction, of which the whole part is exact.
    mutating func add(_ numerator: Int128, dividedBy denominator: Int128) {
        let (whole, rest) = numerator.quotientAndRemainder(dividingBy: denominator)
        guard numerator.magnitude >= 1 << 53 else {
            // A division of exact floats is the nearest float.
            return add(Double(numerator) / Double(denominator))
        }
        add(whole)
        if rest != 0 { add(Double(rest) / Double(denominator)) }
    }

    func value(dividedBy divisor: Double) -> Double {
        guard large.value != 0 else { return small.value / divisor }
        var sum = large
        sum.add(small.value / Self.scale)
        // Division comes first: the mean of finite floats does not overflow.
        return sum.value / divisor * Self.scale
    }
}

/// A sum with the rounding errors of its additions.
private struct Compensated: Sendable {
    private var sum = 0.0
    private var lost = 0.0

    mutating func add(_ float: Double) {
        let next = sum + float
        lost += abs(sum) >= abs(float) ? (sum - next) + float : (float - next) + sum
        sum = next
    }

    var value: Double { sum + lost }
}
