/// An error in a workload file, with its location.
package struct WorkloadFileError: Error, Equatable {
    /// The line, counted from 1.
    package let line: Int
    /// The column in characters, counted from 1.
    package let column: Int
    package let message: String
    /// A correct form; nil if the message contains it.
    package let hint: String?
    /// The line of the file, without control characters.
    package let excerpt: String

    /// Maximum number of characters of a line or name in a message.
    private static let maximumLength = 100

    init(_ message: String, hint: String? = nil, at location: Location, in lines: [Substring]) {
        self.message = message
        self.hint = hint
        (line, column) = (location.line, location.column)
        let text = lines.indices.contains(line - 1) ? lines[line - 1] : ""
        excerpt = Self.shortened(text)
    }

    /// Returns the error as text that begins with `file:line:column`, with the line and a mark.
    package func description(file: String) -> String {
        var text = "\(file):\(line):\(column): \(message)"
        if let hint { text += "; \(hint)" }
        guard !excerpt.isEmpty else { return text }
        text += "\n  " + excerpt
        guard column <= excerpt.count + 1 else { return text }
        return text + "\n  " + String(repeating: " ", count: column - 1) + "^"
    }

    /// Returns the beginning of a text, with a blank for each control character.
    static func shortened(_ text: some StringProtocol, to length: Int = maximumLength) -> String {
        let printable = text.prefix(length).map { character in
            character.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
                ? character : " "
        }
        return String(printable) + (text.count > length ? "…" : "")
    }

    /// A position in the file; both numbers are counted from 1.
    struct Location: Equatable {
        var line: Int
        var column: Int
    }
}

/// A text of the file that may continue over several lines, and where it begins.
struct LocatedText {
    let text: String
    let start: WorkloadFileError.Location

    /// Returns the position of the character with an index in the text.
    ///
    /// Further lines of the text begin with the first column.
    func location(of offset: Int) -> WorkloadFileError.Location {
        var location = start
        for character in text.prefix(offset) {
            if character.isNewline {
                location = .init(line: location.line + 1, column: 1)
            } else {
                location.column += 1
            }
        }
        return location
    }

    /// Returns the position in the file of a line and column of the text.
    func location(line: Int, column: Int) -> WorkloadFileError.Location {
        line == 1
            ? .init(line: start.line, column: start.column + column - 1)
            : .init(line: start.line + line - 1, column: column)
    }
}
