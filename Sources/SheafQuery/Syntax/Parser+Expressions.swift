import SheafDocument

/// Binding strength of operators, loosest first.
enum Precedence: Int, Sendable {
    case or, xor, and, not, test, pattern, comparison, concatenation, shift, sum, product, unary

    /// The next tighter precedence.
    var tighter: Precedence { Precedence(rawValue: rawValue + 1) ?? .unary }
}

/// Expressions, parsed by operator precedence.
extension Parser {
    /// Parses an expression whose operators bind at least as tightly as `minimum`.
    ///
    /// The variable `ceiling` is the precedence of the last operator. A right operand contains all
    /// tighter operators; where it cannot, as in the list of IN, a tighter operator ends the
    /// expression.
    mutating func expression(_ minimum: Precedence = .or) throws(StoreError) -> Expression {
        var left: Expression
        var ceiling = Precedence.unary
        if token.keyword == .not {
            guard minimum.rawValue <= Precedence.not.rawValue else {
                throw unexpected("an expression", hint: "put NOT .. in parentheses")
            }
            left = try negation()
            ceiling = .not
        } else {
            left = try operand()
        }
        while let precedence = try infix(), precedence.rawValue >= minimum.rawValue {
            if precedence.rawValue >= ceiling.rawValue {
                guard precedence == ceiling else { break }
                throw failure(
                    .syntax, "\(found(token)) cannot follow another comparison",
                    hint: "put one of the two in parentheses")
            }
            ceiling = precedence
            switch precedence {
            case .or, .xor, .and: left = try connective(left, precedence)
            case .test: left = try test(left)
            case .pattern: left = try pattern(left)
            case .comparison: left = try comparison(left)
            case .concatenation, .shift, .sum, .product: left = try arithmetic(left, precedence)
            case .not, .unary: return left
            }
        }
        return left
    }

    /// Returns the precedence of the operator at the current token; nil if there is none.
    private func infix() throws(StoreError) -> Precedence? {
        switch token.kind {
        case .star, .slash, .percent: return .product
        case .plus, .minus: return .sum
        case .shiftLeft, .shiftRight: return .shift
        case .bars: return .concatenation
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: return .comparison
        case .word: break
        default: return nil
        }
        switch token.keyword {
        case .or: return .or
        case .xor: return .xor
        case .and: return .and
        case .is: return .test
        case .like, .ilike, .similar: return .pattern
        case .in, .between: return .comparison
        case .not:
            switch try following().keyword {
            case .in, .between: return .comparison
            default: return .pattern
            }
        default: return nil
        }
    }

    // MARK: Operands

    private mutating func negation() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        try advance()
        let operand = try expression(.not)
        leave()
        let range = SourceRange(start, operand.range.upper)
        try rise(above: height, at: range)
        return Expression(.not(operand), at: range)
    }

    /// Parses an operand with its sign.
    private mutating func operand() throws(StoreError) -> Expression {
        let isNegated = try isNegation()
        guard token.kind == .minus || isNegated else { return try primary() }
        let start = token.lower
        try enter()
        try advance()
        let result: Expression
        switch token.kind {
        case .integer, .hexadecimal, .float:
            let value = try lexer.number(token, isNegative: true)
            try advance()
            height = 0
            result = Expression(.literal(value), at: SourceRange(start, previousEnd))
        default:
            let operand = try operand()
            let range = SourceRange(start, operand.range.upper)
            try rise(above: height, at: range)
            result = Expression(.negate(operand), at: range)
        }
        leave()
        return result
    }

    /// Whether the current token is the operator NEG rather than a field of that name.
    private func isNegation() throws(StoreError) -> Bool {
        guard token.keyword == .neg else { return false }
        let next = try following()
        switch next.kind {
        case .integer, .hexadecimal, .float, .string, .colon, .placeholder, .quotedName,
            .leftParenthesis, .leftBracket, .leftBrace:
            return true
        case .word:
            switch next.keyword {
            case .null, .true, .false, .missing, .case, .any, .every, .array, .object: return true
            case let keyword?: return keyword.reservation == .nowhere && !keyword.endsOperand
            case nil: return true
            }
        default: return false
        }
    }

    // MARK: Chains

    private mutating func connective(
        _ left: Expression, _ precedence: Precedence
    ) throws(StoreError) -> Expression {
        let keyword: Keyword =
            switch precedence {
            case .or: .or
            case .xor: .xor
            default: .and
            }
        var terms = [left]
        var tallest = height
        while try consumeNext(keyword) {
            try checkTerms(terms.count, "terms")
            let term = try expression(precedence.tighter)
            tallest = max(tallest, height)
            terms.append(term)
        }
        let range = SourceRange(left.range.lower, previousEnd)
        try rise(above: tallest, at: range)
        switch precedence {
        case .or: return Expression(.or(terms), at: range)
        case .xor: return Expression(.xor(terms), at: range)
        default: return Expression(.and(terms), at: range)
        }
    }

    private mutating func arithmetic(
        _ left: Expression, _ precedence: Precedence
    ) throws(StoreError) -> Expression {
        var steps: [ArithmeticStep] = []
        var tallest = height
        while let operation = arithmeticOperator(precedence) {
            try checkTerms(steps.count + 1, "terms")
            try advance()
            let operand = try expression(precedence.tighter)
            tallest = max(tallest, height)
            steps.append(ArithmeticStep(operation, operand))
        }
        let range = SourceRange(left.range.lower, previousEnd)
        try rise(above: tallest, at: range)
        return Expression(.arithmetic(left, steps), at: range)
    }

    private func arithmeticOperator(_ precedence: Precedence) -> ArithmeticOperator? {
        switch (precedence, token.kind) {
        case (.product, .star): .multiply
        case (.product, .slash): .divide
        case (.product, .percent): .remainder
        case (.sum, .plus): .add
        case (.sum, .minus): .subtract
        case (.concatenation, .bars): .concatenate
        case (.shift, .shiftLeft): .shiftLeft
        case (.shift, .shiftRight): .shiftRight
        default: nil
        }
    }
}

extension Keyword {
    /// Whether the keyword may follow an expression, which makes the word before it a field.
    fileprivate var endsOperand: Bool {
        switch self {
        case .asc, .desc, .escape: true
        default: false
        }
    }
}
