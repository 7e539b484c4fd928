import Sheaf
import SheafBytes
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The entry point of the tool: command selection, help, and exit codes.
enum Tool {
    static let version = SheafVersion.current

    /// All commands, in the order of the help.
    static let commands: [Command] = [
        .shell, .query, .watch, .inspect, .importFile, .export, .checksum, .log, .show, .blame,
        .verify, .salvage, .stats, .compact, .backup, .restore, .diff, .clock, .peerServe,
        .peerConnect, .peerList, .peerExecute, .syncStatus, .explainSync, .hubServe, .hubStatus,
        .hubUpgrade, .hubReplace,
        .keygen, .grant, .demo,
        .completions, .man,
    ]

    /// Runs the command in `words`, which do not include the name of the program.
    static func run(_ words: [UnsafeMutablePointer<CChar>]) -> ExitCode {
        let output = Output()
        do throws(ToolError) {
            let code = try dispatch(try texts(words)[...], output)
            try output.finish()
            return code
        } catch {
            // If the reader has closed standard output, the message is still written to standard
            // error. A command that the shell ran has printed its errors itself.
            if !error.message.isEmpty { output.printError(error.message) }
            return error.exitCode
        }
    }

    /// Converts the words to text, refusing invalid UTF-8.
    ///
    /// A repaired path could name another file.
    private static func texts(
        _ words: [UnsafeMutablePointer<CChar>]
    ) throws(ToolError) -> [String] {
        var texts: [String] = []
        for word in words {
            guard let text = String(validatingCString: word) else {
                let bytes = UnsafeRawBufferPointer(start: word, count: strlen(word))
                throw .usage("'\(ReadableBytes.text(bytes).shortened)' is not valid UTF-8")
            }
            texts.append(text)
        }
        return texts
    }

    private static func dispatch(
        _ words: ArraySlice<String>, _ output: Output
    ) throws(ToolError) -> ExitCode {
        guard let first = words.first else {
            // Without a terminal, a missing command is more likely than a request for the shell.
            guard isatty(STDIN_FILENO) == 1 else {
                throw .usage("missing command; see 'sheaf --help'")
            }
            return try Command.shell.run([], output)
        }
        switch first {
        case "--version":
            output.write("sheaf \(version)")
            return .ok
        case "--help", "-h":
            output.write(help)
            return .ok
        case "help":
            guard words.count > 1 else {
                output.write(help)
                return .ok
            }
            output.write(try help(on: Array(words.dropFirst())))
            return .ok
        default:
            if opensShell(first, words.dropFirst()) { return try Command.shell.run(words, output) }
            let (command, rest) = try command(words)
            return try command.run(rest, output)
        }
    }

    /// Returns the help of the command or the element of the query language that `words` name.
    private static func help(on words: [String]) throws(ToolError) -> String {
        if words == ["tour"] { return Tour.text }
        let isCommand = commands.contains { command in
            words.starts(with: command.name.split(separator: " ").map(String.init))
        }
        if !isCommand, let text = LanguageHelp.text(of: words) { return text }
        guard isCommand || !isNearLanguage(words) else {
            let name = words.joined(separator: " ").lowercased()
            throw .usage(
                "there is no entry '\(name.shortened)'"
                    + OptionSuggestion.text(for: name, among: helpNames)
                    + "; see 'sheaf help'")
        }
        let (command, rest) = try command(words[...])
        if let extra = rest.first {
            throw .usage("unexpected argument '\(extra.shortened)'; usage: sheaf help COMMAND")
        }
        return command.help
    }

    /// Whether unknown words resemble an entry of the language rather than a command.
    private static func isNearLanguage(_ words: [String]) -> Bool {
        let name = words.joined(separator: " ").lowercased()
        let family = words.first.map { $0 + " " } ?? ""
        let names = commands.map(\.name)
        return !names.contains { $0.hasPrefix(family) }
            && OptionSuggestion.text(for: name, among: names).isEmpty
            && !OptionSuggestion.text(for: name, among: helpNames).isEmpty
    }

    /// Names of pages of the help that describe no command.
    private static var helpNames: [String] { LanguageHelp.names + ["tour"] }

    /// Whether the first word is the path of a store or an option of the shell.
    ///
    /// A word that names no file and does not resemble a path counts as a misspelled command,
    /// unless an option of the shell follows.
    private static func opensShell(_ first: String, _ rest: ArraySlice<String>) -> Bool {
        let family = first + " "
        guard !commands.contains(where: { $0.name == first || $0.name.hasPrefix(family) }) else {
            return false
        }
        let isShellOption = { (word: String) in
            let name = String(word.prefix { $0 != "=" })
            return Command.shell.options.contains { option in
                name == "--" + option.name || option.letter.map { word == "-" + $0 } ?? false
            }
        }
        guard !first.hasPrefix("-") else { return isShellOption(first) }
        if first.contains("/") || first.contains(".") || access(first, F_OK) == 0 { return true }
        if let option = rest.first { return isShellOption(option) }
        return isatty(STDIN_FILENO) == 1
            && OptionSuggestion.text(for: first, among: commands.map(\.name) + ["help"]).isEmpty
    }

    /// Returns the command named by the first one or two words, and the remaining words.
    private static func command(
        _ words: ArraySlice<String>
    ) throws(ToolError) -> (Command, ArraySlice<String>) {
        for count in 1...2 where count <= words.count {
            let name = words.prefix(count).joined(separator: " ")
            if let command = commands.first(where: { $0.name == name }) {
                return (command, words.dropFirst(count))
            }
        }
        var name = words.first ?? ""
        let family = commands.map(\.name).filter { $0.hasPrefix(name + " ") }
        if !family.isEmpty {
            guard let second = words.dropFirst().first, !second.hasPrefix("-") else {
                throw .usage(
                    "incomplete command '\(name.shortened)'; expected "
                        + "\(family.joined(separator: ", ")); see 'sheaf --help'")
            }
            name += " " + second
        }
        let kind = name.utf8.first == UInt8(ascii: "-") ? "option" : "command"
        let names = kind == "option" ? ["--help", "--version"] : commands.map(\.name) + ["help"]
        throw .usage(
            "unknown \(kind) '\(name.shortened)'" + OptionSuggestion.text(for: name, among: names)
                + "; see 'sheaf --help'")
    }

    private static var help: String {
        let width = commands.map(\.name.utf8.count).max() ?? 0
        let listed = commands.map { command in
            let gap = String(repeating: " ", count: width - command.name.utf8.count + 2)
            return "  \(command.name)\(gap)\(command.summary)"
        }
        let codes = ExitCode.allCases.map { code in
            "  \(code.rawValue)" + (code.rawValue < 10 ? " " : "") + "  \(code.summary)"
        }
        return """
            usage: sheaf [PATH]
                   sheaf COMMAND ...

            Queries, inspects, verifies and repairs Sheaf stores, and syncs them with peers.

            commands:
            \(listed.joined(separator: "\n"))

            'sheaf help LIST' lists parts of the query language, where LIST is
            \(LanguageHelp.lists.dropLast().joined(separator: ", "))
            or \(LanguageHelp.lists.last ?? ""). 'sheaf help NAME' describes one, such as substr or ORDER BY.

            'sheaf help COMMAND' describes a command; 'sheaf --version' prints the version.
            Data goes to standard output, messages to standard error. -- ends the options.

            'sheaf help tour' shows ten tasks, one line each.

            exit codes:
            \(codes.joined(separator: "\n"))

            \(ExitCode.interruption)
            """
    }
}
