/// The completion script for zsh.
struct ZshCompletions {
    private let families: CommandFamilies

    init(_ commands: [Command]) {
        families = CommandFamilies(commands)
    }

    /// The script, to be stored as `_sheaf` in a directory of `fpath`.
    var text: String {
        let top = families.single.map { (word: $0.name, summary: $0.summary) }
        let second = families.families.map { family in
            (
                word: family.word,
                summary: family.commands.map { $0.words[1] }.joined(separator: ", ")
            )
        }
        let help = [(word: "help", summary: "describe a command or a part of the query language")]
        return """
            #compdef sheaf
            # zsh completion for sheaf: sheaf completions zsh > "${fpath[1]}/_sheaf"

            _sheaf() {
                local state line
                local -a words_of_sheaf
                words_of_sheaf=(
            \((top + second + help).map { "        " + described($0) }.joined(separator: "\n"))
                )
                _arguments -C '(- *)--help[print the help and exit]' \\
                    '(- *)--version[print the version and exit]' \\
                    '1: :->command' '*:: :->arguments'
                case $state in
                command) _describe -t commands 'sheaf command' words_of_sheaf ;;
                arguments)
                    case $words[1] in
            \(families.single.map { entry($0, depth: 3) }.joined(separator: "\n"))
            \(families.families.map(entry).joined(separator: "\n"))
                    help) _describe -t commands 'sheaf command' words_of_sheaf ;;
                    esac ;;
                esac
            }

            if [[ $funcstack[1] == _sheaf ]]; then _sheaf "$@"; else compdef _sheaf sheaf; fi
            """
    }

    private func described(_ entry: (word: String, summary: String)) -> String {
        quoted("\(entry.word):" + entry.summary)
    }

    private func entry(_ command: Command, depth: Int) -> String {
        let margin = String(repeating: "    ", count: depth - 1)
        let word = command.words[command.words.count - 1]
        let specs =
            command.allOptions.flatMap(specs) + command.allOperands.enumerated().map(operand)
        return margin + "\(word)) _arguments \\\n"
            + specs.map { margin + "    " + quoted($0) }.joined(separator: " \\\n") + " ;;"
    }

    private func entry(_ family: (word: String, commands: [Command])) -> String {
        let words = family.commands.map { command in
            "                " + described((command.words[1], command.summary))
        }
        return """
                    \(family.word))
                        words_of_sheaf=(
            \(words.joined(separator: "\n"))
                        )
                        _arguments -C '1: :->subcommand' '*:: :->options'
                        case $state in
                        subcommand) _describe -t commands 'sheaf \(family.word)' words_of_sheaf ;;
                        options)
                            case $words[1] in
            \(family.commands.map { entry($0, depth: 5) }.joined(separator: "\n"))
                            esac ;;
                        esac ;;
            """
    }

    private func specs(_ option: Option) -> [String] {
        let repeatable = option.isRepeatable ? "*" : ""
        let summary = escaped(option.summary, "[]")
        return option.forms.map { form in
            guard let value = option.value else { return "\(repeatable)\(form)[\(summary)]" }
            let separator = form.hasPrefix("--") ? "=" : ""
            return "\(repeatable)\(form)\(separator)[\(summary)]:\(escaped(value, ":")):"
                + action(Completion(option))
        }
    }

    private func operand(_ index: Int, _ placeholder: String) -> String {
        "\(index + 1):\(escaped(placeholder, ":")):" + action(Completion(placeholder: placeholder))
    }

    private func action(_ completion: Completion) -> String {
        switch completion {
        case .words(let words): "(\(words.joined(separator: " ")))"
        case .file: "_files"
        case .directory: "_files -/"
        case .nothing: ""
        }
    }

    private func escaped(_ text: String, _ special: String) -> String {
        var escaped = ""
        for character in text {
            if special.contains(character) || character == "\\" { escaped += "\\" }
            escaped.append(character)
        }
        return escaped
    }

    private func quoted(_ text: String) -> String {
        "'"
            + text.split(separator: "'", omittingEmptySubsequences: false).joined(
                separator: "'\\''")
            + "'"
    }
}
