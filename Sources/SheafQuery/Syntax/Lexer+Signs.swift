import SheafDocument

/// Operators, brackets and punctuation.
extension Lexer {
    /// Returns the operator or punctuation token that begins with `byte`.
    mutating func sign(_ byte: UInt8) throws(StoreError) -> Token {
        let start = offset
        let following = self.byte(at: start + 1)
        if byte == UInt8(ascii: ":"), following == UInt8(ascii: "$"),
            Self.isDigit(self.byte(at: start + 2))
        {
            return try placeholder()
        }
        let (kind, length) = Self.pair(byte, following).map { ($0, 2) } ?? (Self.single(byte), 1)
        guard let kind else { throw unknownSign(byte, following) }
        offset += length
        return Token(kind, start, offset)
    }

    /// Returns a placeholder such as `:$1`; throws if a name follows without a space.
    private mutating func placeholder() throws(StoreError) -> Token {
        let start = offset
        offset += 2
        while Self.isDigit(byte(at: offset)) { offset += 1 }
        let end = offset
        guard !Self.isNamePart(byte(at: offset)) else {
            while Self.isNamePart(byte(at: offset)) { offset += 1 }
            let name = String(decoding: text[start..<end], as: UTF8.self)
            throw error(
                "a space is missing after the interpolated value \(name)",
                hint: "put a space after it", start, offset)
        }
        return Token(.placeholder, start, offset)
    }

    private static func single(_ byte: UInt8) -> Token.Kind? {
        switch byte {
        case UInt8(ascii: "("): .leftParenthesis
        case UInt8(ascii: ")"): .rightParenthesis
        case UInt8(ascii: "["): .leftBracket
        case UInt8(ascii: "]"): .rightBracket
        case UInt8(ascii: "{"): .leftBrace
        case UInt8(ascii: "}"): .rightBrace
        case UInt8(ascii: ","): .comma
        case UInt8(ascii: "."): .dot
        case UInt8(ascii: ":"): .colon
        case UInt8(ascii: ";"): .semicolon
        case UInt8(ascii: "*"): .star
        case UInt8(ascii: "/"): .slash
        case UInt8(ascii: "%"): .percent
        case UInt8(ascii: "+"): .plus
        case UInt8(ascii: "-"): .minus
        case UInt8(ascii: "="): .equal
        case UInt8(ascii: "<"): .less
        case UInt8(ascii: ">"): .greater
        default: nil
        }
    }

    private static func pair(_ first: UInt8, _ second: UInt8) -> Token.Kind? {
        switch (first, second) {
        case (UInt8(ascii: "="), UInt8(ascii: "=")): .equal
        case (UInt8(ascii: "!"), UInt8(ascii: "=")), (UInt8(ascii: "<"), UInt8(ascii: ">")):
            .notEqual
        case (UInt8(ascii: "<"), UInt8(ascii: "=")): .lessOrEqual
        case (UInt8(ascii: ">"), UInt8(ascii: "=")): .greaterOrEqual
        case (UInt8(ascii: "<"), UInt8(ascii: "<")): .shiftLeft
        case (UInt8(ascii: ">"), UInt8(ascii: ">")): .shiftRight
        case (UInt8(ascii: "|"), UInt8(ascii: "|")): .bars
        case (UInt8(ascii: "-"), UInt8(ascii: ">")): .arrow
        default: nil
        }
    }

    private func unknownSign(_ byte: UInt8, _ following: UInt8) -> StoreError {
        switch byte {
        case UInt8(ascii: "!"):
            return error("there is no operator !", hint: "did you mean NOT?", offset, offset + 1)
        case UInt8(ascii: "&") where following == byte:
            return error("there is no operator &&", hint: "did you mean AND?", offset, offset + 2)
        case 0x80...:
            var end = offset + 1
            while self.byte(at: end) & 0xC0 == 0x80 { end += 1 }
            return error(
                "the character \(Self.name(of: text[offset..<end])) is only allowed in quotes",
                hint: "put names with characters other than a to z in backticks", offset, end)
        default:
            let name = Self.name(of: text[offset...offset])
            return error("unexpected character \(name)", offset, offset + 1)
        }
    }

    /// Returns the character if it is printable, and its code point otherwise.
    private static func name(of bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let scalar = text.unicodeScalars.first else { return "" }
        switch scalar.properties.generalCategory {
        case .control, .format, .unassigned, .spaceSeparator, .lineSeparator, .paragraphSeparator,
            .nonspacingMark, .privateUse, .surrogate:
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        default: return text
        }
    }
}
