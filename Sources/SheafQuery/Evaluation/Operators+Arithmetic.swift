package import SheafDocument

/// Concatenation, and arithmetic in which integers become floats only when combined with a float.
extension Operators {
    /// Returns the result of a binary operator; throws if a string becomes too long.
    package static func arithmetic(
        _ operation: ArithmeticOperator, _ left: Value?, _ right: Value?
    ) throws(StoreError) -> Value? {
        if operation == .concatenate {
            var result = Concatenation(left)
            try result.append(right)
            return result.value
        }
        switch (left, right) {
        case (.integer(let left), .integer(let right)):
            return integer(operation, left, right).map(Value.integer)
        case (.float(let left), .float(let right)):
            return result(float(operation, left, right))
        case (.integer(let left), .float(let right)):
            return result(float(operation, Double(left), right))
        case (.float(let left), .integer(let right)):
            return result(float(operation, left, Double(right)))
        default:
            return unfit([left, right], .number)
        }
    }

    /// Returns the negated number; MISSING for the least integer.
    package static func negate(_ value: Value?) -> Value? {
        switch value {
        case .integer(let integer):
            let (difference, overflows) = Int64(0).subtractingReportingOverflow(integer)
            return overflows ? nil : .integer(difference)
        case .float(let float): return result(-float)
        default: return unfit([value], .number)
        }
    }

    private static func integer(
        _ operation: ArithmeticOperator, _ left: Int64, _ right: Int64
    ) -> Int64? {
        let (value, overflows) =
            switch operation {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            // The quotient of the least integer and -1 overflows, but the remainder is zero.
            case .remainder where right == -1: (Int64(0), false)
            case .remainder: left.remainderReportingOverflow(dividingBy: right)
            // Shifts discard bits; a shift by 64 or more discards all of them.
            case .shiftLeft: (left << right, right < 0)
            case .shiftRight: (left >> right, right < 0)
            case .concatenate: (Int64(0), true)
            }
        return overflows ? nil : value
    }

    private static func float(
        _ operation: ArithmeticOperator, _ left: Double, _ right: Double
    ) -> Double {
        switch operation {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        case .divide: left / right
        case .remainder: left.truncatingRemainder(dividingBy: right)
        case .concatenate, .shiftLeft, .shiftRight: .nan
        }
    }
}
