/// A page of the reference in the documentation catalog.
package struct ReferencePage: Sendable {
    /// The name of the file, without its extension.
    package let name: String
    package let summary: String
    package let entries: [ReferenceEntry]

    init(_ name: String, _ summary: String, _ entries: [ReferenceEntry]) {
        self.name = name
        self.summary = summary
        self.entries = entries
    }

    /// The title: the name with a space before each further word.
    package var title: String {
        name.reduce(into: "") { title, letter in
            let isWord = letter.isUppercase && !title.isEmpty
            title += isWord ? " " + letter.lowercased() : String(letter)
        }
    }

    /// The text of the page, which `sheaf-check reference --write` writes.
    package var markdown: String {
        var blocks = ["# \(title)", summary, "## Overview"]
        if name == "Notation" {
            blocks.append("The examples of all pages run in a store with these documents:")
            blocks.append(Self.code(Reference.samples))
            blocks.append(
                """
                A line with `→` is the value of an expression. The lines after a statement are \
                its rows as JSON, the number of changed documents, or the error.
                """)
        } else {
            blocks.append(
                "The documents of the examples, and how results are shown: <doc:Notation>.")
        }
        for entry in entries { blocks += Self.blocks(of: entry) }
        return blocks.joined(separator: "\n\n") + "\n"
    }

    private static func blocks(of entry: ReferenceEntry) -> [String] {
        var blocks = ["## \(heading(entry.name))"]
        if !entry.syntax.isEmpty { blocks.append(code(entry.syntax)) }
        blocks.append(entry.summary)
        blocks += entry.details
        if !entry.examples.isEmpty { blocks.append(code(ReferenceText.lines(of: entry.examples))) }
        return blocks
    }

    /// Returns a name as a heading; signs that Markdown interprets are in backticks.
    private static func heading(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: ","):
                true
            default: false
            }
        }
        return isPlain ? name : "`\(name)`"
    }

    private static func code(_ lines: [String]) -> String {
        "```text\n" + lines.joined(separator: "\n") + "\n```"
    }
}
