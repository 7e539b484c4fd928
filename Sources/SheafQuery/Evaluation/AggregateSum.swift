import SheafDocument

/// The sum of numbers: integers exactly, floats with what rounding loses kept beside them.
///
/// A sum of integers is an integer. It may leave 64 bits on its way, and is MISSING if its end does.
struct NumberSum: Sendable {
    /// So many 64-bit numbers that 128 bits overflow cannot be counted.
    private var integers: Int128 = 0
    private var floats = FloatSum()
    private var count = 0
    private var hasFloat = false

    /// Adds a number; everything else is no part of the sum.
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

    /// MISSING without numbers.
    var total: Value? {
        guard count > 0 else { return nil }
        guard hasFloat else { return Int64(exactly: integers).map(Value.integer) }
        return Operators.result(sumWithIntegers.value(dividedBy: 1))
    }

    /// Always a float, also of integers.
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

/// A sum of floats whose rounding errors are added up in a second float (Neumaier).
///
/// Large floats have a sum of their own, as parts of 2¹²⁸: nothing overflows on its way to an end
/// that floats can hold.
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
        // The quotient comes first: the mean of floats is never too large for a float.
        return sum.value / divisor * Self.scale
    }
}

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
