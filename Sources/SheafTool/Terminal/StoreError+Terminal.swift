import SheafDocument

extension StoreError {
    /// The description of the error, safe for terminals.
    ///
    /// The mark is aligned with the marked text as the terminal displays it.
    var terminalText: String {
        var lines = [TerminalText.visible(message)]
        if let excerpt {
            lines[0] += " at line \(excerpt.line), column \(excerpt.column)"
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
        return lines.joined(separator: "\n")
    }
}
