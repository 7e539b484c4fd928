/// Text that is safe for terminals, and its width.
enum TerminalText {
    /// Returns the text with control and invisible characters escaped as in JSON.
    ///
    /// Escaping JSON yields equivalent JSON.
    static func visible(_ text: String) -> String {
        if isPlain(text.utf8) { return text }
        var shown = ""
        for scalar in text.unicodeScalars { append(scalar, to: &shown) }
        return shown
    }

    /// Whether all bytes are printable ASCII, one terminal cell each.
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

    /// Whether a terminal displays the character without other effects.
    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        // The zero-width joiner and non-joiner are needed by some scripts and by composed emoji.
        if scalar == "\u{200C}" || scalar == "\u{200D}" { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            return false
        default: return true
        }
    }

    /// A text truncated to fit a column, with its width in terminal cells.
    struct Fitted {
        var text = ""
        var width = 0
    }

    /// Maximum length of one character; longer ones are stacks of combining marks.
    private static let maximumCharacterLength = 128
    private static let ellipsis = "…"

    /// Returns the escaped text, truncated to `limit` terminal cells.
    static func fitted(_ text: String, to limit: Int) -> Fitted {
        if isPlain(text.utf8.prefix(limit + 1)) {
            let length = text.utf8.prefix(limit + 1).count
            guard length > limit else { return Fitted(text: text, width: length) }
            let start = String(decoding: text.utf8.prefix(limit - 1), as: UTF8.self)
            return Fitted(text: start + ellipsis, width: limit)
        }
        var complete = Fitted()
        // `start` becomes the longest prefix that leaves a cell for the ellipsis.
        var start = Fitted()
        for character in text {
            let piece = visible(String(character))
            complete.width += width(of: piece)
            guard complete.width <= limit, piece.utf8.count <= maximumCharacterLength else {
                return Fitted(text: start.text + ellipsis, width: start.width + 1)
            }
            complete.text += piece
            if complete.width < limit { start = complete }
        }
        return complete
    }

    /// Returns the width of an escaped text in terminal cells.
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
        // Hangul vowels and final consonants share the cells of the initial consonant.
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
