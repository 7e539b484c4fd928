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
    /// The element at a place, which counts from zero, or the field of a name; nil where none is there.
    fileprivate func element(at step: Value) -> Value? {
        switch (self, step) {
        case (.array(let elements), .integer(let place)):
            // Not converted to an Int first: it may be any number.
            place >= 0 && place < Int64(elements.count) ? elements[Int(place)] : nil
        case (.object(let object), .string(let name)): object[name]
        default: nil
        }
    }
}
