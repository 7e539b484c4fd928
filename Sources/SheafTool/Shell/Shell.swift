import Sheaf
import SheafBytes
import SheafCompletion
import SheafLineEditor
import SheafStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Command {
    /// The command `sheaf shell`, and the shell that `sheaf PATH` and `sheaf` open.
    static let shell = Command(
        name: "shell", summary: "run statements interactively; also sheaf PATH, or sheaf alone",
        operands: [], optionalOperands: ["PATH"],
        options: [
            Option(
                name: "command", value: "TEXT", isRepeatable: true, letter: "c",
                summary: "run the statements of TEXT, then exit"),
            Option(
                name: "file", value: "FILE", isRepeatable: true, letter: "f",
                summary: "run the statements of FILE, then exit; - is standard input"),
            .argument, .mode(),
            Option(name: "keep-going", summary: "continue after an error of -c, -f or a pipe"),
            Option(name: "readonly", summary: "refuse statements that write"),
            Option(name: "no-history", summary: "neither read nor write the history file"),
            .json, .color, .noColor, .noPager,
        ],
        details: """
            Without PATH the store is in memory and has sample data. A store that does not exist is
            created by the first statement that writes. Until then the store is open for reading
            only: each statement reads the newest commit, and other processes can write. The first
            statement that writes opens it for writing, until .release or the end of the shell.

            Statements end with a semicolon; the last one of -c, -f or a pipe does not need it.
            Lines that begin with a dot are commands of the shell: .help lists them. On a terminal,
            lines can be edited, Tab completes words, and the arrow keys recall earlier entries;
            Ctrl-C cancels a statement and Ctrl-D exits. The history file is named by SHEAF_HISTORY,
            else it is sheaf/history in XDG_STATE_HOME, else ~/.sheaf_history. With an empty
            SHEAF_HISTORY there is no history file.

            With -c or -f, or if standard input is not a terminal, there is no prompt. Statements
            run in order until one fails: the exit code is then 64 for a syntax error or an invalid
            argument, and 1 otherwise. The modes and their JSON are those of 'sheaf query'.
            """,
        run: Shell.run)
}

