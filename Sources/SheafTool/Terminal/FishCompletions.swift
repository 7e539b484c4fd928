/// The completion script for fish.
struct FishCompletions {
    private let families: CommandFamilies

    init(_ commands: [Command]) {
        families = CommandFamilies(commands)
    }

    /// The script, which `source` runs.
    var text: String {
        var lines = [
            "# fish completion for sheaf: sheaf completions fish | source",
            "complete -c sheaf -f",
            "complete -c sheaf -n __fish_use_subcommand -l version -d 'print the version and exit'",
            "complete -c sheaf -n __fish_use_subcommand -a help -d 'describe a command'",
        ]
        for command in families.single {
            lines.append(
                "complete -c sheaf -n __fish_use_subcommand -a \(command.name) -d "
                    + quoted(command.summary))
            lines += options(of: command, if: "__fish_seen_subcommand_from \(command.name)")
        }
        for (word, commands) in families.families {
            let words = commands.map { $0.words[1] }.joined(separator: " ")
            lines.append(
                "complete -c sheaf -n __fish_use_subcommand -a \(word) -d " + quoted(words))
            let seen = "__fish_seen_subcommand_from \(word)"
            for command in commands {
                let second = command.words[1]
                lines.append(
                    "complete -c sheaf -n '\(seen); and not __fish_seen_subcommand_from \(words)'"
                        + " -a \(second) -d " + quoted(command.summary))
                lines += options(
                    of: command, if: "\(seen); and __fish_seen_subcommand_from \(second)")
            }
        }
        return lines.joined(separator: "\n")
    }

    private func options(of command: Command, if condition: String) -> [String] {
        let start = "complete -c sheaf -n '\(condition)'"
        var lines = command.allOptions.map { option in
            let short = option.letter.map { " -s \($0)" } ?? ""
            var line = start + short + " -l \(option.name)"
            if option.value != nil { line += action(Completion(option)) }
            return line + " -d " + quoted(option.summary)
        }
        let kinds = command.allOperands.map(Completion.init(placeholder:))
        if kinds.contains(.file) {
            lines.append("\(start) -F")
        } else if kinds.contains(.directory) {
            lines.append("\(start) -a '(__fish_complete_directories)'")
        }
        for case .words(let words) in kinds {
            lines.append("\(start) -a " + quoted(words.joined(separator: " ")))
        }
        return lines
    }

    private func action(_ completion: Completion) -> String {
        switch completion {
        case .words(let words): " -x -a " + quoted(words.joined(separator: " "))
        case .file: " -r -F"
        case .directory: " -x -a '(__fish_complete_directories)'"
        case .nothing: " -x"
        }
    }

    private func quoted(_ text: String) -> String {
        var quoted = ""
        for character in text {
            if character == "'" || character == "\\" { quoted += "\\" }
            quoted.append(character)
        }
        return "'" + quoted + "'"
    }
}
