import Sheaf
import SheafDocument
import SheafQuery
import SheafStatements

/// The output of a watched result and of its changes.
struct WatchPrinter {
    let mode: ResultMode
    let output: Output

    /// Prints the first result.
    func print(_ result: QueryResult) throws(StoreError) {
        let rows = ResultRows(result.storage)
        guard mode == .jsonl else {
            return try ResultPrinter(mode: mode, output: output).print(rows)
        }
        try rows.forEach { (row) throws(StoreError) in
            output.write(json("initial", commit: result.commitID ?? 0, row))
            return !output.isClosed
        }
    }

    /// Prints the changes made by the commits up to one.
    func print(_ changes: [RowChange], commit: Int64) {
        guard mode != .jsonl else {
            for change in changes { output.write(json(change, commit)) }
            return
        }
        output.write(output.styled(headline(changes, commit), .dim))
        for change in changes { output.write(line(change)) }
    }

    // MARK: JSON

    private func json(_ change: RowChange, _ commit: Int64) -> String {
        switch change {
        case .inserted(let row): json("inserted", commit: commit, row)
        case .removed(let row): json("removed", commit: commit, row)
        case .changed(let row, let previous): json("changed", commit: commit, row, previous)
        }
    }

    private func json(
        _ change: String, commit: Int64, _ row: Object, _ previous: Object? = nil
    ) -> String {
        var line = JSONLine()
        line.add("change", change)
        line.add("commit", commit)
        line.add("row", raw: TerminalText.visible(Value.object(row).json))
        if let previous {
            line.add("previous", raw: TerminalText.visible(Value.object(previous).json))
        }
        return line.closed
    }

    // MARK: Texts

    private func headline(_ changes: [RowChange], _ commit: Int64) -> String {
        var (inserted, removed, changed) = (0, 0, 0)
        for change in changes {
            switch change {
            case .inserted: inserted += 1
            case .removed: removed += 1
            case .changed: changed += 1
            }
        }
        let parts = [(inserted, "inserted"), (removed, "removed"), (changed, "changed")]
            .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return "commit \(commit): " + parts.joined(separator: ", ")
    }

    private func line(_ change: RowChange) -> String {
        switch change {
        case .inserted(let row): output.styled("+ " + text(row), .green)
        case .removed(let row): output.styled("- " + text(row), .red)
        case .changed(let row, let previous):
            output.styled("~ " + difference(previous, row), .yellow)
        }
    }

    private func text(_ row: Object) -> String {
        TerminalText.visible(Value.object(row).json)
    }

    /// Returns the id of a row and its changed fields, each with its value before and after.
    private func difference(_ old: Object, _ new: Object) -> String {
        var parts: [String] = []
        for field in new where old[field.name].map({ $0.json != field.value.json }) ?? true {
            let before = old[field.name].map { $0.json + " -> " } ?? ""
            parts.append("\(field.name): \(before)\(field.value.json)")
        }
        for field in old where new[field.name] == nil {
            parts.append("\(field.name): \(field.value.json) -> missing")
        }
        let id = new["_id"].map { $0.json + "  " } ?? ""
        return TerminalText.visible(id + parts.joined(separator: ", "))
    }
}
