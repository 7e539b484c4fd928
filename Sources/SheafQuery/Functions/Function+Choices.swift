import SheafDocument

/// Functions that select one of their arguments or test for missing and null values.
extension Function {
    package static let choices: [Function] = [
        Function("coalesce", 1...anyNumber) { arguments, _ in known(arguments) },
        Function("ifmissingornull", 1...anyNumber) { arguments, _ in known(arguments) },
        Function("ifmissing", 1...anyNumber) { arguments, _ in
            arguments.first { $0 != nil } ?? nil
        },
        Function("ifnull", 1...anyNumber) { arguments, _ in
            arguments.first { !isNull($0) } ?? .null
        },
        Function("nvl", 2...3) { arguments, _ in
            if arguments.count == 3 { return isKnown(arguments[0]) ? arguments[1] : arguments[2] }
            return isKnown(arguments[0]) ? arguments[0] : arguments[1]
        },
        Function("ismissing", 1) { arguments, _ in .bool(arguments[0] == nil) },
        Function("isnull", 1) { arguments, _ in .bool(isNull(arguments[0])) },
        Function("ismissingornull", 1) { arguments, _ in .bool(!isKnown(arguments[0])) },
        Function("nullif", 2) { arguments, _ in
            Operators.matches(arguments[0], arguments[1]) ? .null : arguments[0]
        },
        Function("missingif", 2) { arguments, _ in
            Operators.matches(arguments[0], arguments[1]) ? nil : arguments[0]
        },
        Function("decode", 3...anyNumber) { arguments, _ in decode(arguments) },
    ]

    private static func isNull(_ value: Value?) -> Bool {
        value?.kind == .null
    }

    /// Whether a value is neither missing nor null.
    private static func isKnown(_ value: Value?) -> Bool {
        value != nil && !isNull(value)
    }

    private static func known(_ arguments: [Value?]) -> Value? {
        arguments.first(where: isKnown) ?? .null
    }

    /// Returns the result after the first candidate equal to the input, or the default.
    ///
    /// Unlike in CASE, null matches null and missing matches missing.
    private static func decode(_ arguments: [Value?]) -> Value? {
        var index = 1
        while index + 1 < arguments.count {
            if arguments[index] == arguments[0] { return arguments[index + 1] }
            index += 2
        }
        return index < arguments.count ? arguments[index] : .null
    }
}
