import SheafDocument
import SheafQuery

/// A second, naive implementation of the operators.
enum ValueOracle {
    enum Order: Equatable {
        case known(Int), null, missing
    }

    // MARK: Arithmetic

    private enum Operand {
        case integer(Int128), float(Double), text([UInt8]), null, other
    }

    private static func operand(_ value: Value?) -> Operand {
        switch value {
        case .integer(let integer): .integer(Int128(integer))
        case .float(let float): .float(float)
        case .string(let text): .text(Array(text.utf8))
        case .null: .null
        default: .other
        }
    }

    static func arithmetic(
        _ operation: ArithmeticOperator, _ left: Value?, _ right: Value?
    ) -> Value? {
        let isText = operation == .concatenate
        switch (operand(left), operand(right)) {
        case (.null, .null): return .null
        case (.null, .text), (.text, .null): return isText ? .null : nil
        case (.null, .integer), (.null, .float), (.integer, .null), (.float, .null):
            return isText ? nil : .null
        case (.text(let left), .text(let right)):
            return isText ? .string(String(decoding: left + right, as: UTF8.self)) : nil
        case (.integer(let left), .integer(let right)):
            return isText ? nil : complete(operation, left, right)
        case (.integer(let left), .float(let right)):
            return isText ? nil : float(operation, Double(Int64(left)), right)
        case (.float(let left), .integer(let right)):
            return isText ? nil : float(operation, left, Double(Int64(right)))
        case (.float(let left), .float(let right)):
            return isText ? nil : float(operation, left, right)
        case (.other, _), (_, .other), (.text, _), (_, .text): return nil
        }
    }

    /// Computes in 128 bits, where no result overflows.
    private static func complete(
        _ operation: ArithmeticOperator, _ left: Int128, _ right: Int128
    ) -> Value? {
        let result: Int128? =
            switch operation {
            case .add: left + right
            case .subtract: left - right
            case .multiply: left * right
            case .divide: right == 0 ? nil : left / right
            case .remainder: right == 0 ? nil : left - left / right * right
            case .shiftLeft: right < 0 ? nil : doubled(left, right)
            case .shiftRight: right < 0 ? nil : halved(left, right)
            case .concatenate: nil
            }
        return result.flatMap { Int64(exactly: $0) }.map(Value.integer)
    }

    /// Doubles a number repeatedly, truncated to a signed 64-bit integer each time.
    private static func doubled(_ number: Int128, _ times: Int128) -> Int128 {
        var number = number
        for _ in 0..<min(times, 64) {
            number *= 2
            if number > Int128(Int64.max) { number -= 1 << 64 }
            if number < Int128(Int64.min) { number += 1 << 64 }
        }
        return number
    }

    /// Halves a number repeatedly, rounding down each time.
    private static func halved(_ number: Int128, _ times: Int128) -> Int128 {
        var number = number
        for _ in 0..<min(times, 64) {
            number = (number < 0 ? number - 1 : number) / 2
        }
        return number
    }

    private static func float(
        _ operation: ArithmeticOperator, _ left: Double, _ right: Double
    ) -> Value? {
        let result =
            switch operation {
            case .add: left + right
            case .subtract: left - right
            case .multiply: left * right
            case .divide: left / right
            case .remainder: remainder(left, right)
            case .concatenate, .shiftLeft, .shiftRight: Double.nan
            }
        return result.isNaN || result.isInfinite ? nil : .float(result)
    }

    /// Returns the remainder by exact subtraction of ever smaller multiples of the divisor.
    private static func remainder(_ left: Double, _ right: Double) -> Double {
        guard left.isFinite, right != 0, !right.isNaN else { return .nan }
        guard right.isFinite else { return left }
        var rest = abs(left)
        while rest >= abs(right) {
            var part = abs(right)
            while part <= rest / 2 { part *= 2 }
            rest -= part
        }
        return left.sign == .minus ? -rest : rest
    }

    // MARK: Comparison

    static func order(_ left: Value?, _ right: Value?) -> Order {
        guard let left, let right else { return .missing }
        switch (left, right) {
        case (.null, _), (_, .null): return .null
        case (.bool, .bool), (.string, .string), (.bytes, .bytes), (.array, .array),
            (.object, .object), (.integer, .integer), (.integer, .float), (.float, .integer),
            (.float, .float):
            return .known(complete(left, right))
        default: return .missing
        }
    }

    static func truth(_ comparison: ComparisonOperator, _ order: Order) -> Truth {
        switch order {
        case .missing: return .missing
        case .null: return .null
        case .known(let order):
            let holds: Set<Int> =
                switch comparison {
                case .equal: [0]
                case .notEqual: [-1, 1]
                case .less: [-1]
                case .lessOrEqual: [-1, 0]
                case .greater: [1]
                case .greaterOrEqual: [0, 1]
                }
            return holds.contains(order) ? .yes : .no
        }
    }

    /// Returns the order of two values by comparing their lists of keys.
    private static func complete(_ left: Value, _ right: Value) -> Int {
        let (left, right) = (keys(left), keys(right))
        for (left, right) in zip(left, right) {
            if left < right { return -1 }
            if right < left { return 1 }
        }
        return left.count < right.count ? -1 : left.count > right.count ? 1 : 0
    }

    /// The rank of a type with a number, split into its integer and fractional parts.
    private struct Key: Comparable {
        var rank: Int
        var number: Int128 = 0
        var fraction = 0.0

        static func < (left: Key, right: Key) -> Bool {
            (left.rank, left.number, left.fraction) < (right.rank, right.number, right.fraction)
        }
    }

    private static func keys(_ value: Value) -> [Key] {
        switch value {
        case .bool(let value): return [Key(rank: value ? 2 : 1)]
        case .integer(let integer): return [Key(rank: 4, number: Int128(integer))]
        case .float(let float):
            if float.isNaN { return [Key(rank: 6)] }
            guard abs(float) < 0x1p126 else {
                return [Key(rank: float < 0 ? 3 : 5, fraction: float)]
            }
            let whole = float.rounded(.down)
            return [Key(rank: 4, number: Int128(whole), fraction: float - whole)]
        case .bytes(let bytes):
            return listed(rank: 7, bytes.map { [Key(rank: 1, number: Int128($0))] })
        case .string(let text):
            return listed(rank: 8, text.utf8.map { [Key(rank: 1, number: Int128($0))] })
        case .array(let values): return listed(rank: 9, values.map { keys($0) })
        case .object(let object):
            return listed(rank: 10, object.map { keys(.string($0.name)) + keys($0.value) })
        case .null: return [Key(rank: 12)]
        }
    }

    /// Returns the keys of a list, in which a prefix sorts before a longer list.
    private static func listed(rank: Int, _ elements: [[Key]]) -> [Key] {
        [Key(rank: rank)] + elements.flatMap { [Key(rank: 1)] + $0 } + [Key(rank: 0)]
    }
}
