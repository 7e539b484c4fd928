import Sheaf
import SheafDocument
import SheafQuery
import SheafStorage

extension Command {
    /// Runs a statement.
    static let query = Command(
        name: "query", summary: "run a statement, and print the rows that it gives",
        operands: ["PATH", "STATEMENT"],
        options: [
            Option(
                name: "arg", value: "NAME=JSON", isRepeatable: true,
                summary: "the value of the parameter :NAME"),
            Option(
                name: "mode", value: "MODE",
                summary: "how rows are printed: table (as by default), json, csv, markdown, line"),
            Option(name: "explain", summary: "print the plan, and run nothing"),
            Option(name: "profile", summary: "print what each operator did below the rows"),
            Option(name: "timer", summary: "print how long it took, to standard error"),
        ],
        details: """
            STATEMENT is one statement; - reads it from standard input. A statement that writes
            opens the store for writing, and is one commit; any other changes nothing, and other
            programs may read at the same time. A store is never made.

            table cuts long values off; line and markdown do not. In all three a missing field is
            empty or left out, and characters that harm terminals are escaped as in JSON. A
            statement that writes ends with "commit N, M documents changed".

            json prints a row a line. A statement that writes prints a last line with the JSON
            keys commit, changed (how many documents) and ids; one that makes or drops an index,
            with commit alone. csv is that of RFC 4180, the names of the fields first: a missing
            field is empty, null is null, and the texts "" and "null" stand in quotes. What is no
            row goes to standard error.

            A statement that is not written well, or lacks an argument, ends the command with exit
            code 64; one that cannot be done, with 1.
            """,
        run: QueryCommand.run)
}

/// `sheaf query`.
enum QueryCommand {
    @Sendable static func run(
        _ arguments: Arguments, _ output: Output
    ) throws(ToolError) -> ExitCode {
        let path = arguments.operands[0]
        let mode = try ResultMode(named: arguments.value("mode"))
        let values = ArgumentValues(try StatementInput.arguments(arguments.allValues("arg")))
        let isExplaining = arguments.has("explain")
        guard !isExplaining || !arguments.has("profile") else {
            throw .usage("--explain runs nothing that --profile could look at: give one of them")
        }
        let text = try StatementInput.text(arguments.operands[1])
        var timer = QueryTimer()
        var statement = try onStatement(at: path) { () throws(QueryError) in
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
            try write(statement, values, at: path, &timer) { (outcome) throws(ToolError) in
                try onStatement(at: path) { () throws(QueryError) in try answer.print(outcome) }
            }
        } else {
            try read(statement, values, at: path, answer, &timer)
        }
        if arguments.has("timer") { output.tell(timer.text) }
        return .ok
    }

    private static func read(
        _ statement: Statement, _ values: ArgumentValues, at path: String,
        _ answer: QueryAnswer, _ timer: inout QueryTimer
    ) throws(ToolError) {
        let reader = try onStore(at: path) { () throws(StorageError) in
            try LogReader.open(at: path)
        }
        defer { reader.close() }
        let queries = try onStatement(at: path) { () throws(QueryError) in
            try QueryEngine(reading: reader)
        }
        timer.lap("open")
        if answer.isPlanText {
            let plan = try onStatement(at: path) { () throws(QueryError) in
                try queries.planText(statement, values)
            }
            timer.lap("plan")
            answer.print(plan: plan)
            return
        }
        let outcome = try onStatement(at: path) { () throws(QueryError) in
            try queries.execute(statement, values)
        }
        timer.lap("plan and run")
        timer.rowCount = ResultRows(outcome.rows, outcome.reader.names).count
        try onStatement(at: path) { () throws(QueryError) in try answer.print(outcome) }
    }

    private static func write(
        _ statement: Statement, _ values: ArgumentValues, at path: String,
        _ timer: inout QueryTimer, _ print: (QueryOutcome) throws(ToolError) -> Void
    ) throws(ToolError) {
        let store = try onStore(at: path) { () throws(StorageError) in
            try StoreEngine.open(existing: path)
        }
        do throws(ToolError) {
            let outcome = try execute(statement, values, on: store, at: path, &timer)
            timer.rowCount = ResultRows(outcome.rows, outcome.reader.names).count
            try print(outcome)
        } catch {
            try? store.close()
            throw error
        }
        try onStore(at: path) { () throws(StorageError) in try store.close() }
    }

    /// Runs a statement; what it has changed is on the disk when this returns.
    private static func execute(
        _ statement: Statement, _ values: ArgumentValues, on store: StoreEngine,
        at path: String, _ timer: inout QueryTimer
    ) throws(ToolError) -> QueryOutcome {
        let queries = try onStatement(at: path) { () throws(QueryError) in
            try QueryEngine(opening: store)
        }
        timer.lap("open")
        let sink = CommitSink(
            append: { (batch) throws(StorageError) in try store.append(batch) },
            flush: { () throws(StorageError) in while try store.flush() {} })
        let outcome = try onStatement(at: path) { () throws(QueryError) in
            try queries.execute(statement, values, sink)
        }
        timer.lap("plan and run")
        try onStore(at: path) { () throws(StorageError) in try sink.flush() }
        timer.lap("flush")
        return outcome
    }
}

extension Statement {
    /// Whether it needs the store to be open for writing.
    fileprivate var isWriting: Bool {
        if case .explain = body { return false }
        switch kind {
        case .writing, .createIndex, .dropIndex, .advising(isProvisioning: true): return true
        case .reading, .advising(isProvisioning: false), .system: return false
        }
    }

    /// EXPLAIN or PROFILE of the statement, unless it is that already.
    fileprivate func wrapped(_ wrap: (Body) -> Body) -> Statement {
        switch body {
        case .explain, .profile: self
        default:
            Statement(
                text: text, body: wrap(body), directives: directives, parameters: parameters)
        }
    }
}

/// Runs what a statement does to the store at `path`, and lets its errors out as the tool's.
private func onStatement<Value>(
    at path: String, _ body: () throws(QueryError) -> Value
) throws(ToolError) -> Value {
    do throws(QueryError) {
        return try body()
    } catch {
        throw .statement(error, at: path)
    }
}
