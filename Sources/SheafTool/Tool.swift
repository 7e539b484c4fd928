import Sheaf
import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The command line as a whole: which command, which help, and which exit code.
enum Tool {
    static let version = SheafVersion.current

    /// Runs what `words`, without the name of the program, ask for.
    static func run(_ words: [UnsafeMutablePointer<CChar>]) -> ExitCode {
        let output = Output()
        do throws(ToolError) {
            let code = try dispatch(try texts(words)[...], output)
            try output.finish()
            return code
        } catch {
            // Whoever stops reading wants no explanations either.
            output.tell(error.message)
            return error.exitCode
        }
    }

    /// The words as text: to repair one would be to guess a path, and to write there.
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
            throw .usage("a command is missing; 'sheaf --help' lists them")
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
            let (command, rest) = try command(words.dropFirst())
            if let extra = rest.first {
                throw .usage("'\(extra.shortened)' is one too many: sheaf help COMMAND")
            }
            output.write(command.help)
            return .ok
        default:
            let (command, rest) = try command(words)
            return try command.run(rest, output)
        }
    }

    /// The command that the first words name, which are one or two, and the words behind them.
    private static func command(
        _ words: ArraySlice<String>
    ) throws(ToolError) -> (Command, ArraySlice<String>) {
        for count in 1...2 where count <= words.count {
            let name = words.prefix(count).joined(separator: " ")
            if let command = Command.all.first(where: { $0.name == name }) {
                return (command, words.dropFirst(count))
            }
        }
        var name = words.first ?? ""
        let family = Command.all.map(\.name).filter { $0.hasPrefix(name + " ") }
        if !family.isEmpty {
            guard let second = words.dropFirst().first, !second.hasPrefix("-") else {
                throw .usage(
                    "'\(name.shortened)' is the first word of \(family.joined(separator: ", "));"
                        + " 'sheaf --help' explains them")
            }
            name += " " + second
        }
        let kind = name.utf8.first == UInt8(ascii: "-") ? "option" : "command"
        let names = kind == "option" ? ["--help", "--version"] : Command.all.map(\.name) + ["help"]
        throw .usage(
            "there is no \(kind) '\(name.shortened)'" + Suggestion.text(for: name, among: names)
                + "; 'sheaf --help' lists them")
    }

    private static var help: String {
        let width = Command.all.map(\.name.utf8.count).max() ?? 0
        let commands = Command.all.map { command in
            let gap = String(repeating: " ", count: width - command.name.utf8.count + 2)
            return "  \(command.name)\(gap)\(command.summary)"
        }
        return """
            usage: sheaf COMMAND ...

            Asks and changes the stores of Sheaf, looks into them, checks them and saves what can
            be saved.

            commands:
            \(commands.joined(separator: "\n"))

            'sheaf help COMMAND' explains a command; 'sheaf --version' prints the version.
            Data go to standard output, all else to standard error. What follows -- is no option.

            exit codes:
              0   all is well
              1   the command failed
              3   the store is damaged, or something of it was lost
              64  the command line makes no sense
            """
    }
}
