import SheafDocument

/// Reads statements, by recursive descent with one token in hand.
///
/// It goes over the text once: nothing is read again but a token or two that were looked ahead.
package struct Parser {
    var lexer: Lexer
    var token: Token
    /// Where the token before ended.
    var previousEnd = 0
    /// How many expressions lie around the current token.
    var depth = 0
    /// How deep the expression is that was read last; zero if there is none in it.
    var height = 0
    var parameters: [String] = []
    private var parameterSet: Set<String> = []
    /// Where `:$1` and the like stand, in the order of the text.
    private var placeholders: [SourceRange] = []
    /// Where names in backticks stand, in the order of the text.
    private var quotedNames: [SourceRange] = []
    var directives: [Object] = []
    /// The alias without AS that was read last: it may be a keyword that is not spelled well.
    var bareAlias: Token?

    /// The statement that all of `text` is.
    package static func parse(_ text: String) throws(QueryError) -> Statement {
        let parser = { (parser: inout Parser) throws(QueryError) -> Statement in
            let body = try parser.body()
            try parser.end()
            return Statement(
                text: text, body: body, directives: parser.directives,
                parameters: parser.parameters, placeholders: parser.placeholders,
                quotedNames: parser.quotedNames)
        }
        return try read(text, parser)
    }

    /// The expression that all of `text` is.
    package static func parseExpression(_ text: String) throws(QueryError) -> Expression {
        let parser = { (parser: inout Parser) throws(QueryError) -> Expression in
            let expression = try parser.expression()
            try parser.end()
            return expression
        }
        return try read(text, parser)
    }

    private static func read<Tree>(
        _ text: String, _ body: (inout Parser) throws(QueryError) -> Tree
    ) throws(QueryError) -> Tree {
        guard text.utf8.count <= QueryLimits.maximumLength else {
            throw QueryError(
                .limit,
                "the statement has \(text.utf8.count) bytes, and the limit of a statement is "
                    + "\(QueryLimits.maximumLength)")
        }
        var text = text
        let result = text.withUTF8 { bytes -> Result<Tree, QueryError> in
            do throws(QueryError) {
                var parser = try Parser(Lexer(bytes))
                return .success(try body(&parser))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(_ lexer: Lexer) throws(QueryError) {
        var lexer = lexer
        token = try lexer.next()
        self.lexer = lexer
    }

    // MARK: Tokens

    mutating func advance() throws(QueryError) {
        previousEnd = token.upper
        switch token.kind {
        case .placeholder: placeholders.append(token.range)
        case .quotedName: quotedNames.append(token.range)
        default: break
        }
        token = try lexer.next()
    }

    /// The token behind the current one.
    func following() throws(QueryError) -> Token {
        var lexer = lexer
        return try lexer.next()
    }

    /// Goes over a keyword if it is the current token.
    mutating func take(_ keyword: Keyword) throws(QueryError) -> Bool {
        guard token.keyword == keyword else { return false }
        try advance()
        return true
    }

    /// Goes over a sign if it is the current token.
    mutating func take(_ kind: Token.Kind) throws(QueryError) -> Bool {
        guard token.kind == kind else { return false }
        try advance()
        return true
    }

    mutating func expect(_ keyword: Keyword) throws(QueryError) {
        guard try take(keyword) else { throw unexpected(keyword.spelling, [keyword]) }
    }

    mutating func expect(_ kind: Token.Kind) throws(QueryError) {
        guard try take(kind) else { throw unexpected(kind.rawValue) }
    }

    // MARK: Limits

    /// Goes one deeper; whoever calls this calls `leave` as well, unless it throws.
    mutating func enter() throws(QueryError) {
        guard depth < QueryLimits.maximumDepth else { throw tooDeep(token.range) }
        depth += 1
    }

    mutating func leave() {
        depth -= 1
    }

    /// Notes that an expression lies around others, the deepest of which is so deep.
    mutating func rise(above tallest: Int, at range: SourceRange) throws(QueryError) {
        guard tallest < QueryLimits.maximumDepth else { throw tooDeep(range) }
        height = tallest + 1
    }

    private func tooDeep(_ range: SourceRange) -> QueryError {
        failure(
            .limit,
            "expressions lie deeper in one another than the limit of "
                + "\(QueryLimits.maximumDepth)", at: range)
    }

    /// Refuses one more of `what` where there are as many as a list may have.
    func checkTerms(
        _ count: Int, _ what: StaticString, limit: Int = QueryLimits.maximumTerms
    ) throws(QueryError) {
        guard count < limit else {
            throw failure(.limit, "there are more \(what) than the limit of \(limit)")
        }
    }

    /// One or more of something, with commas between them.
    mutating func list<Element>(
        _ what: StaticString, _ element: (inout Parser) throws(QueryError) -> Element
    ) throws(QueryError) -> [Element] {
        var elements: [Element] = []
        repeat {
            try checkTerms(elements.count, what)
            elements.append(try element(&self))
        } while try take(.comma)
        return elements
    }

    mutating func note(parameter name: String) {
        // A few are found faster one by one.
        guard parameters.count > 8 else {
            if !parameters.contains(name) { parameters.append(name) }
            return
        }
        if parameterSet.isEmpty { parameterSet = Set(parameters) }
        if parameterSet.insert(name).inserted { parameters.append(name) }
    }
}
