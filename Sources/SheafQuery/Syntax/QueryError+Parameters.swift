extension QueryError {
    /// Returns the error located at the first use of a parameter; unchanged if there is none.
    package func located(atParameter name: String, in statement: String) -> QueryError {
        var copy = statement
        let range = copy.withUTF8 { Self.range(ofParameter: name, in: Lexer($0)) }
        return range.map { located(at: $0, in: statement) } ?? self
    }

    private static func range(ofParameter name: String, in lexer: Lexer) -> SourceRange? {
        var lexer = lexer
        var colon: Token?
        while let token = try? lexer.next(), token.kind != .endOfStatement {
            if let colon, token.kind == .word, token.lower == colon.upper,
                lexer.spelling(token) == name
            {
                return colon.range.through(token.range)
            }
            colon = token.kind == .colon ? token : nil
        }
        return nil
    }
}
