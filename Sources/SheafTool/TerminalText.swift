/// Texts in which nothing harms a terminal, and how wide it shows them.
enum TerminalText {
    /// The text with escapes as in JSON for what has no look of its own, or harms.
    ///
    /// What is JSON before is the same JSON behind.
    static func visible(_ text: String) -> String {
        if isPlain(text.utf8) { return text }
        var shown = ""
        for scalar in text.unicodeScalars { append(scalar, to: &shown) }
        return shown
    }

    /// Whether bytes are printable ASCII, which is as wide as it is long.
    static func isPlain(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        guard !isSafe(scalar) else {
            text.unicodeScalars.append(scalar)
            return
        }
        switch scalar {
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        default:
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }

    /// Whether a terminal shows a character and does nothing else.
    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        // These two join and part letters in some scripts, and make one emoji of several.
        if scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            return false
        default: return true
        }
    }

    // MARK: Width

    /// A text as it goes into a column, and how many cells of a terminal it takes.
    struct Fitted {
        var text = ""
        var width = 0
    }

    /// More bytes of one character are marks upon marks, which nobody can read.
    private static let maximumCharacterLength = 128
    private static let ellipsis = "…"

    /// The visible text, cut off behind so many cells.
    static func fitted(_ text: String, to limit: Int) -> Fitted {
        if isPlain(text.utf8.prefix(limit + 1)) {
            let length = text.utf8.prefix(limit + 1).count
            guard length > limit else { return Fitted(text: text, width: length) }
            let start = String(decoding: text.utf8.prefix(limit - 1), as: UTF8.self)
            return Fitted(text: start + ellipsis, width: limit)
        }
        var whole = Fitted()
        // As much as leaves a cell for the ellipsis.
        var start = Fitted()
        for character in text {
            let piece = visible(String(character))
            whole.width += width(of: piece)
            guard whole.width <= limit, piece.utf8.count <= maximumCharacterLength else {
                return Fitted(text: start.text + ellipsis, width: start.width + 1)
            }
            whole.text += piece
            if whole.width < limit { start = whole }
        }
        return whole
    }

    /// How many cells a visible text takes.
    static func width(of text: String) -> Int {
        isPlain(text.utf8) ? text.utf8.count : text.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return 0 }
        if first.properties.isEmoji, scalars.dropFirst().first != nil,
            scalars.contains(where: { $0 == "\u{FE0F}" || $0.properties.isEmojiPresentation })
        {
            return 2
        }
        return scalars.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        // Vowels and final consonants of Hangul stand in the cells of the first consonant.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: return 0
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1_6FE0...0x1_8DFF, 0x1_AFF0...0x1_B2FF, 0x1_F200...0x1_F2FF,
            0x2_0000...0x3_FFFD:
            return 2
        default: return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }
}
