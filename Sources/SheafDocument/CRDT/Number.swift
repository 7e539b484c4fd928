/// What counters count in: integers, until somebody adds a float.
package enum Number: Hashable, Sendable {
    case integer(Int64)
    case float(Double)

    /// The number that a value is; nil where it is none.
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

    /// The sum of some numbers; integers that leave 64 bits stop at the limit.
    ///
    /// Floats are added in the order given, for other orders give other sums.
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
