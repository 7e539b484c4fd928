import SheafDocument

/// Functions on arrays.
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
        Function("value_at", 2...Function.anyNumber) { arguments, _ in
            guard var value = arguments[0] else { return nil }
            for step in arguments.dropFirst() {
                guard let step, let next = value.element(at: step) else { return nil }
                value = next
            }
            return value
        },
    ]
}

extension Value {
    /// Returns the element at a zero-based index or the field with a name, or nil if there is none.
    fileprivate func element(at step: Value) -> Value? {
        switch (self, step) {
        case (.array(let elements), .integer(let index)):
            // The comparison precedes the conversion to Int, because the index may be any number.
            index >= 0 && index < Int64(elements.count) ? elements[Int(index)] : nil
        case (.object(let object), .string(let name)): object[name]
        default: nil
        }
    }
}
