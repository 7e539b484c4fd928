/// The reference as plain text, for terminals.
package enum ReferenceText {
    /// The number of columns at which paragraphs are wrapped.
    private static let width = 92

    /// Returns an entry with its forms, description and examples.
    package static func text(of entry: ReferenceEntry) -> String {
        var blocks = ["\(entry.name) (\(entry.kind.rawValue))"]
        if !entry.syntax.isEmpty { blocks.append(indented(entry.syntax)) }
        for paragraph in [entry.summary] + entry.details { blocks.append(wrapped(paragraph)) }
        if !entry.examples.isEmpty {
            blocks.append("examples:\n" + indented(lines(of: entry.examples)))
        }
        return blocks.joined(separator: "\n\n")
    }

    /// Returns the names and summaries of the entries of a kind, one per line.
    package static func list(of kind: ReferenceEntry.Kind) -> String {
        let entries = Reference.entries(of: kind)
        let column = entries.map(\.name.count).max() ?? 0
        let lines = entries.map { entry in
            let gap = String(repeating: " ", count: column - entry.name.count + 2)
            return "  " + entry.name + gap + plain(entry.summary)
        }
        return "\(kind.plural):\n" + lines.joined(separator: "\n")
            + "\n\n'sheaf help NAME' describes one of them."
    }

    /// Returns examples as lines: each with its setup and its result, separated by empty lines.
    static func lines(of examples: [ReferenceExample]) -> [String] {
        var lines: [String] = []
        for (index, example) in examples.enumerated() {
            if index > 0, !(example.isExpression && examples[index - 1].isExpression) {
                lines.append("")
            }
            if example.isExpression {
                lines.append(example.code + "  → " + (example.result ?? []).joined())
                continue
            }
            for statement in example.setup + [example.code] {
                lines += statement.split(separator: "\n").map(String.init)
            }
            lines += (example.result ?? ["(the result varies)"]).map { "  " + $0 }
        }
        return lines
    }

    private static func indented(_ lines: [String]) -> String {
        lines.map { $0.isEmpty ? "" : "  " + $0 }.joined(separator: "\n")
    }

    /// Returns a paragraph without the backticks and references of Markdown.
    private static func plain(_ paragraph: String) -> String {
        var text = ""
        var isReference = false
        var rest = paragraph[...]
        while let character = rest.popFirst() {
            if rest.hasPrefix("doc:"), character == "<" {
                rest = rest.dropFirst(4)
                isReference = true
            } else if isReference, character == ">" {
                isReference = false
            } else if character != "`" {
                text.append(character)
            }
        }
        return text
    }

    private static func wrapped(_ paragraph: String) -> String {
        var lines: [String] = []
        for word in plain(paragraph).split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n")
    }
}
