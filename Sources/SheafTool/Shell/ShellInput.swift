import SheafBytes
import SheafQuery

/// The input of a shell: lines, divided into statements and dot commands.
struct ShellInput {
    /// A statement or dot command, with the number of its first line.
    enum Item: Equatable {
        case statement(String, line: Int)
        case command(String, line: Int)
    }

    /// Lines of an unfinished statement.
    private(set) var pending = ""
    private var lineCount = 0
    private var pendingLine = 1

    static let prompt = "sheaf> "

    /// The prompt, which shows the delimiter of an unfinished string, name, comment or bracket.
    var prompt: String {
        guard !pending.isEmpty else { return Self.prompt }
        let splitter = StatementSplitter(pending)
        guard !splitter.isRestEmpty else { return Self.prompt }
        let opened = splitter.openDelimiter?.rawValue ?? ""
        let end = opened + "...> "
        return String(repeating: " ", count: max(0, Self.prompt.count - end.count)) + end
    }

    /// Whether there is an unfinished statement.
    var hasPending: Bool { !pending.isEmpty && !StatementSplitter(pending).isRestEmpty }

    /// Adds lines; returns the statements and commands that they complete.
    mutating func add(_ text: String) throws(ToolError) -> [Item] {
        var items: [Item] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            items += try add(line: String(line))
        }
        return items
    }

    private mutating func add(line: String) throws(ToolError) -> [Item] {
        lineCount += 1
        if let command = Self.command(line), !hasPending {
            discard()
            return [.command(command, line: lineCount)]
        }
        if pending.isEmpty { pendingLine = lineCount }
        pending += line + "\n"
        guard line.utf8.contains(UInt8(ascii: ";")) else {
            try checkLength()
            return []
        }
        let splitter = StatementSplitter(pending)
        let start = pendingLine
        let items = splitter.statements.map { piece in
            Item.statement(piece.text, line: start + piece.precedingLines)
        }
        pending = splitter.isRestEmpty ? "" : splitter.rest.text + "\n"
        if !items.isEmpty { pendingLine += splitter.rest.precedingLines }
        try checkLength()
        return items
    }

    private mutating func checkLength() throws(ToolError) {
        guard pending.utf8.count > QueryLimits.maximumLength else { return }
        // Comments may be longer than statements.
        guard hasPending else { return discard() }
        let line = pendingLine
        discard()
        throw .usage(
            "the statement that begins on line \(line) has more than \(QueryLimits.maximumLength) "
                + "bytes; statements end with a semicolon")
    }

    /// Returns the statement that the end of the input completes.
    mutating func finish() -> Item? {
        let splitter = StatementSplitter(pending)
        let line = pendingLine + splitter.rest.precedingLines
        discard()
        return splitter.isRestEmpty ? nil : .statement(splitter.rest.text, line: line)
    }

    /// Discards an unfinished statement.
    mutating func discard() {
        pending = ""
    }

    /// Returns the dot command of a line, which may be a word of other shells such as `exit`.
    private static func command(_ line: String) -> String? {
        let text = line.trimmingSpaces
        if text.hasPrefix(".") { return text }
        switch text.lowercased() {
        case "exit", "quit", "exit;", "quit;", "\\q": return ".quit"
        case "help", "help;", "?", "\\?": return ".help"
        default: return nil
        }
    }
}

extension String {
    /// The text without spaces, tabs and line ends around it.
    var trimmingSpaces: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\n" }
        guard let first = firstIndex(where: { !isSpace($0) }),
            let last = lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(self[first...last])
    }
}
