package import SheafDocument

/// Functions that return or test the type of a value, which is never unknown.
extension Function {
    package static let types: [Function] = [
        Function("type", 1) { arguments, _ in .string(typeName(of: arguments[0])) },
        Function("json_type", 1) { arguments, _ in
            arguments[0]?.kind == .number ? "number" : .string(typeName(of: arguments[0]))
        },
        Function("is_boolean", 1) { arguments, _ in .bool(arguments[0]?.kind == .boolean) },
        Function("is_number", 1) { arguments, _ in .bool(arguments[0]?.kind == .number) },
        Function("is_string", 1) { arguments, _ in .bool(arguments[0]?.kind == .string) },
    ]

    /// Returns the result of `type()` for a value; nil is a missing value.
    package static func typeName(of value: Value?) -> String {
        switch value {
        case .bool: "boolean"
        case .string: "string"
        case .integer: "integer"
        case .float: "float"
        case .object: "object"
        case .array: "array"
        case .bytes: "binary"
        case .null: "null"
        case nil: "missing"
        }
    }
}
