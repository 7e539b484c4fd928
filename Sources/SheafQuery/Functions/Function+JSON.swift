import SheafDocument

/// Functions that convert between values and JSON.
extension Function {
    package static let json: [Function] = [
        Function("serialize_json", 1) { (arguments, _) throws(StoreError) in
            guard let value = arguments[0] else { return nil }
            let bytes = try BoundedJSON.bytes(of: value)
            return .string(String(decoding: bytes, as: UTF8.self))
        },
        // Invalid JSON yields MISSING, like an argument of a wrong type.
        Function("deserialize_json", 1) { arguments, _ in
            guard case .string(let text) = arguments[0] else {
                return Operators.unfit(arguments, .string)
            }
            return try? Value(json: text)
        },
    ]
}
