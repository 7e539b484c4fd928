import SheafDocument

/// Cells and rows of tables in GitHub Flavored Markdown.
enum MarkdownCells {
    /// Appends a row of cells that are already escaped.
    static func append(_ cells: [String], to buffer: inout [UInt8]) {
        buffer.append(contentsOf: "|".utf8)
        for cell in cells {
            buffer.append(0x20)
            buffer.append(contentsOf: cell.utf8)
            buffer.append(contentsOf: " |".utf8)
        }
        buffer.append(0x0A)
    }

    /// Returns a value as an escaped cell: strings without quotes, other values as JSON.
    static func text(_ value: Value) -> String {
        if case .string(let text) = value { return escaped(text) }
        return escaped(value.json)
    }

    /// Returns the text with line breaks as `<br>`, and characters with a meaning in Markdown
    /// escaped.
    static func escaped(_ text: String) -> String {
        // A single underscore has no meaning in Markdown, and most field names have at most one.
        let hasUnderscores = text.utf8.count { $0 == UInt8(ascii: "_") } > 1
        var escaped = ""
        var isAfterReturn = false
        for scalar in text.unicodeScalars {
            defer { isAfterReturn = scalar == "\r" }
            switch scalar {
            case "\n" where isAfterReturn: break
            case "\n", "\r", "\u{2028}", "\u{2029}", "\u{85}", "\u{B}", "\u{C}": escaped += "<br>"
            case "\\", "|", "*", "`", "<", "&", "[", "~":
                escaped += "\\"
                escaped.unicodeScalars.append(scalar)
            case "_" where hasUnderscores: escaped += "\\_"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
                // Control characters are invisible or change the display.
                let digits = String(scalar.value, radix: 16)
                escaped += "\\\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
