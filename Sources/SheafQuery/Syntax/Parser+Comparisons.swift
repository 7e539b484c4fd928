import SheafDocument

/// Predicates: comparisons, IN, BETWEEN, LIKE and IS.
extension Parser {
    mutating func comparison(_ left: Expression) throws(StoreError) -> Expression {
        let tallest = height
        if let operation = comparisonOperator {
            try advance()
            let right = try expression(.concatenation)
            let range = left.range.through(right.range)
            try rise(above: max(tallest, height), at: range)
            return Expression(.comparison(operation, left, right), at: range)
        }
        let isNegated = try consumeNext(.not)
        if try consumeNext(.between) { return try between(left, tallest, isNegated: isNegated) }
        try expect(.in)
        let list = token.kind == .leftParenthesis ? try parenthesizedList() : nil
        let source = if let list { list } else { try expression(.concatenation) }
        let range = SourceRange(left.range.lower, previousEnd)
        try rise(above: max(tallest, height), at: range)
        return Expression(.membership(left, of: source, isNegated: isNegated), at: range)
    }

    private var comparisonOperator: ComparisonOperator? {
        switch token.kind {
        case .equal: .equal
        case .notEqual: .notEqual
        case .less: .less
        case .lessOrEqual: .lessOrEqual
        case .greater: .greater
        case .greaterOrEqual: .greaterOrEqual
        default: nil
        }
    }

    private mutating func between(
        _ left: Expression, _ leftHeight: Int, isNegated: Bool
    ) throws(StoreError) -> Expression {
        var tallest = leftHeight
        let low = try expression(.concatenation)
        tallest = max(tallest, height)
        try expect(.and)
        let high = try expression(.concatenation)
        tallest = max(tallest, height)
        let range = left.range.through(high.range)
        try rise(above: tallest, at: range)
        return Expression(.between(left, low: low, high: high, isNegated: isNegated), at: range)
    }

    /// Parses the list `(a, b)` after IN; `(a)` is an array as well.
    private mutating func parenthesizedList() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        try advance()
        let elements = try expressions("elements")
        try expect(.rightParenthesis)
        leave()
        let range = SourceRange(start, previousEnd)
        try rise(above: height, at: range)
        return Expression(.array(elements), at: range)
    }

    mutating func pattern(_ left: Expression) throws(StoreError) -> Expression {
        var tallest = height
        let isNegated = try consumeNext(.not)
        let kind = try patternKind()
        let pattern = try expression(.comparison)
        tallest = max(tallest, height)
        var escape: Expression?
        if try consumeNext(.escape) {
            escape = try expression(.concatenation)
            tallest = max(tallest, height)
        }
        let range = SourceRange(left.range.lower, previousEnd)
        try rise(above: tallest, at: range)
        let node = Pattern(kind, left, pattern, escape: escape, isNegated: isNegated)
        return Expression(.pattern(node), at: range)
    }

    private mutating func patternKind() throws(StoreError) -> Pattern.Kind {
        if try consumeNext(.like) { return .like }
        if try consumeNext(.ilike) { return .caseInsensitiveLike }
        if try consumeNext(.similar) {
            try expect(.to)
            return .similar
        }
        throw unexpected(
            "IN, BETWEEN, LIKE, ILIKE or SIMILAR TO after NOT",
            [.in, .between, .like, .ilike, .similar])
    }

    mutating func test(_ left: Expression) throws(StoreError) -> Expression {
        try advance()
        let isNegated = try consumeNext(.not)
        let test: Test
        switch token.keyword {
        case .null, .unknown: test = .null
        case .missing: test = .missing
        case .true: test = .yes
        case .false: test = .no
        default:
            throw unexpected(
                isNegated
                    ? "NULL, MISSING, UNKNOWN, TRUE or FALSE"
                    : "NULL, MISSING, UNKNOWN, TRUE, FALSE or NOT",
                [.null, .missing, .unknown, .true, .false, .not])
        }
        try advance()
        let range = SourceRange(left.range.lower, previousEnd)
        try rise(above: height, at: range)
        return Expression(.test(test, left, isNegated: isNegated), at: range)
    }
}