/// The shell, which runs statements from a terminal, the command line, files or a pipe.
enum Shell {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands.first
        let (texts, files) = (arguments.allValues("command"), arguments.allValues("file"))
        let isScript = !texts.isEmpty || !files.isEmpty || isatty(STDIN_FILENO) == 0
        let isReadOnly = arguments.has("readonly")
        let mode = try ResultMode.chosen(arguments, output)
        let parameters = try StatementInput.arguments(arguments.allValues("arg"))
        let signals = isScript ? nil : TerminalSignals()
        let store = try store(at: path, isReadOnly: isReadOnly, announces: !isScript, output)
        // A path that exists but is not a store is refused before any statement runs.
        if store.exists { _ = try store.reading() }
        guard store.exists || !isReadOnly else {
            throw .failed("there is no store at \(store.name.shortened)")
        }
        let session = ShellSession(
            store, mode: mode, signals: signals, isInteractive: !isScript, output, arguments)
        session.parameters = parameters
        guard isScript else {
            try interact(session, hasHistory: !arguments.has("no-history"))
            return .ok
        }
        let code = try session.closingAtEnd { () throws(ToolError) in
            try runScripts(texts, files, keepsGoing: arguments.has("keep-going"), session)
        }
        try session.output.finish()
        return code
    }

    private static func store(
        at path: String?, isReadOnly: Bool, announces: Bool, _ output: Output
    ) throws(ToolError) -> ShellStore {
        guard let path else { return ShellStore(memory: try SampleData.store(), output) }
        return ShellStore(
            path: path, isReadOnly: isReadOnly, announces: announces, output)
    }

    /// Runs the texts, then the files; with neither, standard input.
    private static func runScripts(
        _ texts: [String], _ files: [String], keepsGoing: Bool, _ session: ShellSession
    ) throws(ToolError) -> ExitCode {
        var codes: [ExitCode] = []
        for text in texts where !session.isEnded {
            codes.append(try ShellScript.run(text: text, keepsGoing: keepsGoing, session))
        }
        for file in files where !session.isEnded {
            codes.append(try ShellScript.run(file: file, keepsGoing: keepsGoing, session))
        }
        if texts.isEmpty, files.isEmpty {
            codes.append(try ShellScript.runStandardInput(keepsGoing: keepsGoing, session))
        }
        return codes.first { $0 != .ok } ?? .ok
    }

    // MARK: Terminal

    private static func interact(
        _ session: ShellSession, hasHistory: Bool
    ) throws(ToolError) {
        guard let signals = session.signals,
            let editor = LineEditor(signals, historyPath: hasHistory ? historyPath() : nil)
        else { throw .failed("cannot use the terminal: \(String(cString: strerror(errno)))") }
        var input = ShellInput()
        greet(session)
        if let message = editor.historyError {
            session.output.print(note: TerminalText.visible(message))
        }
        editor.complete = { before, after in
            session.completion.completion(before, after, pending: input.pending, session)
        }
        var entry = ""
        var hasReportedHistory = false
        try session.closingAtEnd { () throws(ToolError) in
            while !session.isEnded {
                session.output.flush()
                switch editor.read(prompt: input.prompt) {
                case .end:
                    session.output.write("")
                    session.isEnded = true
                case .interruption:
                    input.discard()
                    entry = ""
                case .text(let text):
                    entry += (entry.isEmpty ? "" : "\n") + text
                    let items = session.reporting { () throws(ToolError) in try input.add(text) }
                    if !input.hasPending {
                        if !entry.trimmingSpaces.isEmpty,
                            let message = editor.addToHistory(entry), !hasReportedHistory
                        {
                            hasReportedHistory = true
                            session.output.print(note: TerminalText.visible(message))
                        }
                        entry = ""
                    }
                    run(items ?? [], session)
                }
            }
        }
        signals.restoreTerminal()
    }

    /// Runs the statements of a line; an error ends the line.
    private static func run(_ items: [ShellInput.Item], _ session: ShellSession) {
        _ = session.reporting { () throws(ToolError) in
            for item in items where !session.isEnded { try session.run(item) }
        }
    }

    private static func greet(_ session: ShellSession) {
        var lines = ["Sheaf \(SheafVersion.current). '.help' lists commands, Ctrl-D exits."]
        let store = session.store
        if store.path == nil {
            lines.append(
                "A scratch store in memory, with the collections cars, owners and trips. Try:")
            lines += SampleData.suggestions.map { "  " + $0 }
        } else if !store.exists {
            lines.append(
                TerminalText.visible("\(store.name.shortened) does not exist yet")
                    + "; the first statement that writes creates it.")
        } else {
            let names = StatementCompletion.collections(of: store.current)
            let count = Quantity.count(names.count, "collection")
            lines.append(
                TerminalText.visible("\(store.name.shortened): \(count)")
                    + (names.isEmpty
                        ? "." : ", such as " + TerminalText.visible(names[0].shortened) + "."))
        }
        for line in lines { session.output.write(line) }
    }

    /// The file of the history; nil if there is none.
    private static func historyPath() -> String? {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        if let path = variable("SHEAF_HISTORY") { return path.isEmpty ? nil : path }
        if let state = variable("XDG_STATE_HOME"), !state.isEmpty {
            return state + "/sheaf/history"
        }
        guard let home = variable("HOME"), !home.isEmpty else { return nil }
        return home + "/.sheaf_history"
    }
}

extension ShellSession {
    /// Runs `body`; prints its error, if there is one, and then returns nil.
    func reporting<Value>(_ body: () throws(ToolError) -> Value) -> Value? {
        do throws(ToolError) { return try body() } catch {
            report(error)
            return nil
        }
    }

    /// Prints an error.
    func report(_ error: ToolError) {
        let message = error.message(help: isInteractive ? ".help" : "sheaf help")
        if !message.isEmpty { output.printError(message) }
    }

    /// Runs `body`, and then closes the store and the output, also after an error.
    func closingAtEnd<Value>(
        _ body: () throws(ToolError) -> Value
    ) throws(ToolError) -> Value {
        let value: Value
        do throws(ToolError) { value = try body() } catch {
            // Only the first error is reported.
            _ = try? store.close()
            output.flush()
            throw error
        }
        try store.close()
        try redirect(to: nil)
        return value
    }
}
