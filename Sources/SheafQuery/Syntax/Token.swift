/// A token with its position in the statement.
struct Token: Sendable {
    enum Kind: String, Sendable {
        case endOfStatement = "the end of the statement"
        case word = "a word"
        /// A name in backticks.
        case quotedName = "a name"
        case string = "a string"
        case integer = "an integer"
        case hexadecimal = "a hexadecimal integer"
        case float = "a number"
        /// A placeholder such as `:$1`, which string interpolation inserted for a value.
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
    /// The keyword that the token is; nil for other tokens.
    let keyword: Keyword?
    /// Whether a string or quoted name contains escapes to decode.
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
