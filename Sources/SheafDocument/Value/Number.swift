/// A numeric value; a counter is an integer until a float is added.
package enum Number: Hashable, Sendable {
    case integer(Int64)
    case float(Double)

    /// Creates a number from a value; nil for other types.
    package init?(_ value: Value) {
        switch value {
        case .integer(let value): self = .integer(value)
        case .float(let value): self = .float(value)
        default: return nil
        }
    }

    package var value: Value {
        switch self {
        case .integer(let value): .integer(value)
        case .float(let value): .float(value)
        }
    }

    /// Returns the sum of numbers; integers saturate at 64 bits.
    ///
    /// Floats are added in the given order, since the result depends on it.
    package static func sum(_ numbers: some Sequence<Number>) -> Number {
        var integers: Int128 = 0
        var floats = 0.0
        var hasFloats = false
        for number in numbers {
            switch number {
            case .integer(let value): integers += Int128(value)
            case .float(let value):
                floats += value
                hasFloats = true
            }
        }
        if hasFloats { return .float(Double(integers) + floats) }
        return .integer(Int64(clamping: integers))
    }
}
