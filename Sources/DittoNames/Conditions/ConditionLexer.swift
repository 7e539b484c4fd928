/// A lexer for query strings of the older calls.
///
/// It reads Unicode scalars: a quote followed by a combining mark would be a single character.
struct ConditionLexer {
    let text: String
    private var index: String.Index

    init(_ text: String) {
        self.text = text
        index = text.startIndex
    }

    /// Returns the next token; at the end of the text, the token `end`, repeatedly.
    mutating func next() throws(ConditionError) -> ConditionToken {
        while let scalar = current, scalar.properties.isWhitespace { advance() }
        let start = index
        guard let scalar = current else { return ConditionToken(kind: .end, start: start) }
        switch scalar {
        case "'", "\"": return ConditionToken(kind: .text(try quoted(scalar)), start: start)
        case "$":
            advance()
            return ConditionToken(kind: .argument(word()), start: start)
        case _ where scalar.isDigit: return ConditionToken(kind: .number(number()), start: start)
        case _ where scalar.beginsName: return ConditionToken(kind: .name(word()), start: start)
        default: return ConditionToken(kind: .sign(try sign()), start: start)
        }
    }

    private var scalars: String.UnicodeScalarView { text.unicodeScalars }

    private var current: Unicode.Scalar? { index < text.endIndex ? scalars[index] : nil }

    private mutating func advance() {
        index = scalars.index(after: index)
    }

    private mutating func word() -> String {
        take { $0.beginsName || $0.isDigit }
    }

    private mutating func take(while isPart: (Unicode.Scalar) -> Bool) -> String {
        let start = index
        while let scalar = current, isPart(scalar) { advance() }
        return String(scalars[start..<index])
    }

    /// Reads digits, a fraction and an exponent.
    private mutating func number() -> String {
        var digits = take(while: \.isDigit)
        if current == ".", isDigit(behind: 1) {
            advance()
            digits += "." + take(while: \.isDigit)
        }
        if current == "e" || current == "E" {
            let hasSign = isOneOf("+-", behind: 1)
            guard isDigit(behind: hasSign ? 2 : 1) else { return digits }
            advance()
            digits += "e"
            if hasSign, let sign = current {
                digits.unicodeScalars.append(sign)
                advance()
            }
            digits += take(while: \.isDigit)
        }
        return digits
    }

    private func scalar(behind count: Int) -> Unicode.Scalar? {
        scalars.index(index, offsetBy: count, limitedBy: text.endIndex)
            .flatMap { $0 < text.endIndex ? scalars[$0] : nil }
    }

    private func isDigit(behind count: Int) -> Bool {
        scalar(behind: count)?.isDigit ?? false
    }

    private func isOneOf(_ choices: String, behind count: Int) -> Bool {
        scalar(behind: count).map(choices.unicodeScalars.contains) ?? false
    }

    private mutating func sign() throws(ConditionError) -> ConditionToken.Sign {
        for sign in ConditionToken.Sign.allCases
        where scalars[index...].starts(with: sign.rawValue.unicodeScalars) {
            index = scalars.index(index, offsetBy: sign.rawValue.count)
            return sign
        }
        let hint: String? =
            switch scalars[index] {
            case "=": "write == to compare"
            case "&": "write && between two conditions"
            case "|": "write || between two conditions"
            default: nil
            }
        throw ConditionError("unexpected \(scalars[index])", hint: hint, at: index, in: text)
    }

    private mutating func quoted(_ quote: Unicode.Scalar) throws(ConditionError) -> String {
        let start = index
        advance()
        var content = ""
        while let scalar = current {
            advance()
            switch scalar {
            case quote: return content
            case "\\": content.unicodeScalars.append(try escaped())
            default: content.unicodeScalars.append(scalar)
            }
        }
        throw ConditionError("unterminated string", at: start, in: text)
    }

    /// Reads the rest of an escape sequence; a letter without a meaning stands for itself.
    private mutating func escaped() throws(ConditionError) -> Unicode.Scalar {
        let start = scalars.index(before: index)
        guard let letter = current else {
            throw ConditionError("unterminated escape sequence", at: start, in: text)
        }
        advance()
        switch letter {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            let digits = String(scalars[index...].prefix(4))
            guard digits.count == 4, digits.allSatisfy(\.isHexDigit),
                let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number)
            else {
                throw ConditionError(
                    "\\u must be followed by four hexadecimal digits", at: start, in: text)
            }
            index = scalars.index(index, offsetBy: 4)
            return scalar
        default: return letter
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isDigit: Bool { "0"..."9" ~= self }
    fileprivate var beginsName: Bool { properties.isAlphabetic || self == "_" }
}
