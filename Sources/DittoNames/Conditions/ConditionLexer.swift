/// Cuts a query string of the older kind into its words.
struct ConditionLexer {
    let text: String
    private var place: String.Index

    init(_ text: String) {
        self.text = text
        place = text.startIndex
    }

    /// The next word; the end, again and again, where there is none.
    mutating func next() throws(ConditionError) -> ConditionToken {
        while let character = current, character.isWhitespace { advance() }
        let start = place
        guard let character = current else { return ConditionToken(kind: .end, start: start) }
        switch character {
        case "'", "\"": return ConditionToken(kind: .text(try quoted(character)), start: start)
        case "$":
            advance()
            return ConditionToken(kind: .argument(word()), start: start)
        case _ where character.isDigit: return ConditionToken(kind: .number(number()), start: start)
        case _ where character.beginsName: return ConditionToken(kind: .name(word()), start: start)
        default: return ConditionToken(kind: .sign(try sign()), start: start)
        }
    }

    private var current: Character? { place < text.endIndex ? text[place] : nil }

    private mutating func advance() {
        place = text.index(after: place)
    }

    private mutating func word() -> String {
        take { $0.beginsName || $0.isDigit }
    }

    private mutating func take(while isPart: (Character) -> Bool) -> String {
        let start = place
        while let character = current, isPart(character) { advance() }
        return String(text[start..<place])
    }

    /// Digits, a fraction and an exponent.
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
                digits.append(sign)
                advance()
            }
            digits += take(while: \.isDigit)
        }
        return digits
    }

    private func character(behind count: Int) -> Character? {
        text.index(place, offsetBy: count, limitedBy: text.endIndex)
            .flatMap { $0 < text.endIndex ? text[$0] : nil }
    }

    private func isDigit(behind count: Int) -> Bool {
        character(behind: count)?.isDigit ?? false
    }

    private func isOneOf(_ choices: String, behind count: Int) -> Bool {
        character(behind: count).map(choices.contains) ?? false
    }

    private mutating func sign() throws(ConditionError) -> ConditionToken.Sign {
        for sign in ConditionToken.Sign.allCases where text[place...].hasPrefix(sign.rawValue) {
            place = text.index(place, offsetBy: sign.rawValue.count)
            return sign
        }
        let hint: String? =
            switch text[place] {
            case "=": "write == to compare"
            case "&": "write && between two conditions"
            case "|": "write || between two conditions"
            default: nil
            }
        throw ConditionError("unexpected \(text[place])", hint: hint, at: place, in: text)
    }

    // MARK: Texts

    private mutating func quoted(_ quote: Character) throws(ConditionError) -> String {
        let start = place
        advance()
        var content = ""
        while let character = current {
            advance()
            switch character {
            case quote: return content
            case "\\": content.append(try escaped())
            default: content.append(character)
            }
        }
        throw ConditionError("the text that begins here has no end", at: start, in: text)
    }

    /// What stands behind a backslash; a letter that means nothing there stands for itself.
    private mutating func escaped() throws(ConditionError) -> Character {
        let start = text.index(before: place)
        guard let letter = current else {
            throw ConditionError("nothing is behind the backslash", at: start, in: text)
        }
        advance()
        switch letter {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            let digits = String(text[place...].prefix(4))
            guard digits.count == 4, let number = UInt32(digits, radix: 16),
                let scalar = Unicode.Scalar(number)
            else {
                throw ConditionError(
                    "\\u stands before four hexadecimal digits", at: start, in: text)
            }
            place = text.index(place, offsetBy: 4)
            return Character(scalar)
        default: return letter
        }
    }
}

extension Character {
    fileprivate var isDigit: Bool { "0"..."9" ~= self }
    fileprivate var beginsName: Bool { isLetter || self == "_" }
}
