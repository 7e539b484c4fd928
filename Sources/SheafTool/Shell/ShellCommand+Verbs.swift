import SheafBytes
import SheafStatements
import SheafStore

/// Commands that are also commands of the tool.
extension ShellCommand {
    /// A command of the tool that the shell offers.
    private struct Verb {
        let name: String
        var completion = Completion.none
        /// Whether it opens the store for writing.
        var isWriting = false
    }

    private static let verbs = [
        Verb(name: "watch", completion: .statement), Verb(name: "log"), Verb(name: "show"),
        Verb(name: "blame", completion: .collection),
        Verb(name: "import", completion: .collection, isWriting: true),
        Verb(name: "export", completion: .collection), Verb(name: "backup", completion: .file),
        Verb(name: "verify"), Verb(name: "stats"),
    ]

    /// Commands that run a command of the tool on the store, in another process.
    static let verbCommands = verbs.map { verb in
        guard let command = Tool.commands.first(where: { $0.name == verb.name }) else {
            preconditionFailure("'sheaf \(verb.name)' is not a command of the tool.")
        }
        let operands = command.operandWords.dropFirst().joined(separator: " ")
        let hasOptions = !command.options.isEmpty
        return ShellCommand(
            name: "." + verb.name,
            arguments: [operands, hasOptions ? "[OPTION]..." : ""].filter { !$0.isEmpty }
                .joined(separator: " "),
            summary: command.summary,
            details: "It runs 'sheaf \(verb.name)' on the store:\n\n" + command.help,
            completion: verb.completion, options: command.allOptions,
            run: { (words, session) throws(ToolError) in
                try run(command, verb, words, session)
            })
    }

    private static func run(
        _ command: Command, _ verb: Verb, _ words: ShellWords, _ session: ShellSession
    ) throws(ToolError) {
        guard let path = session.store.path else {
            throw .failed(
                "'sheaf \(verb.name)' needs a store on disk, and the scratch store is in memory; "
                    + "open one with .open PATH")
        }
        if verb.isWriting {
            guard !session.store.isReadOnly else {
                throw .failed("the shell only reads, because it was started with --readonly")
            }
            if try session.store.release() {
                session.output.print(note: "released \(path.shortened) for 'sheaf \(verb.name)'")
            }
        }
        let code = try ChildProcess.run(tool: [verb.name, path] + words.words, session)
        let isFollowing = verb.name == "watch" || words.words.contains("--follow")
        // It was ended by Ctrl-C, which the terminal has echoed on the current line.
        if isFollowing, session.output.isTerminal { session.output.write("") }
        // The command has printed its errors.
        if code != 0 { throw .reported(ExitCode(rawValue: code) ?? .failed) }
    }

    /// Commands about peers.
    static let peerCommands = [
        ShellCommand(
            name: ".peers", summary: "list the connected peers of the store",
            run: { (words, session) throws(ToolError) in
                try words.none()
                try peers(session)
            }),
        ShellCommand(
            name: ".subscriptions", summary: "describe the subscriptions of the store",
            run: { (words, session) throws(ToolError) in
                try words.none()
                session.output.print(
                    note: "this shell runs no peer, so it has no subscriptions; "
                        + "'sheaf sync status' asks a running peer, see 'sheaf help sync status'")
            }),
    ]

    private static func peers(_ session: ShellSession) throws(ToolError) {
        let store = try session.store.reading()
        let rows = store.queries.registeredCollections.rows(of: "data_sync_info") ?? []
        guard rows.isEmpty else {
            return try session.run(statement: "SELECT * FROM system:data_sync_info")
        }
        session.output.print(
            note: "this shell runs no peer; 'sheaf peer list' asks a running one, "
                + "see 'sheaf help peer list'")
    }
}
