package import SheafDocument

/// A recursive-descent parser with one current token.
///
/// It reads the text once, except for lookahead.
package struct Parser {
    var lexer: Lexer
    var token: Token
    /// End of the previous token.
    var previousEnd = 0
    /// Number of expressions that enclose the current token.
    var depth = 0
    /// Height of the last parsed expression; zero for a leaf.
    var height = 0
    var parameters: [String] = []
    private var parameterSet: Set<String> = []
    /// Positions of placeholders such as `:$1`, in order of appearance.
    private var placeholders: [SourceRange] = []
    /// Positions of names in backticks, in order of appearance.
    private var quotedNames: [SourceRange] = []
    var directives: [Object] = []
    /// The last alias without AS, which may be a misspelled keyword.
    var bareAlias: Token?

    /// Parses `text` as one statement.
    package static func parse(_ text: String) throws(StoreError) -> Statement {
        let parser = { (parser: inout Parser) throws(StoreError) -> Statement in
            let body = try parser.body()
            try parser.end()
            return Statement(
                text: text, body: body, directives: parser.directives,
                parameters: parser.parameters, placeholders: parser.placeholders,
                quotedNames: parser.quotedNames)
        }
        return try read(text, parser)
    }

    /// Parses `text` as one expression.
    package static func parseExpression(_ text: String) throws(StoreError) -> Expression {
        let parser = { (parser: inout Parser) throws(StoreError) -> Expression in
            let expression = try parser.expression()
            try parser.end()
            return expression
        }
        return try read(text, parser)
    }

    private static func read<Tree>(
        _ text: String, _ body: (inout Parser) throws(StoreError) -> Tree
    ) throws(StoreError) -> Tree {
        guard text.utf8.count <= QueryLimits.maximumLength else {
            throw StoreError(
                .limit,
                "the statement has \(text.utf8.count) bytes; the limit is "
                    + "\(QueryLimits.maximumLength)")
        }
        var text = text
        let result = text.withUTF8 { bytes -> Result<Tree, StoreError> in
            do throws(StoreError) {
                var parser = try Parser(Lexer(bytes))
                return .success(try body(&parser))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(_ lexer: Lexer) throws(StoreError) {
        var lexer = lexer
        token = try lexer.next()
        self.lexer = lexer
    }

    // MARK: Tokens

    mutating func advance() throws(StoreError) {
        previousEnd = token.upper
        switch token.kind {
        case .placeholder: placeholders.append(token.range)
        case .quotedName: quotedNames.append(token.range)
        default: break
        }
        token = try lexer.next()
    }

    /// Returns the token after the current one.
    func following() throws(StoreError) -> Token {
        var lexer = lexer
        return try lexer.next()
    }

    /// Consumes the current token if it is `keyword`; returns whether it was.
    mutating func consumeNext(_ keyword: Keyword) throws(StoreError) -> Bool {
        guard token.keyword == keyword else { return false }
        try advance()
        return true
    }

    /// Consumes the current token if it is of `kind`; returns whether it was.
    mutating func take(_ kind: Token.Kind) throws(StoreError) -> Bool {
        guard token.kind == kind else { return false }
        try advance()
        return true
    }

    mutating func expect(_ keyword: Keyword) throws(StoreError) {
        guard try consumeNext(keyword) else { throw unexpected(keyword.spelling, [keyword]) }
    }

    mutating func expect(_ kind: Token.Kind) throws(StoreError) {
        guard try take(kind) else { throw unexpected(kind.rawValue) }
    }

    // MARK: Limits

    /// Increments the depth; the caller balances this with `leave` unless it throws.
    mutating func enter() throws(StoreError) {
        guard depth < QueryLimits.maximumDepth else { throw tooDeep(token.range) }
        depth += 1
    }

    mutating func leave() {
        depth -= 1
    }

    /// Sets the height of an expression whose tallest child has the height `tallest`.
    mutating func rise(above tallest: Int, at range: SourceRange) throws(StoreError) {
        guard tallest < QueryLimits.maximumDepth else { throw tooDeep(range) }
        height = tallest + 1
    }

    private func tooDeep(_ range: SourceRange) -> StoreError {
        failure(
            .limit,
            "expressions are nested deeper than the limit of "
                + "\(QueryLimits.maximumDepth)", at: range)
    }

    /// Throws if a list with `count` elements has reached its limit.
    func checkTerms(
        _ count: Int, _ what: StaticString, limit: Int = QueryLimits.maximumTerms
    ) throws(StoreError) {
        guard count < limit else {
            throw failure(.limit, "there are more \(what) than the limit of \(limit)")
        }
    }

    /// Parses one or more comma-separated elements.
    mutating func list<Element>(
        _ what: StaticString, _ element: (inout Parser) throws(StoreError) -> Element
    ) throws(StoreError) -> [Element] {
        var elements: [Element] = []
        repeat {
            try checkTerms(elements.count, what)
            elements.append(try element(&self))
        } while try take(.comma)
        return elements
    }

    mutating func recordParameter(parameter name: String) {
        // For a few names, a linear search is faster than hashing.
        guard parameters.count > 8 else {
            if !parameters.contains(name) { parameters.append(name) }
            return
        }
        if parameterSet.isEmpty { parameterSet = Set(parameters) }
        if parameterSet.insert(name).inserted { parameters.append(name) }
    }
}
