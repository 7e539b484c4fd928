import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements

/// The output of the result of a statement.
struct QueryAnswer {
    private let statement: Statement
    private let mode: ResultMode
    private let output: Output

    init(_ statement: Statement, _ mode: ResultMode, _ output: Output) {
        self.statement = statement
        self.mode = mode
        self.output = output
    }

    /// Whether the result is a plan printed as a tree.
    var isPlanText: Bool {
        guard case .explain = statement.body else { return false }
        return mode.isForPeople
    }

    /// Prints a plan as a tree.
    func print(plan: String) {
        output.paged {
            for line in PlanTree(explained: plan, hasBranches: mode == .box).lines {
                output.write(margin + line)
            }
        }
    }

    /// Prints the rows, the profile and the commit; notes on an empty result to standard error.
    ///
    /// `nanoseconds` is the time that the statement took, for terminals.
    func print(
        _ result: ResultStorage, _ values: ArgumentValues, nanoseconds: UInt64? = nil
    ) throws(StoreError) {
        try output.paged { () throws(StoreError) in
            // The rows refer to memory that the result keeps valid.
            defer { withExtendedLifetime(result) {} }
            let rows = ResultRows(result)
            let printer = ResultPrinter(mode: mode, output: output, nanoseconds: nanoseconds)
            if mode.isForPeople, let advice = try SuggestedIndexes(of: statement, result) {
                for line in advice.lines { output.write(margin + line) }
            } else if mode == .json || mode == .jsonl {
                try printJSON(result, rows, printer)
            } else {
                if hasRows { try printer.print(rows) }
                if case .profile = statement.body {
                    print(profile: ResultRows.profile(result.items))
                }
                print(commitOf: result)
            }
        }
        // The parameters of the store are its defaults, because they are not stored.
        for note in result.notes(statement, values, isStrict: false) {
            output.print(note: TerminalText.visible(note))
        }
    }

    /// Markdown shows text indented by four columns unchanged.
    private var margin: String { mode == .markdown ? "    " : "" }

    /// Whether the statement returns rows.
    private var hasRows: Bool {
        switch statement.kind {
        case .writing: statement.body.isReturning
        case .createIndex, .dropIndex: false
        default: true
        }
    }

    // MARK: JSON

    private func printJSON(
        _ result: ResultStorage, _ rows: ResultRows, _ printer: ResultPrinter
    ) throws(StoreError) {
        var json = JSONPrinter(mode, output)
        if hasRows { try printer.print(rows, to: &json) }
        if case .profile = statement.body {
            let profile = ResultRows.profile(result.items)
            if let profile { json.add(TerminalText.visible(Value.object(profile).json)) }
            if profile == nil { output.print(note: Self.noProfile) }
        }
        if statement.isWriting, let commit = result.commit.value {
            var line = JSONLine()
            line.add("commit", commit)
            if case .writing = statement.kind {
                line.add("changed", result.mutatedIDs.count)
                line.add("ids", raw: TerminalText.visible(Value.array(result.mutatedIDs).json))
            }
            json.add(line.closed)
        }
        json.close()
    }

    // MARK: Texts

    private func print(commitOf result: ResultStorage) {
        guard statement.isWriting, let commit = result.commit.value else { return }
        var sentence = "commit \(commit)"
        if case .writing = statement.kind {
            sentence += ", " + Quantity.count(result.mutatedIDs.count, "document") + " changed"
        }
        guard mode.isForPeople else { return output.printInformation(sentence) }
        if hasRows { output.write("") }
        output.write(sentence)
    }

    private func print(profile: Object?) {
        guard let profile, let content = profile[ResultRows.profileName] else {
            return output.print(note: Self.noProfile)
        }
        let tree = ProfileTree(content, hasBranches: mode == .box)
        guard mode.isForPeople else {
            for line in tree.lines(styled: { text, _ in text }) { output.printInformation(line) }
            return
        }
        output.write("")
        for line in tree.lines(styled: output.styled) { output.write(margin + line) }
    }

    private static let noProfile = "there is no profile of this statement"
}

extension SuggestedIndexes {
    /// Reads the result of ADVISE; nil for other statements.
    init?(of statement: Statement, _ result: ResultStorage) throws(StoreError) {
        guard case .advise = statement.body else { return nil }
        var advice: SuggestedIndexes?
        try ResultRows(result).forEach { (row) throws(StoreError) in
            advice = SuggestedIndexes(row)
            return false
        }
        guard let advice else { return nil }
        self = advice
    }
}

extension Statement.Body {
    fileprivate var isReturning: Bool {
        switch self {
        case .insert(let insert): !insert.returning.isEmpty
        case .update(let update): !update.returning.isEmpty
        case .delete(let delete): !delete.returning.isEmpty
        case .profile(let inner): inner.isReturning
        default: false
        }
    }
}
