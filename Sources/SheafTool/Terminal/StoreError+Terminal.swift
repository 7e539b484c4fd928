import SheafDocument

extension StoreError {
    /// The description of the error, safe for terminals.
    ///
    /// The mark is aligned with the marked text as the terminal displays it.
    var terminalText: String { terminalText(help: "sheaf help") }

    /// Returns the description; `help` is the command that prints entries of the reference.
    ///
    /// With `showsLocation`, the line and column in the statement follow the message.
    func terminalText(help: String, showsLocation: Bool = true) -> String {
        var lines = [TerminalText.visible(message)]
        if let excerpt {
            if showsLocation {
                lines[0] += " (line \(excerpt.line), column \(excerpt.column))"
            }
            let before = TerminalText.visible(String(excerpt.text.prefix(excerpt.markStart)))
            let rest = excerpt.text.dropFirst(excerpt.markStart)
            let marked = TerminalText.visible(String(rest.prefix(excerpt.markLength)))
            let after = TerminalText.visible(String(rest.dropFirst(excerpt.markLength)))
            lines.append("  " + before + marked + after)
            lines.append(
                String(repeating: " ", count: 2 + TerminalText.width(of: before))
                    + String(repeating: "^", count: max(1, TerminalText.width(of: marked))))
        }
        if let hint { lines.append(TerminalText.visible(hint)) }
        if let page { lines.append("see: \(help) \(ShellWord.quoted(page.lowercased()))") }
        return lines.joined(separator: "\n")
    }
}

/// Words for a command line that the user may paste.
enum ShellWord {
    /// Returns the text in quotes if a shell would interpret one of its characters.
    static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: " "):
                true
            default: false
            }
        }
        return isPlain ? text : "'" + text + "'"
    }
}
