import SheafBytes

/// The arguments of a dot command.
struct ShellWords {
    /// The text after the name of the command.
    let text: String
    /// The words of the text, divided at spaces outside of quotes.
    let words: [String]
    private let usage: String

    init(_ text: String, usage: String) throws(ToolError) {
        self.text = text
        self.usage = usage
        words = try Self.split(text)
    }

    /// Creates the arguments of a command whose only argument is a statement.
    init(statement text: String, usage: String) {
        self.text = text
        self.usage = usage
        words = text.isEmpty ? [] : [text]
    }

    /// Returns the only word, or nil if there is none.
    func optional() throws(ToolError) -> String? {
        try check(atMost: 1)
        return words.first
    }

    /// Returns the only word.
    func required() throws(ToolError) -> String {
        guard let word = try optional() else { throw .usage("usage: \(usage)") }
        return word
    }

    /// Throws if there are any words.
    func none() throws(ToolError) {
        try check(atMost: 0)
    }

    /// Returns the word `on` or `off` as a Boolean; nil if there are no words.
    func isOn() throws(ToolError) -> Bool? {
        guard let word = try optional() else { return nil }
        switch word.lowercased() {
        case "on": return true
        case "off": return false
        default: throw .usage("expected on or off, not '\(word.shortened)'; usage: \(usage)")
        }
    }

    private func check(atMost count: Int) throws(ToolError) {
        guard words.count <= count else {
            throw .usage("unexpected argument '\(words[count].shortened)'; usage: \(usage)")
        }
    }

    private static func split(_ text: String) throws(ToolError) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in text {
            if let current = quote {
                if character == current { quote = nil } else { word = (word ?? "") + [character] }
                continue
            }
            switch character {
            case "'", "\"":
                quote = character
                word = word ?? ""
            case " ", "\t", "\n":
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? "") + [character]
            }
        }
        if let quote { throw .usage("the closing quote \(quote) is missing") }
        if let word { words.append(word) }
        return words
    }
}
