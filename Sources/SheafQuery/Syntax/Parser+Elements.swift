import SheafDocument

/// Quantifiers and comprehensions: ANY, EVERY, ARRAY and OBJECT.
extension Parser {
    mutating func quantified() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        var kind = token.keyword == .every ? Quantified.Kind.every : .any
        try advance()
        if kind == .any, try consumeNext(.and) {
            try expect(.every)
            kind = .anyAndEvery
        }
        let bindings = try bindings()
        let tallest = height
        guard try consumeNext(.satisfies) else {
            throw unexpected("a comma or SATISFIES", [.satisfies, .and, .or])
        }
        let condition = try expression()
        guard try consumeNext(.end) else { throw unexpected("END", [.end, .and, .or]) }
        leave()
        let range = SourceRange(start, previousEnd)
        try rise(above: max(tallest, height), at: range)
        return Expression(
            .quantified(Quantified(kind, bindings, satisfies: condition)), at: range)
    }

    mutating func comprehension() throws(StoreError) -> Expression {
        let start = token.lower
        try enter()
        let isObject = token.keyword == .object
        try advance()
        var tallest = 0
        var key: Expression?
        if isObject {
            key = try expression()
            tallest = height
            try expect(.colon)
        }
        let element = try expression()
        tallest = max(tallest, height)
        guard try consumeNext(.for) else { throw unexpected("FOR", [.for]) }
        let bindings = try bindings()
        tallest = max(tallest, height)
        var condition: Expression?
        if try consumeNext(.when) {
            condition = try expression()
            tallest = max(tallest, height)
        }
        guard try consumeNext(.end) else {
            throw unexpected(
                condition == nil ? "a comma, WHEN or END" : "END", [.when, .end, .and, .or])
        }
        leave()
        let range = SourceRange(start, previousEnd)
        try rise(above: tallest, at: range)
        let node = Comprehension(key: key, element: element, bindings: bindings, when: condition)
        return Expression(.comprehension(node), at: range)
    }

    /// Parses `v IN a, w WITHIN b`.
    private mutating func bindings() throws(StoreError) -> [Binding] {
        var bindings: [Binding] = []
        var tallest = 0
        repeat {
            try checkTerms(bindings.count, "variables")
            let variable = try name("a variable").text
            let isDeep = token.keyword == .within
            guard isDeep || token.keyword == .in else {
                throw unexpected("IN or WITHIN", [.in, .within])
            }
            try advance()
            let source = try expression()
            tallest = max(tallest, height)
            bindings.append(Binding(variable, in: source, isDeep: isDeep))
        } while try take(.comma)
        height = tallest
        return bindings
    }
}
