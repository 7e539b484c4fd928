import SheafDocument

/// Operands: literals, paths, parameters, and expressions with brackets or END.
extension Parser {
    mutating func primary() throws(StoreError) -> Expression {
        switch token.kind {
        case .string: return try literal(.string(try lexer.string(token)))
        case .integer, .hexadecimal, .float:
            return try literal(try lexer.number(token, isNegative: false))
        case .colon, .placeholder: return try parameter()
        case .word: return try word()
        case .quotedName:
            let first = try anyName("a name")
            return try pathExpression(first.text, first.range)
        case .leftParenthesis: return try parenthesized()
        case .leftBracket: return try array()
        case .leftBrace: return try object()
        default: throw unexpected("an expression", hint: operandHint)
        }
    }

    private var operandHint: String? {
        switch token.kind {
        case .star: "* is used alone or after the name of a collection and a dot"
        case .dot: "numbers begin with a digit, and paths with a name"
        default: nil
        }
    }

    private mutating func literal(_ value: Value) throws(StoreError) -> Expression {
        let range = token.range
        try advance()
        height = 0
        return Expression(.literal(value), at: range)
    }

    private mutating func word() throws(StoreError) -> Expression {
        switch token.keyword {
        case nil: break
        case .null: return try literal(.null)
        case .true: return try literal(.bool(true))
        case .false: return try literal(.bool(false))
        case .missing:
            let range = token.range
            try advance()
            height = 0
            return Expression(.missing, at: range)
        case .case: return try conditional()
        case .any, .every: return try quantified()
        case .array, .object: return try comprehension()
        case .select:
            throw unexpected("an expression", hint: "subqueries are not supported")
        case let keyword?:
            guard keyword.reservation != .everywhere else {
                throw unexpected(
                    "an expression",
                    hint: "as a name, write it in backticks: "
                        + "`\(lexer.spelling(token))`")
            }
        }
        let first = token
        try advance()
        if token.kind == .leftParenthesis { return try call(first) }
        return try pathExpression(lexer.spelling(first), first.range)
    }

    private mutating func pathExpression(
        _ first: String, _ range: SourceRange
    ) throws(StoreError) -> Expression {
        let path = try path(from: first, at: range)
        height = 0
        return Expression(.path(path.names), at: path.range)
    }

    private mutating func parenthesized() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        try advance()
        let inner = try expression()
        try expectEnd(.rightParenthesis)
        leave()
        return Expression(inner.node, at: SourceRange(start, previousEnd))
    }

    /// Consumes a closing bracket; the error also suggests operators.
    private mutating func expectEnd(_ kind: Token.Kind) throws(StoreError) {
        guard try take(kind) else {
            throw unexpected(
                kind.rawValue, [.and, .or, .not, .in, .is, .like, .ilike, .between, .similar])
        }
    }

    /// Parses one or more comma-separated expressions; `height` becomes that of the tallest.
    mutating func expressions(_ what: StaticString) throws(StoreError) -> [Expression] {
        var expressions: [Expression] = []
        var tallest = 0
        repeat {
            try checkTerms(expressions.count, what)
            expressions.append(try expression())
            tallest = max(tallest, height)
        } while try take(.comma)
        height = tallest
        return expressions
    }

    // MARK: Arrays and objects

    private mutating func array() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        try advance()
        height = 0
        var elements: [Expression] = []
        if token.kind != .rightBracket { elements = try expressions("elements") }
        try expectEnd(.rightBracket)
        leave()
        let range = SourceRange(start, previousEnd)
        try rise(above: height, at: range)
        return Expression(.array(elements), at: range)
    }

    private mutating func object() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        try advance()
        var fields: [ObjectField] = []
        var tallest = 0
        if token.kind != .rightBrace {
            repeat {
                try checkTerms(fields.count, "fields")
                let name = try fieldName()
                try expect(.colon)
                fields.append(ObjectField(name, try expression()))
                tallest = max(tallest, height)
            } while try take(.comma)
        }
        try expectEnd(.rightBrace)
        leave()
        let range = SourceRange(start, previousEnd)
        try rise(above: tallest, at: range)
        return Expression(.object(fields), at: range)
    }

    private mutating func fieldName() throws(StoreError) -> String {
        guard token.kind == .string else { return try anyName("the name of a field").text }
        let name = try lexer.string(token)
        try advance()
        return name
    }

    // MARK: CASE

    private mutating func conditional() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        try advance()
        var tallest = 0
        var subject: Expression?
        if token.keyword != .when {
            subject = try expression()
            tallest = height
        }
        var branches: [Conditional.Branch] = []
        guard token.keyword == .when else { throw unexpected("WHEN", [.when]) }
        while try consumeNext(.when) {
            try checkTerms(branches.count, "branches")
            let when = try expression()
            tallest = max(tallest, height)
            guard try consumeNext(.then) else { throw unexpected("THEN", [.then, .and, .or]) }
            let then = try expression()
            tallest = max(tallest, height)
            branches.append(Conditional.Branch(when: when, then: then))
        }
        var otherwise: Expression?
        if try consumeNext(.else) {
            otherwise = try expression()
            tallest = max(tallest, height)
        }
        guard try consumeNext(.end) else {
            throw unexpected(
                otherwise == nil ? "WHEN, ELSE or END" : "END", [.when, .else, .end, .and, .or])
        }
        leave()
        let range = SourceRange(start, previousEnd)
        try rise(above: tallest, at: range)
        let node = Conditional(subject: subject, branches: branches, otherwise: otherwise)
        return Expression(.conditional(node), at: range)
    }
}
