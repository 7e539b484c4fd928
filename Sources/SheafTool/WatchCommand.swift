import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements

extension Command {
    /// The command `sheaf watch`.
    static let watch = Command(
        name: "watch", summary: "print the rows of a query, and then each change",
        operands: ["PATH", "STATEMENT"],
        options: [
            .argument, .mode(Watch.modes), .json,
            Option(name: "count", value: "N", summary: "end after N changes"),
            .color, .noColor,
        ],
        details: """
            STATEMENT is a SELECT; - reads it from standard input. The store is opened for reading,
            so that any process may write to it meanwhile. After the rows, each change of the
            result is printed when its commit is durable: + before an inserted row, - before a
            removed one, and ~ before the changed fields of a row, with the old and new values.
            The changes of several commits in quick succession may be printed together. A row whose
            position alone changes is not printed.

            --json is --mode jsonl: each row and each change is one line with the JSON keys change
            (initial, inserted, removed or changed), commit, and row; a changed row also has
            previous. Each line is written immediately:

              sheaf watch cars.sheaf 'SELECT * FROM cars' --json | jq -c '[.change, .row._id]'

            It ends with exit code 0: by Ctrl-C, after N changes with --count, or when the reader of
            a pipe closes it. The exit code is 64 for a syntax error or a missing or invalid argument.
            """,
        run: WatchCommand.run)
}

/// The implementation of `sheaf watch`.
enum WatchCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let mode = try ResultMode.chosen(arguments, output)
        try Watch.check(mode)
        let values = try StatementInput.arguments(arguments.allValues("arg"))
        let limit = try arguments.number("count").map { Int(clamping: $0) } ?? .max
        let text = try StatementInput.text(arguments.operands[1])
        try onStatement(at: path) { () throws(StoreError) in _ = try Parser.parse(text) }
        try checkIsNoFile(path)
        let signals = try StopSignals()
        let store = try waitFor {
            try await Store.open(at: path, options: StoreOptions(isReadOnly: true))
        }
        let watch = try Watch(store, at: path, mode: mode, output)
        try watch.run(DQL(verbatim: text), QueryArguments(values), limit: limit) {
            signals.wait(milliseconds: 0)
        }
        try waitFor { try await store.close() }
        return .ok
    }
}
