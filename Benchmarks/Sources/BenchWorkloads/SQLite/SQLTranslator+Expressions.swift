import SheafDocument
import SheafQuery

/// Expressions in the syntax of SQLite.
extension SQLTranslator {
    func list(_ expressions: [Expression]) throws(Untranslatable) -> String {
        var texts: [String] = []
        for expression in expressions { texts.append(try self.expression(expression)) }
        return texts.joined(separator: ", ")
    }

    func expression(_ expression: Expression) throws(Untranslatable) -> String {
        switch expression.node {
        case .literal(let value):
            guard let text = Self.scalar(value) else {
                throw Untranslatable("\(value.json) is not a scalar")
            }
            return text
        case .missing: throw Untranslatable("MISSING has no counterpart")
        case .parameter(let name): return ":\(name)"
        case .path(let path): return try field(path)
        case .array, .object: throw Untranslatable("arrays and objects are not compared")
        case .negate(let operand): return "(-\(try self.expression(operand)))"
        case .not(let operand): return "(NOT \(try self.expression(operand)))"
        case .arithmetic(let first, let steps):
            var text = try self.expression(first)
            for step in steps {
                text = "(\(text) \(step.operation.rawValue) \(try self.expression(step.operand)))"
            }
            return text
        case .and(let terms): return try joined(terms, " AND ")
        case .or(let terms): return try joined(terms, " OR ")
        case .xor: throw Untranslatable("XOR has no counterpart")
        case .comparison(let operation, let left, let right):
            return "(\(try self.expression(left)) \(operation.rawValue) "
                + "\(try self.expression(right)))"
        case .between(let operand, let low, let high, let isNegated):
            return "(\(try self.expression(operand)) \(isNegated ? "NOT " : "")BETWEEN "
                + "\(try self.expression(low)) AND \(try self.expression(high)))"
        case .membership(let element, let elements, let isNegated):
            return "(\(try self.expression(element)) \(isNegated ? "NOT " : "")IN "
                + "\(try members(elements)))"
        case .pattern(let pattern): return try self.pattern(pattern)
        case .test(let test, let operand, let isNegated):
            return try self.test(test, operand, isNegated: isNegated)
        case .conditional(let conditional): return try self.conditional(conditional)
        case .call(let call): return try self.call(call)
        case .cast(let operand, let type):
            let names: [CastType: String] = [
                .string: "TEXT", .integer: "INTEGER", .float: "REAL",
            ]
            guard let name = names[type] else {
                throw Untranslatable("a cast to \(type.rawValue) has no counterpart")
            }
            return "CAST(\(try self.expression(operand)) AS \(name))"
        case .quantified: throw Untranslatable("ANY and EVERY have no counterpart")
        case .comprehension: throw Untranslatable("ARRAY and OBJECT have no counterpart")
        }
    }

    /// Returns a scalar as a literal; nil for other values.
    private static func scalar(_ value: Value) -> String? {
        switch value {
        case .null: "NULL"
        case .bool(let flag): flag ? "1" : "0"
        case .integer(let number): number < 0 ? "(\(number))" : "\(number)"
        case .float(let number): number < 0 ? "(\(number))" : "\(number)"
        case .string(let text): literal(text)
        case .bytes, .array, .object: nil
        }
    }

    static func literal(_ value: Value) -> String { scalar(value) ?? literal(value.json) }

    private func joined(
        _ terms: [Expression], _ separator: String
    ) throws(Untranslatable) -> String {
        var texts: [String] = []
        for term in terms { texts.append(try expression(term)) }
        return "(" + texts.joined(separator: separator) + ")"
    }

    private func field(_ path: [String]) throws(Untranslatable) -> String {
        guard path.allSatisfy({ !$0.contains("\"") }) else {
            throw Untranslatable("a field has a quotation mark in its name")
        }
        if path.count > 1, let alias = aliases[path[0]] {
            return Self.field(Array(path.dropFirst()), of: aliases.count > 1 ? alias : nil)
        }
        guard aliases.count < 2 else {
            throw Untranslatable("\(path.joined(separator: ".")) does not name its collection")
        }
        guard path.count == 1 || path[0] != "_id" else {
            throw Untranslatable("parts of an _id have no counterpart")
        }
        return Self.field(path, of: nil)
    }

