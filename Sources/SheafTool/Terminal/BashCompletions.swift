/// The completion script for bash.
struct BashCompletions {
    private let commands: [Command]
    private let families: CommandFamilies

    init(_ commands: [Command]) {
        self.commands = commands
        families = CommandFamilies(commands)
    }

    /// The script, which `eval` runs.
    var text: String {
        """
        # bash completion for sheaf: eval "$(sheaf completions bash)"

        # Sets the options of a command, those with a value, and the kinds of its operands.
        _sheaf_command() {
            options= valued= operands=
            case $1 in
        \(commands.map(entry).joined(separator: "\n"))
            *) return 1 ;;
            esac
        }

        # Prints the kind of value that an option of a command takes.
        _sheaf_value() {
            case $1 in
        \(commands.flatMap(values).joined(separator: "\n"))
            esac
        }

        # Completes the current word as a file, a directory, or one of some words.
        _sheaf_reply() {
            local IFS=$'\\n'
            case $1 in
            file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$2")) ;;
            directory) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$2")) ;;
            *) COMPREPLY=($(IFS=' '; compgen -W "$1" -- "$2")) ;;
            esac
        }

        _sheaf() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
            local options valued operands name=${COMP_WORDS[1]} first=2 index word count=0 ended=
            COMPREPLY=()
            # A word such as --mode=box is three words: bash divides words at '='.
            if [[ $current == = ]]; then
                current=
            elif [[ $previous == = ]]; then
                previous=${COMP_WORDS[COMP_CWORD-2]}
            fi
            if ((COMP_CWORD == 1)); then
                case $current in
                -*) _sheaf_reply '--help --version' "$current" ;;
                */*|.*) _sheaf_reply directory "$current" ;;
                *) _sheaf_reply '\(families.words.joined(separator: " "))' "$current" ;;
                esac
                return
            fi
            case $name in
        \(families.families.map(family).joined(separator: "\n"))
            help)
                _sheaf_reply '\(helpWords)' "$current"
                return ;;
            */*|*.*) name=shell first=1 ;;
            esac
            _sheaf_command "$name" || return 0
            if [[ $valued == *" $previous "* ]]; then
                _sheaf_reply "$(_sheaf_value "$name $previous")" "$current"
                return
            fi
            for ((index = first; index < COMP_CWORD; index++)); do
                word=${COMP_WORDS[index]}
                if [[ $ended ]]; then
                    ((count++))
                elif [[ $word == -- ]]; then
                    ended=1
                elif [[ $valued == *" $word "* ]]; then
                    [[ ${COMP_WORDS[index+1]} == = ]] && ((index++))
                    ((index++))
                elif [[ $word != -?* ]]; then
                    ((count++))
                fi
            done
            if [[ $current == -* && ! $ended ]]; then
                _sheaf_reply "$options" "$current"
                return
            fi
            operands=($operands)
            word=${operands[count]:-nothing}
            case $word in
            nothing) [[ $current || $ended ]] || _sheaf_reply "$options" "$current" ;;
            *) _sheaf_reply "${word//,/ }" "$current" ;;
            esac
        }

        complete -F _sheaf sheaf
        """
    }

    private func entry(_ command: Command) -> String {
        let options = command.allOptions.map { "--\($0.name)" }.joined(separator: " ")
        let valued = command.options.filter { $0.value != nil }.flatMap(\.forms)
        let operands = command.allOperands.map { kind(Completion(placeholder: $0), separator: ",") }
        return """
                '\(command.name)')
                    options='\(options)'
                    valued=' \(valued.joined(separator: " ")) '
                    operands='\(operands.joined(separator: " "))' ;;
            """
    }

    private func values(_ command: Command) -> [String] {
        command.options.filter { $0.value != nil }.compactMap { option in
            let kind = kind(Completion(option), separator: " ")
            guard kind != "nothing" else { return nil }
            let patterns = option.forms.map { "'\(command.name) \($0)'" }
            return "    \(patterns.joined(separator: "|"))) echo '\(kind)' ;;"
        }
    }

    private func kind(_ completion: Completion, separator: String) -> String {
        switch completion {
        case .words(let words): words.joined(separator: separator)
        case .file: "file"
        case .directory: "directory"
        case .nothing: "nothing"
        }
    }

    private func family(_ family: (word: String, commands: [Command])) -> String {
        let words = family.commands.map { $0.words[1] }.joined(separator: " ")
        return """
                \(family.word))
                    if ((COMP_CWORD == 2)); then
                        _sheaf_reply '\(words)' "$current"
                        return
                    fi
                    name="$name ${COMP_WORDS[2]}" first=3 ;;
            """
    }

    private var helpWords: String {
        let commands = families.words.filter { $0 != "help" }
        let lists = LanguageHelp.lists.filter { !$0.contains(" ") }
        return (commands + lists + ["tour"]).joined(separator: " ")
    }
}
