import Sheaf
import SheafBytes

/// Parsing of operands: literals, arguments, paths and functions.
extension ConditionParser {
    private static let functions = [
        "contains", "ends_with", "keys", "length", "regex", "starts_with", "values",
    ]
    private static let functionsOfOneValue: Set<String> = ["keys", "length", "values"]

    mutating func operand() throws(ConditionError) -> Operand {
        switch token.kind {
        case .text, .number, .sign(.minus): return try literal()
        case .argument: return try argument()
        case .name(let name):
            switch name {
            case "true", "false":
                try advance()
                return .expression(name)
            case "null", "nil":
                try advance()
                return .null
            default: return try named()
            }
        case .sign(.leftParenthesis): return try parenthesized()
        case .sign(.leftBracket):
            if let field = try quotedField() { return .expression(field) }
            return try array()
        default: throw unexpected("a field, a value or a function")
        }
    }

    private mutating func literal() throws(ConditionError) -> Operand {
        let isNegative = try take(.minus)
        switch token.kind {
        case .text(let text) where !isNegative:
            try advance()
            return .expression(text.asLiteral)
        case .number(let digits):
            try advance()
            return .expression(isNegative ? "-\(digits)" : digits)
        default: throw unexpected("a number")
        }
    }

    /// Parses an argument such as `$args.limit`, with an optional path into it.
    private mutating func argument() throws(ConditionError) -> Operand {
        let start = token
        guard start.kind == .argument("args") else {
            throw error("expected $args, found \(start.name)", hint: "write $args.name")
        }
        try advance()
        var names: [String] = []
        while try take(.dot) {
            guard case .name(let name) = token.kind else { throw unexpected("a name") }
            names.append(name)
            try advance()
        }
        guard let first = names.first else { throw unexpected(".name after $args") }
        guard var value = arguments[first] else {
            let known = arguments.keys.sorted().joined(separator: ", ")
            throw error(
                "no argument \(first.shortened)",
                hint: arguments.isEmpty
                    ? "pass it in args"
                    : "known arguments: \(known.shortened(to: ErrorText.limit))",
                at: start)
        }
        for name in names.dropFirst() {
            guard let next = value[name] else {
                throw error(
                    "the argument \(first.shortened) has no field \(name.shortened)", at: start)
            }
            value = next
        }
        if case .null = value { return .null }
        let parameter = parameter(of: names, value)
        if case .array = value { return .list(":\(parameter)") }
        return .expression(":\(parameter)")
    }

    /// Returns the parameter for an argument; its name is generated, since not all names are valid.
    private mutating func parameter(of names: [String], _ value: Value) -> String {
        if let known = parameterNames[names] { return known }
        let name = "arg\(parameterNames.count + 1)"
        parameterNames[names] = name
        parameters[name] = value
        return name
    }

    /// Parses an array literal.
    private mutating func array() throws(ConditionError) -> Operand {
        try enter()
        try expect(.leftBracket)
        var elements: [String] = []
        if token.kind != .sign(.rightBracket) {
            repeat { elements.append(try operand().text) } while try take(.comma)
        }
        try expect(.rightBracket, ", or ]")
        leave()
        return .list("[\(elements.joined(separator: ", "))]")
    }

    // MARK: Paths

    /// Parses a path or a function call, starting at its first name.
    mutating func named() throws(ConditionError) -> Operand {
        let start = token
        guard case .name(let name) = start.kind else { throw unexpected("a name") }
        try advance()
        if token.kind == .sign(.leftParenthesis) { return try call(name, at: start) }
        return .expression(try path(from: name))
    }

    /// Parses a path that starts with `["any key"]`; consumes nothing and returns nil for an array.
    mutating func quotedField() throws(ConditionError) -> String? {
        let before = self
        try expect(.leftBracket)
        guard case .text(let name) = token.kind else {
            self = before
            return nil
        }
        try advance()
        guard try take(.rightBracket) else {
            self = before
            return nil
        }
        return try path(from: name)
    }

    /// Parses the rest of a path: `.name`, `["any key"]` and `[0]`.
    ///
    /// Paths of the query language cannot index arrays, so such paths become a call of `value_at`.
    private mutating func path(from first: String) throws(ConditionError) -> String {
        var text = "\(collection).\(first.inBackticks)"
        var steps: [String] = []
        while true {
            if try take(.dot) {
                guard case .name(let name) = token.kind else { throw unexpected("a name") }
                try advance()
                add(name, to: &text, &steps)
            } else if try take(.leftBracket) {
                switch token.kind {
                case .text(let name): add(name, to: &text, &steps)
                case .number(let digits) where Int(digits) != nil: steps.append(digits)
                default: throw unexpected("an array index, or a key in quotes")
                }
                try advance()
                try expect(.rightBracket)
            } else {
                break
            }
        }
        return steps.isEmpty ? text : "value_at(\(text), \(steps.joined(separator: ", ")))"
    }

    private func add(_ name: String, to text: inout String, _ steps: inout [String]) {
        if steps.isEmpty {
            text += ".\(name.inBackticks)"
        } else {
            steps.append(name.asLiteral)
        }
    }

    // MARK: Functions

    private mutating func call(
        _ name: String, at start: ConditionToken
    ) throws(ConditionError) -> Operand {
        guard Self.functions.contains(name) else {
            throw error(
                "no function \(name.shortened)",
                hint: "known functions: \(Self.functions.joined(separator: ", "))", at: start)
        }
        try enter()
        try expect(.leftParenthesis)
        let first = token.kind == .sign(.leftBracket) ? try array() : try operand()
        if Self.functionsOfOneValue.contains(name) {
            try expect(.rightParenthesis)
            leave()
            return .expression(Self.call(name, of: first.text))
        }
        try expect(.comma, "a comma and the second argument of \(name.shortened)")
        let second = try operand()
        try expect(.rightParenthesis)
        leave()
        switch (name, first) {
        case ("contains", .list): return .expression("(\(second.text) IN \(first.text))")
        case ("contains", _): return .expression("array_contains(\(first.text), \(second.text))")
        case ("regex", _): return .expression("regexp_like(\(first.text), \(second.text))")
        default: return .expression("\(name)(\(first.text), \(second.text))")
        }
    }

    /// Returns the call of a function with one argument.
    ///
    /// `length` counts elements, fields or characters.
    private static func call(_ name: String, of value: String) -> String {
        switch name {
        case "keys": "object_keys(\(value))"
        case "values": "object_values(\(value))"
        default:
            "CASE type(\(value)) WHEN 'array' THEN array_length(\(value)) "
                + "WHEN 'object' THEN object_length(\(value)) "
                + "WHEN 'string' THEN char_length(\(value)) END"
        }
    }
}