    /// Returns the right side of IN, in parentheses.
    func members(_ expression: Expression) throws(Untranslatable) -> String {
        switch expression.node {
        case .array(let elements): return "(\(try list(elements)))"
        case .literal(.array(let elements)):
            return "(" + elements.map(Self.literal).joined(separator: ", ") + ")"
        case .parameter(let name) where kinds[name] == .array:
            return "(SELECT value FROM json_each(:\(name)))"
        default: throw Untranslatable("IN over a computed array has no counterpart")
        }
    }

    private func pattern(_ pattern: Pattern) throws(Untranslatable) -> String {
        var sides = [try expression(pattern.subject), try expression(pattern.pattern)]
        switch pattern.kind {
        case .like: break
        case .caseInsensitiveLike: sides = sides.map { "lower(\($0))" }
        case .similar: throw Untranslatable("SIMILAR TO has no counterpart")
        }
        var escape = ""
        if let character = pattern.escape { escape = " ESCAPE \(try expression(character))" }
        return "(\(sides[0]) \(pattern.isNegated ? "NOT " : "")LIKE \(sides[1])\(escape))"
    }

    private func test(
        _ test: Test, _ operand: Expression, isNegated: Bool
    ) throws(Untranslatable) -> String {
        guard case .path(let path) = operand.node else {
            throw Untranslatable("IS \(test.rawValue) of an expression has no counterpart")
        }
        let field = try field(path)
        guard field.hasPrefix("json_extract") else {
            throw Untranslatable("IS \(test.rawValue) of an _id has no counterpart")
        }
        let type = field.replacing("json_extract", with: "json_type", maxReplacements: 1)
        let text =
            switch test {
            case .null: "(\(type) IS 'null')"
            case .missing: "(\(type) IS NULL)"
            case .yes: "(\(type) IS 'true')"
            case .no: "(\(type) IS 'false')"
            }
        return isNegated ? "(NOT \(text))" : text
    }

    private func conditional(_ conditional: Conditional) throws(Untranslatable) -> String {
        var text = "CASE"
        if let subject = conditional.subject { text += " \(try expression(subject))" }
        for branch in conditional.branches {
            text += " WHEN \(try expression(branch.when)) THEN \(try expression(branch.then))"
        }
        if let otherwise = conditional.otherwise { text += " ELSE \(try expression(otherwise))" }
        return text + " END"
    }

    /// Functions with the same name and arguments in SQLite.
    private static let sameFunctions: Set<String> = [
        "abs", "round", "sign", "sqrt", "lower", "upper", "coalesce", "nullif", "ltrim", "rtrim",
        "trim", "replace", "sum", "avg", "count",
    ]

    private func call(_ call: Call) throws(Untranslatable) -> String {
        if call.isStar { return "count(*)" }
        var texts: [String] = []
        for argument in call.arguments { texts.append(try expression(argument)) }
        let distinct = call.isDistinct ? "DISTINCT " : ""
        switch (call.name, texts.count) {
        case _ where Self.sameFunctions.contains(call.name):
            return "\(call.name)(\(distinct)\(texts.joined(separator: ", ")))"
        // With several arguments these are other functions of SQLite.
        case ("min", 1), ("max", 1): return "\(call.name)(\(texts[0]))"
        case ("char_length", 1), ("character_length", 1): return "length(\(texts[0]))"
        case ("byte_length", 1): return "length(CAST(\(texts[0]) AS BLOB))"
        case ("concat", 1...): return "(\(texts.joined(separator: " || ")))"
        case ("contains", 2): return "(instr(\(texts[0]), \(texts[1])) > 0)"
        case ("starts_with", 2):
            return "(substr(\(texts[0]), 1, length(\(texts[1]))) = \(texts[1]))"
        case ("substr", 2...3):
            texts[1] = "\(texts[1]) + 1"
            return "substr(\(texts.joined(separator: ", ")))"
        case ("pos", 2): return "(instr(\(texts[0]), \(texts[1])) - 1)"
        case ("array_length", 1):
            guard texts[0].hasPrefix("json_extract(") else { break }
            return texts[0].replacing(
                "json_extract(", with: "json_array_length(", maxReplacements: 1)
        default: break
        }
        throw Untranslatable("the function \(call.name) has no counterpart")
    }
}
