import Sheaf
import SheafBytes
import SheafDocument
import SheafLineEditor
import SheafQuery
import SheafStatements
import SheafStore
import SheafSystem

/// The state of a shell: its store, its settings, and the execution of statements.
final class ShellSession {
    /// A keyword that the shell inserts before statements.
    enum Prefix: String {
        case explain = "EXPLAIN"
        case profile = "PROFILE"
    }

    let signals: TerminalSignals?
    /// Whether the input comes from a terminal.
    let isInteractive: Bool
    var store: ShellStore
    var output: Output
    /// The options of the shell.
    let arguments: Arguments
    var mode: ResultMode
    var isTiming = false
    var prefix: Prefix?
    /// Values of parameters, by name.
    var parameters: [String: Value] = [:]
    /// Whether the shell must exit before the next statement.
    var isEnded = false
    /// The current nesting of `.read`.
    var readDepth = 0
    /// The descriptor of the original standard output, while results are written to a file.
    var standardOutput: Int32?
    var completion = ShellCompletion()

    init(
        _ store: ShellStore, mode: ResultMode, signals: TerminalSignals? = nil,
        isInteractive: Bool = false, _ output: Output, _ arguments: Arguments
    ) {
        self.output = output
        self.arguments = arguments
        self.store = store
        self.mode = mode
        self.signals = signals
        self.isInteractive = isInteractive
    }

    /// Runs a statement or dot command.
    func run(_ item: ShellInput.Item) throws(ToolError) {
        // Signals are not discarded here: Ctrl-C after the line was entered cancels the statement.
        switch item {
        case .statement(let text, line: _): try run(statement: text, prefix)
        case .command(let text, line: _): try ShellCommand.run(text, self)
        }
        output.flush()
        // Without a reader of the output, the remaining statements are skipped.
        if !isInteractive, output.isClosed { isEnded = true }
    }

    /// Runs a statement and prints its result.
    func run(statement text: String, _ prefix: Prefix? = nil) throws(ToolError) {
        var timer = QueryTimer()
        var text = text
        var statement = try parse(text)
        if let prefix, statement.takesPrefix {
            text = prefix.rawValue + " " + text
            statement = try parse(text)
        }
        timer.lap("parse")
        let target = statement.isWriting ? try store.writing() : try store.reading()
        timer.lap("open")
        try show(statement, text, on: target, &timer)
        if case .configuring = statement.kind {
            store.record(setting: text, QueryArguments(parameters))
        }
        if isTiming {
            output.flush()
            output.printInformation(timer.text)
        }
    }

    /// Parses a statement; an open store caches it for its execution.
    private func parse(_ text: String) throws(ToolError) -> Statement {
        try onStatement { () throws(StoreError) in
            guard let store = store.current else { return try Parser.parse(text) }
            return try store.queries.statement(DQL(verbatim: text))
        }
    }

    /// Executes a statement and prints its result or its plan.
    private func show(
        _ statement: Statement, _ text: String, on target: Store, _ timer: inout QueryTimer
    ) throws(ToolError) {
        let answer = QueryAnswer(statement, mode, output)
        let values = ArgumentValues(parameters)
        if answer.isPlanText {
            let plan = try onStatement { () throws(StoreError) in
                try target.queries.planText(statement, values)
            }
            timer.lap("plan")
            return answer.print(plan: plan)
        }
        let arguments = QueryArguments(parameters)
        let result = try execute(text, arguments, on: target, isWriting: statement.isWriting)
        timer.lap("plan and run")
        timer.rowCount = ResultRows(result.storage).count
        var advice: SuggestedIndexes?
        do throws(StoreError) {
            try answer.print(result.storage, values, nanoseconds: timer.totalNanoseconds)
            advice = try SuggestedIndexes(of: statement, result.storage)
        } catch {
            guard error.reason == .cancelled else { throw .statement(error, at: store.name) }
            let commit = statement.isWriting ? result.commitID.map { "; it is commit \($0)" } : nil
            throw interruption("interrupted; the statement has run\(commit ?? "")")
        }
        if let advice { try offer(advice) }
    }

    /// Offers to create the indexes that ADVISE suggests.
    private func offer(_ advice: SuggestedIndexes) throws(ToolError) {
        guard isInteractive, output.isInteractive, mode.isForPeople, !store.isReadOnly,
            let question = advice.question, SuggestedIndexes.isYes(output.ask(question))
        else { return }
        for index in advice.indexes { try run(statement: index.statement) }
    }

    /// Executes a statement, which Ctrl-C cancels.
    func execute(
        _ text: String, _ arguments: QueryArguments, on target: Store, isWriting: Bool
    ) throws(ToolError) -> QueryResult {
        let message = isWriting ? "interrupted; nothing was changed" : "interrupted"
        let result = Self.wait(signals) { try await target.execute(DQL(verbatim: text), arguments) }
        do {
            return try result.get()
        } catch is CancellationError {
            throw interruption(message)
        } catch let error as StoreError {
            guard error.reason != .cancelled else { throw interruption(message) }
            throw .statement(error, at: store.name)
        } catch {
            throw ToolError(error)
        }
    }

    /// Returns the error of a statement that Ctrl-C has canceled.
    ///
    /// The terminal has echoed Ctrl-C on the current line, so that line is ended first.
    private func interruption(_ message: String) -> ToolError {
        if isInteractive, output.isTerminal { output.write("") }
        return .failed(message)
    }

    /// Runs a task and waits for it; Ctrl-C cancels the task.
    private static func wait<Value: Sendable>(
        _ signals: TerminalSignals?, _ body: @escaping @Sendable () async throws -> Value
    ) -> Result<Value, any Error> {
        let answer = Monitor<Result<Value, any Error>?>(nil)
        let task = Task.detached {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            answer.withLock { $0 = result }
            answer.broadcast()
            signals?.post()
        }
        guard let signals else {
            let result = answer.wait(while: { $0 == nil }, then: { $0 })
            return result ?? .failure(CancellationError())
        }
        while true {
            if signals.wait() == .interruption { task.cancel() }
            if let result = answer.withLock({ $0 }) { return result }
        }
    }

    private func onStatement<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws(ToolError) -> Result {
        do throws(StoreError) { return try body() } catch {
            throw .statement(error, at: store.name)
        }
    }

    /// Prints rows that are not the result of a statement.
    func print(_ rows: [Object], columns: [String]) throws(ToolError) {
        let rows = ResultRows(rows, columns: columns)
        try onStatement { () throws(StoreError) in
            try ResultPrinter(mode: mode, output: output, nanoseconds: nil).print(rows)
        }
    }
}

extension Statement {
    /// Whether EXPLAIN or PROFILE may precede the statement.
    fileprivate var takesPrefix: Bool {
        switch body {
        case .select, .insert, .update, .delete: true
        default: false
        }
    }
}
