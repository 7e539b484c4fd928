import SheafDocument

/// Function calls, including those with keywords between the arguments.
extension Parser {
    /// Parses a call whose name was already read; the current token is the parenthesis.
    mutating func call(_ name: Token) throws(StoreError) -> Expression {
        try enter()
        try advance()
        height = 0
        let node: Expression.Node =
            switch name.keyword {
            case .cast: try cast()
            case .trim: .call(try trim())
            case .position: .call(try position())
            default: .call(try call(named: lexer.lowercased(name)))
            }
        guard try take(.rightParenthesis) else {
            throw unexpected(
                "a comma or )", [.and, .or, .not, .in, .is, .like, .ilike, .between, .similar])
        }
        leave()
        let range = SourceRange(name.lower, previousEnd)
        try rise(above: height, at: range)
        return Expression(node, at: range)
    }

    private mutating func call(named name: String) throws(StoreError) -> Call {
        if token.kind == .star {
            guard name == "count" else {
                throw unexpected("an expression", hint: "only COUNT takes a *")
            }
            try advance()
            return Call(name, [], isStar: true)
        }
        guard token.kind != .rightParenthesis else { return Call(name, []) }
        let isDistinct = try consumeNext(.distinct)
        return Call(name, try expressions("arguments"), isDistinct: isDistinct)
    }

    private mutating func cast() throws(StoreError) -> Expression.Node {
        let value = try expression()
        guard try consumeNext(.as) else { throw unexpected("AS and a type", [.as]) }
        guard token.kind == .word, let type = CastType(rawValue: lexer.lowercased(token)) else {
            throw unexpected("string, integer, float, boolean or binary")
        }
        try advance()
        return .cast(value, type)
    }

    /// Parses `TRIM(x)`, `TRIM(s, x)` or `TRIM([BOTH | LEADING | TRAILING] [x] FROM s)`.
    private mutating func trim() throws(StoreError) -> Call {
        var name = "trim"
        var hasSide = false
        switch token.keyword {
        case .both, .leading, .trailing:
            // BOTH, LEADING and TRAILING may also be field names.
            hasSide = Self.beginsOperand(try following())
            if hasSide {
                name =
                    token.keyword == .both ? "trim" : token.keyword == .leading ? "ltrim" : "rtrim"
                try advance()
            }
        default: break
        }
        if try consumeNext(.from) { return Call(name, [try expression()]) }
        let arguments = try expressions("arguments")
        let tallest = height
        guard arguments.count == 1, try consumeNext(.from) else {
            guard !hasSide else { throw unexpected("FROM", [.from]) }
            return Call(name, arguments)
        }
        let text = try expression()
        height = max(height, tallest)
        return Call(name, [text] + arguments)
    }

    /// Whether a token begins an operand and cannot continue one.
    private static func beginsOperand(_ token: Token) -> Bool {
        switch token.kind {
        case .string, .integer, .hexadecimal, .float, .quotedName, .colon, .placeholder,
            .leftParenthesis,
            .leftBracket, .leftBrace:
            true
        case .word:
            switch token.keyword {
            case .is, .in, .not, .like, .ilike, .similar, .between, .and, .or: false
            default: true
            }
        default: false
        }
    }

    private mutating func position() throws(StoreError) -> Call {
        // IN ends the part, so operators that bind no tighter need parentheses.
        let part = try expression(.concatenation)
        let partHeight = height
        guard try consumeNext(.in) else {
            throw unexpected(
                "IN", [.in], hint: "write position(part IN text) or pos(text, part)")
        }
        let text = try expression()
        height = max(height, partHeight)
        return Call("pos", [text, part])
    }
}
