/// Text functions and LIKE in both languages.
extension DualExpression {
    /// Returns `left || right`.
    static func joined(_ left: DualExpression, _ right: DualExpression) -> DualExpression {
        let sheaf = "\(left.operand(.concatenation)) || \(right.operand(.sum))"
        let texts = [left.taken(as: .text), right.taken(as: .text)]
        var dual = strict(sheaf, texts, kind: .text, limits: lengths(texts)) {
            "\($0[0]) || \($0[1])"
        }
        dual.strength = .concatenation
        return dual
    }

    private static func lengths(_ texts: [DualExpression]) -> Limits {
        Limits(
            bound: texts.reduce(0) { $0 + $1.limits.bound },
            isASCII: texts.allSatisfy(\.limits.isASCII))
    }

    /// Returns `concat`.
    static func concatenated(_ operands: [DualExpression]) -> DualExpression {
        let texts = operands.map { $0.taken(as: .text) }
        return call("concat", texts, kind: .text, limits: lengths(texts)) {
            $0.joined(separator: " || ")
        }
    }

    /// Returns `lower` or `upper` of an ASCII text.
    static func cased(_ name: String, _ operand: DualExpression) -> DualExpression {
        let text = operand.taken(as: .text)
        return call(name, [text], kind: .text, limits: text.limits) { "\(name)(\($0[0]))" }
    }

    /// Returns `trim`, `ltrim` or `rtrim`, of spaces or given characters.
    static func trimmed(_ name: String, _ operands: [DualExpression]) -> DualExpression {
        let texts = operands.map { $0.taken(as: .text) }
        return call(name, texts, kind: .text, limits: texts[0].limits) {
            "\(name)(\($0.joined(separator: ", ")))"
        }
    }

    /// Returns `TRIM(side characters FROM text)`.
    static func trimmed(_ side: String, _ characters: DualExpression, from text: DualExpression)
        -> DualExpression
    {
        let names = ["LEADING": "ltrim", "TRAILING": "rtrim"]
        var dual = trimmed(names[side] ?? "trim", [text, characters])
        dual.sheaf = "TRIM(\(side) \(characters.sheaf) FROM \(text.sheaf))"
        return dual
    }

    /// Returns `repeat`.
    static func repeated(_ operand: DualExpression, count: Int) -> DualExpression {
        let text = operand.taken(as: .text)
        let limits = Limits(
            bound: text.limits.bound * Double(max(count, 0)), isASCII: text.limits.isASCII)
        return strict("repeat(\(operand.sheaf), \(count))", [text], kind: .text, limits: limits) {
            "replace(hex(zeroblob(\(max(count, 0)))), '00', \($0[0]))"
        }
    }

    /// Returns `char_length` or `byte_length`.
    static func length(_ name: String, _ operand: DualExpression) -> DualExpression {
        let text = operand.taken(as: .text)
        let limits = Limits(isInteger: true, bound: 4 * text.limits.bound, fractionBits: 0)
        return call(name, [text], kind: .number, limits: limits) {
            name == "byte_length" ? "length(CAST(\($0[0]) AS BLOB))" : "length(\($0[0]))"
        }
    }

    /// Returns `substr`; `start` counts from zero, or from the end if negative.
    static func part(of operand: DualExpression, from start: Int, length: Int?) -> DualExpression {
        let text = operand.taken(as: .text)
        let name = "substr(\(operand.sheaf), \(start)" + (length.map { ", \($0)" } ?? "") + ")"
        return strict(name, [text], kind: .text, limits: text.limits) { values in
            let value = values[0]
            let position = start < 0 ? "max(length(\(value)) - \(-start), 0) + 1" : "\(start + 1)"
            return "substr(\(value), \(position)" + (length.map { ", \($0)" } ?? "") + ")"
        }
    }

    /// Returns `pos` or `position`, which count from zero.
    static func position(of part: DualExpression, in text: DualExpression, isSpelled: Bool)
        -> DualExpression
    {
        let bound = text.limits.bound
        let limits = Limits(isInteger: true, bound: bound, fractionBits: 0)
        let sheaf =
            isSpelled
            ? "position(\(part.sheaf) IN \(text.sheaf))" : "pos(\(text.sheaf), \(part.sheaf))"
        return strict(sheaf, texts(text, part), kind: .number, limits: limits) {
            "instr(\($0[0]), \($0[1])) - 1"
        }
    }

    private static func texts(_ operands: DualExpression...) -> [DualExpression] {
        operands.map { $0.taken(as: .text) }
    }

    /// Returns `replace`.
    static func replaced(_ text: DualExpression, _ old: DualExpression, _ new: DualExpression)
        -> DualExpression
    {
        let operands = texts(text, old, new)
        // Each character may be replaced.
        let limits = Limits(
            bound: operands[0].limits.bound * max(operands[2].limits.bound, 1),
            isASCII: operands.allSatisfy(\.limits.isASCII))
        return call("replace", operands, kind: .text, limits: limits) {
            // SQLite ignores a null replacement if there is nothing to replace.
            "CASE WHEN \($0[2]) IS NOT NULL THEN replace(\($0[0]), \($0[1]), \($0[2])) END"
        }
    }

    /// Returns `contains`, `starts_with` or `ends_with`.
    static func search(_ name: String, _ text: DualExpression, _ part: DualExpression)
        -> DualExpression
    {
        call(name, texts(text, part), kind: .boolean) { values in
            let (text, part) = (values[0], values[1])
            return switch name {
            case "contains": "instr(\(text), \(part)) > 0"
            case "starts_with": "substr(\(text), 1, length(\(part))) = \(part)"
            default:
                "length(\(part)) <= length(\(text)) AND "
                    + "substr(\(text), length(\(text)) - length(\(part)) + 1) = \(part)"
            }
        }
    }

    /// Returns LIKE, or ILIKE for ASCII texts.
    static func like(
        _ subject: DualExpression, _ pattern: DualExpression, escape: DualExpression?,
        ignoresCase: Bool, isNegated: Bool
    ) -> DualExpression {
        let word = (isNegated ? "NOT " : "") + (ignoresCase ? "ILIKE" : "LIKE")
        let sheaf =
            "\(subject.operand(.concatenation)) \(word) \(pattern.operand(.concatenation))"
            + (escape.map { " ESCAPE \($0.sheaf)" } ?? "")
        var dual = strict(sheaf, texts(subject, pattern), kind: .boolean, limits: Limits()) {
            let sides = ignoresCase ? $0.map { "lower(\($0))" } : $0
            let end = escape.map { " ESCAPE \($0.value)" } ?? ""
            return "\(sides[0]) \(isNegated ? "NOT LIKE" : "LIKE") \(sides[1])\(end)"
        }
        dual.strength = .pattern
        return dual
    }
}
