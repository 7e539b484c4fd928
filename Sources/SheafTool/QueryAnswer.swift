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
        for line in plan.split(separator: "\n", omittingEmptySubsequences: false) {
            output.write(TerminalText.visible(String(line)))
        }
    }

    /// Prints the rows, the profile and the commit; notes on an empty result to standard error.
    func print(_ result: ResultStorage, _ values: ArgumentValues) throws(StoreError) {
        // The rows refer to memory that the result keeps valid.
        defer { withExtendedLifetime(result) {} }
        let rows = ResultRows(result)
        if hasRows { try ResultPrinter(mode: mode, output: output).print(rows) }
        if case .profile = statement.body { print(profile: ResultRows.profile(result.items)) }
        if statement.isWriting, let commit = result.commit.value { print(commit, result) }
        // The parameters of the store are its defaults, because they are not stored.
        for note in result.notes(statement, values, isStrict: false) {
            output.print(note: TerminalText.visible(note))
        }
    }

    /// Whether the statement returns rows.
    private var hasRows: Bool {
        switch statement.kind {
        case .writing: statement.body.isReturning
        case .createIndex, .dropIndex: false
        default: true
        }
    }

    private func print(_ commit: Int64, _ result: ResultStorage) {
        var sentence = "commit \(commit)"
        var line = JSONLine()
        line.add("commit", commit)
        if case .writing = statement.kind {
            sentence += ", " + Quantity.count(result.mutatedIDs.count, "document") + " changed"
            line.add("changed", result.mutatedIDs.count)
            line.add("ids", raw: TerminalText.visible(Value.array(result.mutatedIDs).json))
        }
        switch mode {
        case .json: output.write(line.closed)
        case .csv: output.printError(sentence)
        case .table, .markdown, .line:
            if hasRows { output.write("") }
            output.write(sentence)
        }
    }

    private func print(profile: Object?) {
        guard let profile, let content = profile[ResultRows.profileName] else {
            output.printError("no profile: the statement writes")
            return
        }
        if case .json = mode {
            output.write(TerminalText.visible(Value.object(profile).json))
            return
        }
        let lines = ProfileTree.lines(of: content)
        guard mode.isForPeople else {
            for line in lines { output.printError(line) }
            return
        }
        output.write("")
        // Markdown shows text indented by four columns unchanged.
        let margin = mode == .markdown ? "    " : ""
        for line in lines { output.write(margin + line) }
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

/// The result of PROFILE as a tree: one operator per line, its inputs indented below.
enum ProfileTree {
    private static let operatorName = "#operator"
    private static let childrenName = "children"
    /// Maximum depth, which no plan reaches; it bounds the recursion for rows that resemble plans.
    private static let maximumDepth = 64

    /// Returns the lines of the tree.
    static func lines(of profile: Value) -> [String] {
        guard case .object(let object) = profile, let plan = object["plan"] else {
            return [TerminalText.visible(profile.json)]
        }
        var lines: [String] = []
        for field in object where field.name != "plan" {
            lines.append(TerminalText.visible("\(field.name) \(field.value.json)"))
        }
        append(plan, depth: 0, to: &lines)
        return lines
    }

    private static func append(_ node: Value, depth: Int, to lines: inout [String]) {
        let margin = String(repeating: "  ", count: depth)
        guard depth < maximumDepth, case .object(let node) = node,
            case .string(let name)? = node[operatorName]
        else {
            lines.append(margin + TerminalText.visible(node.json))
            return
        }
        let details = node.filter { $0.name != operatorName && $0.name != childrenName }
        let words = [name] + details.map { "\($0.name) \($0.value.json)" }
        lines.append(margin + TerminalText.visible(words.joined(separator: "  ")))
        guard case .array(let children)? = node[childrenName] else { return }
        for child in children { append(child, depth: depth + 1, to: &lines) }
    }
}
