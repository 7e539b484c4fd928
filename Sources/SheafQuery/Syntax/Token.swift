/// A word, a literal or a sign of a statement: what it is, and where it stands.
struct Token: Sendable {
    enum Kind: String, Sendable {
        case endOfStatement = "the end of the statement"
        case word = "a word"
        /// Between backticks.
        case quotedName = "a name"
        case string = "a string"
        case integer = "an integer"
        case hexadecimal = "a hexadecimal integer"
        case float = "a number"
        /// `:$1`, which stands for a value that a program put into its text.
        case placeholder = "an interpolated value"
        /// `--+ {..}` up to the end of the line, or `/*+ {..} */`.
        case directive = "a directive"
        case leftParenthesis = "("
        case rightParenthesis = ")"
        case leftBracket = "["
        case rightBracket = "]"
        case leftBrace = "{"
        case rightBrace = "}"
        case comma = ","
        case dot = "."
        case colon = ":"
        case semicolon = ";"
        case star = "*"
        case slash = "/"
        case percent = "%"
        case plus = "+"
        case minus = "-"
        case bars = "||"
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case arrow = "->"
        case shiftLeft = "<<"
        case shiftRight = ">>"
    }

    let kind: Kind
    /// Which keyword a word is.
    let keyword: Keyword?
    /// Whether a string or a quoted name has to be decoded.
    let hasEscapes: Bool
    let lower: Int
    let upper: Int

    init(
        _ kind: Kind, _ lower: Int, _ upper: Int, keyword: Keyword? = nil, hasEscapes: Bool = false
    ) {
        self.kind = kind
        self.keyword = keyword
        self.hasEscapes = hasEscapes
        self.lower = lower
        self.upper = upper
    }

    var range: SourceRange { SourceRange(lower, upper) }
}
