import SheafDocument

/// A lexer that splits a statement into tokens on demand.
///
/// The input is UTF-8. All delimiters are ASCII, so the tokens are valid UTF-8 as well.
struct Lexer {
    let text: UnsafeBufferPointer<UInt8>
    var offset = 0
    /// The delimiter of the string, name or comment that the text ends within; set with the error.
    private(set) var openDelimiter: OpenDelimiter?
    /// Whether errors have a location in the text; otherwise they only end the tokens.
    private let locatesErrors: Bool

    init(_ text: UnsafeBufferPointer<UInt8>, locatesErrors: Bool = true) {
        self.text = text
        self.locatesErrors = locatesErrors
    }

    /// Returns a byte of the text, or zero beyond its end.
    @inline(__always)
    func byte(at index: Int) -> UInt8 { index < text.count ? text[index] : 0 }

    func error(
        _ message: String, hint: String? = nil, _ lower: Int, _ upper: Int,
        reason: StoreError.Reason = .syntax
    ) -> StoreError {
        guard locatesErrors else { return StoreError(reason, message) }
        return StoreError(
            reason, message, hint: hint, at: SourceRange(lower, upper),
            in: String(decoding: text, as: UTF8.self))
    }

    /// Returns the next token; at the end of the text, `endOfStatement`.
    mutating func next() throws(StoreError) -> Token {
        while offset < text.count {
            let byte = text[offset]
            switch byte {
            case 0x20, 0x0A, 0x0D, 0x09:
                offset += 1
            case UInt8(ascii: "-") where self.byte(at: offset + 1) == UInt8(ascii: "-"):
                if let directive = skipLine() { return directive }
            case UInt8(ascii: "/") where self.byte(at: offset + 1) == UInt8(ascii: "*"):
                if let directive = try skipComment() { return directive }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "_"):
                return word()
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                return try number()
            case UInt8(ascii: "'"), UInt8(ascii: "\""):
                return try string(byte)
            case UInt8(ascii: "`"):
                return try quotedName()
            default:
                return try sign(byte)
            }
        }
        return Token(.endOfStatement, text.count, text.count)
    }

    // MARK: Comments

    /// Skips to the end of the line; returns a token if the comment is a directive.
    private mutating func skipLine() -> Token? {
        let start = offset
        while offset < text.count, text[offset] != 0x0A { offset += 1 }
        return byte(at: start + 2) == UInt8(ascii: "+") ? Token(.directive, start, offset) : nil
    }

    private mutating func skipComment() throws(StoreError) -> Token? {
        let start = offset
        offset += 2
        let isDirective = byte(at: offset) == UInt8(ascii: "+")
        while offset < text.count {
            if text[offset] == UInt8(ascii: "*"), byte(at: offset + 1) == UInt8(ascii: "/") {
                offset += 2
                return isDirective ? Token(.directive, start, offset) : nil
            }
            offset += 1
        }
        openDelimiter = .comment
        throw error("unterminated comment", hint: "comments end with */", start, start + 2)
    }

    // MARK: Words and names

    private mutating func word() -> Token {
        let start = offset
        repeat { offset += 1 } while Self.isNamePart(byte(at: offset))
        let letters = UnsafeBufferPointer(rebasing: text[start..<offset])
        return Token(.word, start, offset, keyword: KeywordTable.shared.keyword(letters))
    }

    static func isNamePart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private mutating func quotedName() throws(StoreError) -> Token {
        let start = offset
        var hasEscapes = false
        offset += 1
        while offset < text.count {
            if text[offset] == UInt8(ascii: "`") {
                guard byte(at: offset + 1) == UInt8(ascii: "`") else {
                    offset += 1
                    return Token(.quotedName, start, offset, hasEscapes: hasEscapes)
                }
                hasEscapes = true
                offset += 1
            }
            offset += 1
        }
        openDelimiter = .backtick
        throw error("unterminated name", hint: "the closing backtick is missing", start, start + 1)
    }

    // MARK: Numbers and strings

    /// Returns a number; throws if a name follows without a space.
    private mutating func number() throws(StoreError) -> Token {
        let start = offset
        let kind = skipNumber()
        guard !Self.isNamePart(byte(at: offset)) else {
            while Self.isNamePart(byte(at: offset)) { offset += 1 }
            throw error(
                "invalid number", hint: "numbers look like 42, 2.5, 1e3 or 0xFF", start, offset)
        }
        return Token(kind, start, offset)
    }

    private mutating func skipNumber() -> Token.Kind {
        if text[offset] == UInt8(ascii: "0"), byte(at: offset + 1) | 0x20 == UInt8(ascii: "x") {
            var end = offset + 2
            while Self.isHexadecimal(byte(at: end)) { end += 1 }
            // Without digits, the number ends before the x, which is then refused.
            offset = end > offset + 2 ? end : offset + 1
            return .hexadecimal
        }
        skipDigits()
        var kind = Token.Kind.integer
        if byte(at: offset) == UInt8(ascii: "."), Self.isDigit(byte(at: offset + 1)) {
            kind = .float
            offset += 1
            skipDigits()
        }
        if byte(at: offset) | 0x20 == UInt8(ascii: "e") {
            let sign = byte(at: offset + 1)
            let isSigned = sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-")
            let digits = offset + (isSigned ? 2 : 1)
            guard Self.isDigit(byte(at: digits)) else { return kind }
            kind = .float
            offset = digits
            skipDigits()
        }
        return kind
    }

    private mutating func skipDigits() {
        while Self.isDigit(byte(at: offset)) { offset += 1 }
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 6
    }

    private mutating func string(_ quote: UInt8) throws(StoreError) -> Token {
        let start = offset
        var hasEscapes = false
        offset += 1
        while offset < text.count {
            let byte = text[offset]
            offset += 1
            if byte == quote {
                guard self.byte(at: offset) != quote else {
                    let sign = quote == UInt8(ascii: "'") ? "'" : "\""
                    throw error(
                        "quotes in strings are not doubled", hint: "write \\\(sign)",
                        offset - 1, offset + 1)
                }
                return Token(.string, start, offset, hasEscapes: hasEscapes)
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                offset += 1
            }
        }
        offset = text.count
        openDelimiter = quote == UInt8(ascii: "'") ? .apostrophe : .quote
        throw error("unterminated string", hint: "the closing quote is missing", start, start + 1)
    }
}
