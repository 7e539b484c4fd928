/// The opening delimiter of an unfinished string, name, comment or bracket.
package enum OpenDelimiter: String, Sendable {
    case apostrophe = "'"
    case quote = "\""
    case backtick = "`"
    case comment = "/*"
    case parenthesis = "("
    case bracket = "["
    case brace = "{"
}

/// A text divided into statements at its semicolons.
package struct StatementSplitter: Equatable, Sendable {
    /// A statement of the text.
    package struct Piece: Equatable, Sendable {
        /// The statement, with its semicolon and without the space around it.
        package let text: String
        /// The number of line feeds before the statement.
        package let precedingLines: Int
    }

    /// The statements that end with a semicolon.
    package private(set) var statements: [Piece] = []
    /// The text after the last semicolon.
    package private(set) var rest = Piece(text: "", precedingLines: 0)
    /// Whether the rest consists of spaces and complete comments.
    package private(set) var isRestEmpty = true
    /// The innermost delimiter that is still open at the end of the text, or nil.
    package private(set) var openDelimiter: OpenDelimiter?

    private var brackets: [OpenDelimiter] = []
    /// The start of the first token of the current statement.
    private var start: Int?
    /// The end of the previous statement.
    private var end = 0

    /// Divides a text; invalid tokens belong to the statement around them.
    package init(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var lexer = Lexer(bytes, locatesErrors: false)
            while read(&lexer) {}
            isRestEmpty = start == nil
            openDelimiter = lexer.openDelimiter ?? brackets.last
            rest = Self.piece(bytes, start ?? end, bytes.count)
        }
    }

    /// Reads a token; returns false at the end of the text.
    private mutating func read(_ lexer: inout Lexer) -> Bool {
        let before = lexer.offset
        guard let token = try? lexer.next() else {
            // The lexer does not advance past some invalid characters.
            lexer.offset = max(lexer.offset, before + 1)
            start = start ?? before
            return true
        }
        guard token.kind != .endOfStatement else { return false }
        switch token.kind {
        case .semicolon:
            if let start {
                statements.append(Self.piece(lexer.text, start, token.upper))
            }
            (start, end, brackets) = (nil, token.upper, [])
            return true
        case .leftParenthesis: brackets.append(.parenthesis)
        case .leftBracket: brackets.append(.bracket)
        case .leftBrace: brackets.append(.brace)
        case .rightParenthesis, .rightBracket, .rightBrace: _ = brackets.popLast()
        default: break
        }
        start = start ?? token.lower
        return true
    }

    private static func piece(
        _ bytes: UnsafeBufferPointer<UInt8>, _ lower: Int, _ upper: Int
    ) -> Piece {
        var (lower, upper) = (lower, upper)
        while lower < upper, isSpace(bytes[lower]) { lower += 1 }
        while upper > lower, isSpace(bytes[upper - 1]) { upper -= 1 }
        let text = String(decoding: bytes[lower..<upper], as: UTF8.self)
        return Piece(text: text, precedingLines: bytes[..<lower].count { $0 == 0x0A })
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
