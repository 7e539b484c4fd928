import SheafDocument

/// Functions of arrays.
extension Function {
    package static let arrays: [Function] = [
        Function("array_contains", 2) { arguments, _ in
            guard case .array(let elements) = arguments[0], let value = arguments[1],
                value.kind != .null
            else { return Operators.unfit(arguments, .array, nil) }
            return .bool(elements.contains(value))
        },
        Function("array_contains_null", 1) { arguments, _ in
            guard case .array(let elements) = arguments[0] else {
                return Operators.unfit(arguments, .array)
            }
            return .bool(elements.contains { $0.kind == .null })
        },
        Function("array_length", 1) { arguments, _ in
            guard case .array(let elements) = arguments[0] else {
                return Operators.unfit(arguments, .array)
            }
            return .integer(Int64(elements.count))
        },
    ]
}
