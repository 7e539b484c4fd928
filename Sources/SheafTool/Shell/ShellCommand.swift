import SheafBytes
import SheafLineEditor

/// A dot command of the shell.
///
/// One table drives execution, help and completion.
struct ShellCommand: Sendable {
    /// The kind of words that Tab inserts after the name of a command.
    enum Completion: Sendable {
        case none, file, collection, statement, command
        case words([String])
    }

    /// The name, with its dot.
    let name: String
    var aliases: [String] = []
    /// The placeholders of the arguments.
    var arguments = ""
    let summary: String
    /// The text of the help after the summary.
    var details = ""
    var completion = Completion.none
    /// The options, which Tab inserts, too.
    var options: [Option] = []
    let run: @Sendable (ShellWords, ShellSession) throws(ToolError) -> Void

    /// The synopsis on one line.
    var usage: String { arguments.isEmpty ? name : name + " " + arguments }

    /// All commands, in the order of the help.
    static let all =
        storeCommands + catalogCommands + verbCommands + resultCommands + peerCommands
        + inputCommands

    /// The commands and their aliases.
    static let names = all.flatMap { [$0.name] + $0.aliases }.sorted()

    /// Returns the command with a name, or the only command whose name begins with it.
    static func named(_ name: String) -> ShellCommand? {
        let name = name.lowercased()
        if let command = all.first(where: { $0.name == name || $0.aliases.contains(name) }) {
            return command
        }
        let near = all.filter { $0.name.hasPrefix(name) }
        return near.count == 1 ? near[0] : nil
    }

    /// Runs a line that begins with a dot.
    static func run(_ line: String, _ session: ShellSession) throws(ToolError) {
        let end = line.firstIndex { $0 == " " || $0 == "\t" } ?? line.endIndex
        var name = String(line[..<end])
        var rest = String(line[end...]).trimmingSpaces
        // Users who end each statement with a semicolon often end commands with one, too.
        if name.hasSuffix(";"), rest.isEmpty { name.removeLast() }
        guard let command = named(name) else {
            throw .usage(
                "unknown command '\(name.shortened)'"
                    + OptionSuggestion.text(for: name, among: names) + "; see .help")
        }
        if case .statement = command.completion {
            return try command.run(
                ShellWords(statement: rest, usage: command.usage), session)
        }
        if rest.hasSuffix(";") { rest.removeLast() }
        try command.run(try ShellWords(rest, usage: command.usage), session)
    }

    /// The help on all commands.
    static var overview: String {
        let width = all.map(\.usage.count).filter { $0 <= maximumUsageWidth }.max() ?? 0
        let lines = all.map { command in
            let gap = max(2, width - command.usage.count + 2)
            return "  " + command.usage + String(repeating: " ", count: gap) + command.summary
        }
        return """
            Statements end with a semicolon, and may have several lines. Lines that begin with a dot
            are commands:

            \(lines.joined(separator: "\n"))

            '.help .mode' describes a command, '.help SELECT' an element of the query language, and
            '.help statements' or '.help functions' lists the elements of a kind. Ctrl-C cancels a
            statement, Ctrl-R searches the history, Tab completes words, and Ctrl-D exits.
            """
    }

    private static let maximumUsageWidth = 32

    /// The help on the command.
    var help: String {
        var text = usage + "\n" + summary.prefix(1).uppercased() + summary.dropFirst() + "."
        if !aliases.isEmpty { text += " Also: " + aliases.joined(separator: ", ") + "." }
        return details.isEmpty ? text : text + "\n\n" + details
    }
}
