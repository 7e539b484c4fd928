import SheafBytes

extension Command {
    /// The command `sheaf completions`.
    static let completions = Command(
        name: "completions", summary: "print a script with which a shell completes command lines",
        operands: ["SHELL"], options: [],
        details: """
            SHELL is bash, zsh or fish. The script completes commands, options, the values of some
            options, and the names of files. To install it:

              bash: eval "$(sheaf completions bash)", in ~/.bashrc
              zsh:  sheaf completions zsh > "${fpath[1]}/_sheaf", before compinit runs
              fish: sheaf completions fish > ~/.config/fish/completions/sheaf.fish

            There is no JSON form.
            """,
        run: { (arguments, output) throws(ToolError) in
            let name = arguments.operands[0]
            guard let script = CompletionScript(rawValue: name) else {
                throw .usage(
                    "unknown shell '\(name.shortened)'"
                        + OptionSuggestion.text(for: name, among: CompletionScript.names)
                        + "; the shells are \(CompletionScript.names.joined(separator: ", "))")
            }
            output.write(script.text(Tool.commands))
            return .ok
        })

    /// The command `sheaf man`.
    static let man = Command(
        name: "man", summary: "print the manual page of the tool, in roff", operands: [],
        options: [],
        details: """
            The page has the text of 'sheaf help' for each command. To read it:

              sheaf man > sheaf.1 && man -l sheaf.1

            There is no JSON form.
            """,
        run: { (_, output) throws(ToolError) in
            output.write(ManPage(commands: Tool.commands).text)
            return .ok
        })
}
