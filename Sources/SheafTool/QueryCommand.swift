import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements
import SheafStorage

extension Command {
    /// The command `sheaf query`.
    static let query = Command(
        name: "query", summary: "run a statement and print its rows",
        operands: ["PATH", "STATEMENT"],
        options: [
            .argument, .mode(),
            Option(name: "explain", summary: "print the plan without running the statement"),
            Option(name: "profile", summary: "print the profile of each operator after the rows"),
            Option(name: "timer", summary: "print the elapsed time to standard error"),
            .json, .color, .noColor, .noPager,
        ],
        details: """
            STATEMENT is one statement; - reads it from standard input. A statement that writes
            opens the store for writing and is one commit. Any other statement only reads, and
            other processes may read concurrently. The store must exist.

            The default mode is box on a terminal, and table elsewhere. On a terminal, both shorten
            long values with an ellipsis so that the columns fit; elsewhere, values are cut after
            60 cells. Markdown and line shorten nothing. In these four modes a missing field is
            empty or omitted, control characters are escaped as in JSON, EXPLAIN and PROFILE are
            trees, and ADVISE prints the statements that create its indexes; on a terminal it offers
            to run them. The output of a statement that writes ends with "commit N, M documents
            changed".

            The mode jsonl prints one row per line. The last line of a statement that writes has
            the JSON keys commit, changed (the number of documents) and ids; that of CREATE INDEX
            and DROP INDEX has commit only. The mode json prints the same values as one array, and
            --json is --mode jsonl.

            The mode csv follows RFC 4180 and starts with the field names: a missing field is
            empty, null is null, and the strings "" and "null" are quoted. The mode tsv separates
            values by tabs: null is \\N, and tabs, line breaks and backslashes in values are \\t,
            \\n, \\r and \\\\. In both, everything but rows goes to standard error. In every mode,
            notes that may explain an empty result also go there, such as a field that no document
            has.

            On a terminal, a result longer than the screen is shown by the program in SHEAF_PAGER
            or PAGER, by default '\(PagerCommand.fallback)'; an empty variable turns this off.
            Without --color, the output has colors only on a terminal, and none if NO_COLOR is set.

            The exit code is 64 for a syntax error or a missing or invalid argument, and 1 if the
            statement fails otherwise.
            """,
        run: QueryCommand.run)
}

/// The implementation of `sheaf query`.
enum QueryCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let mode = try ResultMode.chosen(arguments, output)
        let values = ArgumentValues(try StatementInput.arguments(arguments.allValues("arg")))
        let isExplaining = arguments.has("explain")
        guard !isExplaining || !arguments.has("profile") else {
            throw .usage("--explain and --profile are mutually exclusive")
        }
        let text = try StatementInput.text(arguments.operands[1])
        var timer = QueryTimer()
        var statement = try onStatement(at: path) { () throws(StoreError) in
            try Parser.parse(text)
        }
        timer.lap("parse")
        if isExplaining {
            statement = statement.wrapped { .explain($0) }
        } else if arguments.has("profile") {
            statement = statement.wrapped { .profile($0) }
        }
        let answer = QueryAnswer(statement, mode, output)
        if statement.isWriting {
            try write(statement, values, at: path, &timer) { (result, time) throws(ToolError) in
                try onStatement(at: path) { () throws(StoreError) in
                    try answer.print(result, values, nanoseconds: time)
                }
            }
        } else {
            let advice = try read(statement, values, at: path, answer, &timer)
            if let advice { try offer(advice, at: path, mode, output) }
        }
        if arguments.has("timer") { output.printInformation(timer.text) }
        return .ok
    }

    /// Runs a statement that only reads, and prints its result; returns the answer of ADVISE.
    private static func read(
        _ statement: Statement, _ values: ArgumentValues, at path: String,
        _ answer: QueryAnswer, _ timer: inout QueryTimer
    ) throws(ToolError) -> SuggestedIndexes? {
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        let queries = try onStatement(at: path) { () throws(StoreError) in
            try QueryEngine(reading: reader)
        }
        timer.lap("open")
        if answer.isPlanText {
            let plan = try onStatement(at: path) { () throws(StoreError) in
                try queries.planText(statement, values)
            }
            timer.lap("plan")
            answer.print(plan: plan)
            return nil
        }
        let result = try onStatement(at: path) { () throws(StoreError) in
            try queries.execute(statement, values)
        }
        timer.lap("plan and run")
        timer.rowCount = ResultRows(result).count
        return try onStatement(at: path) { () throws(StoreError) in
            try answer.print(result, values, nanoseconds: timer.totalNanoseconds)
            return try SuggestedIndexes(of: statement, result)
        }
    }

    /// Offers to create the indexes that ADVISE suggests, if a user can answer on a terminal.
    private static func offer(
        _ advice: SuggestedIndexes, at path: String, _ mode: ResultMode, _ output: Output
    ) throws(ToolError) {
        guard output.isInteractive, mode.isForPeople, let question = advice.question,
            SuggestedIndexes.isYes(output.ask(question))
        else { return }
        for index in advice.indexes {
            let statement = try onStatement(at: path) { () throws(StoreError) in
                try Parser.parse(index.statement)
            }
            var timer = QueryTimer()
            try write(statement, ArgumentValues(), at: path, &timer) {
                (result, _) throws(ToolError) in
                try onStatement(at: path) { () throws(StoreError) in
                    try QueryAnswer(statement, mode, output).print(result, ArgumentValues())
                }
            }
        }
    }

    private static func write(
        _ statement: Statement, _ values: ArgumentValues, at path: String,
        _ timer: inout QueryTimer, _ print: (ResultStorage, UInt64) throws(ToolError) -> Void
    ) throws(ToolError) {
        let store = try onStore(at: path) { () throws(StorageError) in
            try StoreEngine.open(existing: path)
        }
        do throws(ToolError) {
            let result = try execute(statement, values, on: store, at: path, &timer)
            timer.rowCount = ResultRows(result).count
            try print(result, timer.totalNanoseconds)
        } catch {
            try? store.close()
            throw error
        }
        try onStore(at: path) { () throws(StorageError) in try store.close() }
    }

    /// Runs a statement; its changes are durable when this returns.
    private static func execute(
        _ statement: Statement, _ values: ArgumentValues, on store: StoreEngine,
        at path: String, _ timer: inout QueryTimer
    ) throws(ToolError) -> ResultStorage {
        let queries = try onStatement(at: path) { () throws(StoreError) in
            try QueryEngine(opening: store)
        }
        timer.lap("open")
        let sink = CommitSink(
            append: { (batch) throws(StorageError) in try store.append(batch) },
            flush: { () throws(StorageError) in while try store.flush() {} })
        let result = try onStatement(at: path) { () throws(StoreError) in
            try queries.execute(statement, values, sink)
        }
        timer.lap("plan and run")
        try onStore(at: path) { () throws(StorageError) in try sink.flush() }
        timer.lap("flush")
        return result
    }
}

extension Statement {
    /// Returns EXPLAIN or PROFILE of the statement, or the statement itself if it is one of them.
    fileprivate func wrapped(_ wrap: (Body) -> Body) -> Statement {
        switch body {
        case .explain, .profile: self
        default:
            Statement(
                text: text, body: wrap(body), directives: directives, parameters: parameters)
        }
    }
}
