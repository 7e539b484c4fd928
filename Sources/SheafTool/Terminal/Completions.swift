/// The kind of words that fit at a position of the command line.
enum Completion: Equatable {
    case words([String])
    case file
    case directory
    case nothing

    /// Creates the kind of an operand from its placeholder, such as PATH or COLLECTION.
    init(placeholder: String) {
        switch placeholder {
        case "PATH", "IN", "STORE", "A", "B", "BACKUP": self = .directory
        case "FILE", "OUT", "NEW", "DIR", "AUTHORITY", "PEER": self = .file
        case "SHELL": self = .words(CompletionScript.names)
        default: self = .nothing
        }
    }

    /// Creates the kind of the value of an option.
    init(_ option: Option) {
        if option.words.isEmpty {
            // PEER is a file as an operand, but a key or a name as the value of an option.
            self = option.value == "PEER" ? .nothing : Completion(placeholder: option.value ?? "")
        } else {
            self = .words(option.words)
        }
    }
}

/// The scripts that complete command lines in a shell, from the tables of the help.
enum CompletionScript: String, CaseIterable {
    case bash, zsh, fish

    static let names = allCases.map(\.rawValue)

    /// Returns the script for these commands.
    func text(_ commands: [Command]) -> String {
        switch self {
        case .bash: BashCompletions(commands).text
        case .zsh: ZshCompletions(commands).text
        case .fish: FishCompletions(commands).text
        }
    }
}

/// The commands of the tool, grouped by their first word.
struct CommandFamilies {
    /// The commands that consist of one word.
    let single: [Command]
    /// The commands of two words, by the first one, in the order of the help.
    let families: [(word: String, commands: [Command])]

    init(_ commands: [Command]) {
        single = commands.filter { !$0.name.contains(" ") }
        var families: [(word: String, commands: [Command])] = []
        for command in commands where command.name.contains(" ") {
            let word = command.words[0]
            if let index = families.firstIndex(where: { $0.word == word }) {
                families[index].commands.append(command)
            } else {
                families.append((word, [command]))
            }
        }
        self.families = families
    }

    /// The first words of all commands.
    var words: [String] { single.map(\.name) + families.map(\.word) + ["help"] }
}

extension Command {
    /// The words of the name.
    var words: [String] { name.split(separator: " ").map(String.init) }

    /// All options, including `--help`.
    var allOptions: [Option] { options + [.help] }
}
