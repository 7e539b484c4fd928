import SheafDocument

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Functions on numbers, which return integers for integers where possible.
extension Function {
    package static let numbers: [Function] = [
        Function("abs", 1) { arguments, _ in absolute(arguments[0]) },
        Function("ceil", 1) { arguments, _ in rounded(arguments[0], .up) },
        Function("floor", 1) { arguments, _ in rounded(arguments[0], .down) },
        Function("round", 1...2) { arguments, _ in
            arguments.count == 1
                ? rounded(arguments[0], .toNearestOrAwayFromZero)
                : round(arguments[0], digits: arguments[1])
        },
        Function("sqrt", 1) { arguments, _ in squareRoot(arguments[0]) },
        Function("power", 2) { arguments, _ in power(arguments[0], arguments[1]) },
        Function("sign", 1) { arguments, _ in sign(arguments[0]) },
    ]

    private static func absolute(_ value: Value?) -> Value? {
        switch value {
        case .integer(let integer): Int64(exactly: integer.magnitude).map(Value.integer)
        case .float(let float): Operators.result(float.magnitude)
        default: Operators.unfit([value], .number)
        }
    }

    private static func rounded(_ value: Value?, _ rule: FloatingPointRoundingRule) -> Value? {
        switch value {
        case .integer: value
        case .float(let float): Operators.result(float.rounded(rule))
        default: Operators.unfit([value], .number)
        }
    }

    private static func round(_ value: Value?, digits: Value?) -> Value? {
        switch (value, digits) {
        case (.integer(let integer), .integer(let digits)):
            DecimalRounding.round(integer, digits: digits).map(Value.integer)
        case (.float(let float), .integer(let digits)):
            Operators.result(DecimalRounding.round(float, digits: digits))
        // A float is not valid as a number of digits, whatever the other argument is.
        case (_, .float): nil
        default: Operators.unfit([value, digits], .number)
        }
    }

    private static func squareRoot(_ value: Value?) -> Value? {
        switch value {
        case .integer(let integer): Operators.result(Double(integer).squareRoot())
        case .float(let float): Operators.result(float.squareRoot())
        default: Operators.unfit([value], .number)
        }
    }

    /// Returns the power, which is an integer for integers unless the exponent is negative.
    private static func power(_ base: Value?, _ exponent: Value?) -> Value? {
        switch (base, exponent) {
        case (.integer(let base), .integer(let exponent)) where exponent >= 0:
            power(base, exponent).map(Value.integer)
        case (.integer(let base), .integer(let exponent)):
            Operators.result(pow(Double(base), Double(exponent)))
        case (.integer(let base), .float(let exponent)):
            Operators.result(pow(Double(base), exponent))
        case (.float(let base), .integer(let exponent)):
            Operators.result(pow(base, Double(exponent)))
        case (.float(let base), .float(let exponent)):
            Operators.result(pow(base, exponent))
        default:
            Operators.unfit([base, exponent], .number)
        }
    }

    private static func power(_ base: Int64, _ exponent: Int64) -> Int64? {
        var result: Int64 = 1
        var square = base
        var rest = exponent
        while rest > 0 {
            var overflows = false
            if rest & 1 == 1 {
                (result, overflows) = result.multipliedReportingOverflow(by: square)
                if overflows { return nil }
            }
            rest >>= 1
            // The last square is not needed and may overflow.
            guard rest > 0 else { break }
            (square, overflows) = square.multipliedReportingOverflow(by: square)
            if overflows { return nil }
        }
        return result
    }

    private static func sign(_ value: Value?) -> Value? {
        switch value {
        case .integer(let integer): .integer(integer.signum())
        case .float(let float): float.isNaN ? nil : .integer(float > 0 ? 1 : float < 0 ? -1 : 0)
        default: Operators.unfit([value], .number)
        }
    }
}
