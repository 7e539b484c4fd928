import SheafDocument

/// A sum of integers and floats, exact for integers and compensated for floats.
///
/// The sum of integers is an integer. Intermediate sums may exceed 64 bits; the final sum is
/// MISSING if it does.
struct NumberSum: Sendable {
    /// Sum of the integers; only 2⁶⁴ or more of them could overflow 128 bits.
    private var integers: Int128 = 0
    private var floats = FloatSum()
    private var count = 0
    private var hasFloat = false

    /// Adds a number; other values are ignored.
    mutating func add(_ value: Value) {
        switch value {
        case .integer(let integer):
            integers &+= Int128(integer)
        case .float(let float):
            floats.add(float)
            hasFloat = true
        default:
            return
        }
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
        let rounded = Double(integers)
        sum.add(rounded)
        sum.add(Double(integers - (Int128(exactly: rounded) ?? integers)))
        return sum
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
