import SheafBytes

/// How rows are printed.
enum ResultMode: String, CaseIterable {
    case table, json, csv, markdown, line

    /// The mode that `--mode` names.
    init(named name: String?) throws(ToolError) {
        guard let name else {
            self = .table
            return
        }
        guard let mode = Self(rawValue: name) else {
            let names = Self.allCases.map(\.rawValue)
            throw .usage(
                "there is no mode '\(name.shortened)'" + Suggestion.text(for: name, among: names)
                    + "; there are \(names.joined(separator: ", "))")
        }
        self = mode
    }

    /// Whether a sentence or a tree among the rows is understood by who reads them.
    var isForPeople: Bool {
        switch self {
        case .table, .markdown, .line: true
        case .json, .csv: false
        }
    }

    /// Whether each row has a cell for every column.
    var hasColumns: Bool {
        switch self {
        case .table, .csv, .markdown: true
        case .json, .line: false
        }
    }
}
